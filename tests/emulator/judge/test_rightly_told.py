"""Every field that firmware and CPU must get right is judged: one message in a run says something else, once."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.events.hardware import FromFirmware, ToFirmware
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.work import handing_out, segments
from ringhil.emulator.host.work.handing_out import HandingOut
from ringhil.emulator.judge.elections.frame_contents import FrameContents, _candidacy, _Life
from ringhil.emulator.judge.elections.messages import Seat, seats_of
from ringhil.emulator.judge.recovery.bounds import bounds_of
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.actions import Action
from ringhil.firmware.census import Census
from ringhil.firmware.election import CANDIDATE, FOLLOWER, UPLINK
from ringhil.firmware.member import Member
from ringhil.protocol import codec
from ringhil.protocol.frames import Election, Frame, Keepalive, Report, Statistics
from ringhil.protocol.wire import NO_HOLDER, Flag, MemberFlag, Operation, Port, Role

from .playing import play

# Roles move, so that members ask for leases, give them back, and boot again.
SCENARIO = loads(
    """
    server:
      cards: {a: {gpus: 5, host_links: [0, 1]}, b: {gpus: 4, host_links: [0, 1]}}
      boundary_links: [{from: [a.2, a.3], to: [b.2, b.3]}]
      settings: {census_period: 600, keepalive_interval: 400, firmware_latency: 8, host_latency: 8,
                 wait_to_restore: 1200}
    workload: {units: 60, size: 700, across: 50}
    timeline:
      - {at: 9000, fault: dead, gpu: a.2}
      - {at: 16000, clear: dead, gpu: a.2}
      - {at: 9000, fault: dead, gpu: b.0}
      - {at: 16000, clear: dead, gpu: b.0}
    until: 30000
    """
)


# A member has no link up for long, and nothing else happens.
CUT_OFF = loads(
    """
    server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}
    timeline: [{at: 9000, fault: host_link_cut, gpu: a.1}]
    until: 30000
    """
)


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


def test_nothing_is_wrong_with_a_run_without_a_mistake(library: Library) -> None:
    assert play(SCENARIO, library).failures == ()


def from_member(message: Frame, role: Role, *, ring: bool) -> bool:
    """A keepalive of a member: to the others of its side, or to its grantor."""
    if not isinstance(message, Keepalive) or message.role != role.code or message.holder != NO_HOLDER:
        return False
    far = message.flags == Flag.TO_HOST if role is Role.ENTRY else message.card == 1
    return far != ring and (ring or message.echo == 0)


def is_a(kind: type[Frame], message: Frame) -> bool:
    return isinstance(message, kind)


def asks(operation: Operation, message: Frame) -> bool:
    return isinstance(message, Election) and message.operation == operation.code


def is_warden(message: Frame) -> bool:
    """A keepalive of one to the other of its side, on card b."""
    if not isinstance(message, Keepalive) or message.role != Role.BOUNDARY.code or message.card != 1:
        return False
    return message.my_discriminator >> 16 != message.destination


RING = partial(from_member, role=Role.BOUNDARY, ring=True)
TO_CPU = partial(from_member, role=Role.ENTRY, ring=False)
ACROSS = partial(from_member, role=Role.BOUNDARY, ring=False)
KEEPALIVE = (
    "card",
    "flags",
    "ttl",
    "destination",
    "sequence",
    "my_discriminator",
    "priority",
    "multiplier",
    "interval",
)
MORE = {
    "statistics": (
        partial(is_a, Statistics),
        ("card", "ttl", "origin", "epoch", "sequence", "count", "expected", "sent_at", "flags"),
    ),
    "report": (
        partial(is_a, Report),
        ("card", "flags", "ttl", "destination", "epoch", "sequence", "source", "size", "sent_at"),
    ),
    "claim": (
        partial(asks, Operation.CLAIM),
        ("card", "flags", "ttl", "destination", "sequence", "candidate", "lease", "operation"),
    ),
    "grant": (
        lambda m: asks(Operation.GRANT, m) and m.role == Role.BOUNDARY.code,
        ("flags", "ttl", "destination", "candidate", "lease"),
    ),
}
SAID: dict[str, tuple[Callable[[Frame], bool], str]] = {
    **{f"keepalive on the ring: {name}": (RING, name) for name in KEEPALIVE},
    **{f"keepalive to the CPU: {name}": (TO_CPU, name) for name in KEEPALIVE},
    **{f"keepalive across: {name}": (ACROSS, name) for name in KEEPALIVE},
    **{f"{kind}: {name}": (matches, name) for kind, (matches, names) in MORE.items() for name in names},
}


def says_once(
    patch: pytest.MonkeyPatch, matches: Callable[[Frame], bool], change: Callable[[Frame], Frame], after: int
) -> Callable[[], int]:
    """Firmware's message number `after` of those that match is another one; how many there were."""
    encode, seen = codec.encode, 0

    def wrong(message: Frame) -> bytes:
        nonlocal seen
        if matches(message):
            seen += 1
            if seen == after:
                message = change(message)
        return encode(message)

    patch.setattr(codec, "encode", wrong)
    return lambda: seen


AFTER = 2  # the first messages come from who has just been powered up


@pytest.mark.rest(but_one_in=15)
@pytest.mark.parametrize("name", sampled(SAID, "bugs", 2))
def test_a_wrong_field_is_named(name: str, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    matches, field = SAID[name]

    def change(message: Frame) -> Frame:
        return replace(message, **{field: getattr(message, field) ^ 1})  # type: ignore[arg-type]

    seen = says_once(monkeypatch, matches, change, AFTER)
    outcome = play(SCENARIO, library)
    assert seen() >= AFTER
    assert outcome.broken("rightly_told"), outcome.violations


def keepalive(change: Callable[[Keepalive], Keepalive]) -> Callable[[Frame], Frame]:
    def changed(message: Frame) -> Frame:
        assert isinstance(message, Keepalive)
        return change(message)

    return changed


STATES = {
    "claims to hold the role": (
        lambda m: RING(m) and m.state & 0x0F != 2,
        keepalive(lambda m: replace(m, state=m.state & 0xF0 | 2)),
        "does not hold the role",
    ),
    "denies to hold the role": (
        lambda m: RING(m) and m.state & 0x0F == 2,
        keepalive(lambda m: replace(m, state=m.state & 0xF0)),
        "and it holds the role",
    ),
    "tells of a lower epoch": (
        lambda m: RING(m) and m.epoch > 1,
        keepalive(lambda m: replace(m, epoch=m.epoch - 1)),
        "the highest epoch it knows is",
    ),
    "speaks of a lease that it has not granted": (
        lambda m: is_warden(m) and not m.state & MemberFlag.GRANTING,
        keepalive(lambda m: replace(m, state=m.state | MemberFlag.GRANTING)),
        "it says a lease of its runs, and none does",
    ),
    "conceals a lease that it has granted": (
        lambda m: is_warden(m) and m.state & MemberFlag.GRANTING,
        keepalive(lambda m: replace(m, state=m.state & ~MemberFlag.GRANTING)),
        "it says no lease of its runs, and one does",
    ),
    "does not hear itself": (
        RING,
        keepalive(lambda m: replace(m, members=m.members & ~(1 << m.priority))),
        "it isn't among those it hears",
    ),
    "has no such role": (RING, keepalive(lambda m: replace(m, role=7)), "a keepalive of role 7"),
    "another boot": (
        RING,
        keepalive(lambda m: replace(m, my_discriminator=m.my_discriminator + 1)),
        "its discriminator is",
    ),
}


@pytest.mark.rest(but_one_in=8)
@pytest.mark.parametrize("name", STATES)
def test_a_wrong_state_is_named(name: str, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    matches, change, says = STATES[name]
    says_once(monkeypatch, matches, change, 2)
    outcome = play(SCENARIO, library)
    assert any(says in v.text for v in outcome.broken("rightly_told")), outcome.violations


def test_a_message_that_is_sent_twice_is_named(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Census._round

    def twice(self: Census, now: int) -> list[Action]:
        first, *others = begin(self, now)
        return [first, first, *others]

    monkeypatch.setattr(Census, "_round", twice)
    outcome = play(SCENARIO, library)
    assert any("the last round was" in v.text for v in outcome.broken("rightly_told")), outcome.violations


def test_a_report_that_is_cut_short_is_named(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    encode = codec.encode
    monkeypatch.setattr(codec, "encode", lambda m: codec.seal(encode(m)[:24]) if isinstance(m, Report) else encode(m))
    assert any("it has 32 bytes, too few" in why for why in play(CUT_OFF, library).failures)


def test_an_epoch_must_be_told_of_from_the_cycle_after_it_was_read() -> None:
    for now, epoch, found in ((110, 0, 0), (111, 0, 1), (111, 5, 0), (500, 4, 1)):
        wiring = Wiring(SCENARIO.server)
        seats = seats_of(wiring, bounds_of(SCENARIO.server))
        stream, cell, cw = Stream(), wiring.cell(0, 2), Port.CW.code
        told = FrameContents(stream, wiring, seats, firmware_latency=10)
        stream.tell(ToFirmware(100, cell, cw, said(seats[wiring.cell(0, 3), Role.BOUNDARY], to=2, epoch=5)))
        stream.tell(FromFirmware(now, cell, cw, said(seats[cell, Role.BOUNDARY], to=3, epoch=epoch)))
        assert len(told.wrong) == found, told.wrong
        assert all("the highest epoch it knows is 5" in str(each) for each in told.wrong)


def said(seat: Seat, to: int, epoch: int) -> bytes:
    """The first keepalive of a member on card a to another one, clockwise."""
    t = seat.times
    who = (seat.gpu << 16 | 1, 0, Role.BOUNDARY.code, seat.rank, t.multiplier)
    return codec.encode(Keepalive(0, 0, 6, to, epoch, 1, *who, 0, t.interval, 1 << seat.rank, 0, NO_HOLDER))


def routed(change: Callable[[segments.Route], segments.Route]) -> Callable[[pytest.MonkeyPatch], None]:
    """Every unit takes another way."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        make = segments.Route

        def wrong(*args: object) -> segments.Route:
            return change(make(*args))  # type: ignore[arg-type]

        patch.setattr(handing_out.segments, "Route", wrong)

    return mistake


def cut_up(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[pytest.MonkeyPatch], None]:
    """Every unit is cut into other segments."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        cut = segments.segments

        def wrong(unit: int, attempt: int, data: bytes, route: segments.Route) -> list[bytes]:
            return change(cut(unit, attempt, data, route))

        patch.setattr(handing_out.segments, "segments", wrong)

    return mistake


def enters(choose: Callable[[HandingOut, CardView, int], CardView]) -> Callable[[pytest.MonkeyPatch], None]:
    """Units enter by other cards than they should."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        def wrong(self: HandingOut, card: CardView, unit: int, attempt: int) -> CardView:
            return choose(self, card, unit)

        patch.setattr(HandingOut, "_by_way_of", wrong)

    return mistake


def by_another(self: HandingOut, card: CardView, unit: int) -> CardView:
    return next((other for other in self._cards if other is not card and other.entry is not None), card)


WAYS = {
    "round the other way": (routed(lambda r: replace(r, ccw=not r.ccw)), "clockwise"),
    "a longer life": (routed(lambda r: replace(r, ttl=r.ttl + 1)), "cell, TTL, epoch"),
    "another epoch": (routed(lambda r: replace(r, epoch=r.epoch + 1)), "cell, TTL, epoch"),
    "another entry GPU": (routed(lambda r: replace(r, entry=r.entry + 1)), "cell, TTL, epoch"),
    "nothing crosses": (enters(lambda self, card, unit: card), "attempt 1 enters by card"),
    "all crosses": (enters(by_another), "has a way there"),
    "the other half crosses": (
        enters(lambda self, card, unit: card if unit * 0x9E3779B1 % 2**32 < 2**31 else by_another(self, card, unit)),
        "attempt 1 enters by card",
    ),
    "the first is missing": (cut_up(lambda frames: frames[1:]), "follows on"),
    "one is missing": (cut_up(lambda frames: [frames[0], *frames[2:]]), "follows on"),
    "the last is missing": (cut_up(lambda frames: frames[:-1]), "is missing"),
    "in another order": (cut_up(lambda frames: [frames[1], frames[0], *frames[2:]]), "follows on"),
    "no end": (cut_up(lambda frames: [flagged(f, 0) for f in frames]), "not the last one"),
    "all ends": (cut_up(lambda frames: [flagged(f, Flag.LAST) for f in frames]), "is the last one"),
}


def flagged(frame: bytes, last: int) -> bytes:
    """With the flag of a last segment, or without; its CRC doesn't matter here."""
    return frame[:3] + bytes([frame[3] & ~Flag.LAST | last]) + frame[4:]


@pytest.mark.rest(but_one_in=7)
@pytest.mark.parametrize("name", sampled(WAYS, "bugs", 2))
def test_a_wrong_way_is_named(name: str, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake, says = WAYS[name]
    mistake(monkeypatch)
    outcome = play(SCENARIO, library)
    assert any(says in v.text for v in outcome.broken("rightly_told")), outcome.violations


def test_a_member_whose_link_is_down_is_no_candidate(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Member._state

    def wrong(self: Member, now: int) -> int:
        state = right(self, now)
        return state if state & UPLINK else state | CANDIDATE

    monkeypatch.setattr(Member, "_state", wrong)
    assert any("it is a candidate still, and its link is down" in why for why in play(CUT_OFF, library).failures)


def test_each_time_that_a_link_goes_down_a_candidate_may_say_so_once_more() -> None:
    """It looks just after a round. While it waits for its first answer after a boot it has no link yet."""
    seat = seats_of(Wiring(CUT_OFF.server), bounds_of(CUT_OFF.server))[0, Role.ENTRY]
    life, lease = _Life(seat, {}), seat.times.lease
    told = [
        (1, CANDIDATE, 0),
        (2, CANDIDATE, lease),
        (3, CANDIDATE, lease + 1),  # the first time since it settled
        (3, CANDIDATE, lease + 1),  # the same round, by the other port
        (4, FOLLOWER, lease + 2),
        (5, CANDIDATE, lease + 3),
        (6, CANDIDATE | UPLINK, lease + 4),
        (7, CANDIDATE, lease + 5),
        (8, CANDIDATE, lease + 6),
    ]
    for sequence, state, now in told:
        wrong = list[str]()
        _candidacy(life, sequence, state, now, wrong)
        assert bool(wrong) == (sequence == 8), sequence
