"""Mistakes in firmware, CPU and configuration that a run's conduct shows: each breaks a promise of the pages."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.host.leases import Leases
from ringhil.emulator.host.policy.proportional import Proportional
from ringhil.emulator.host.work.accepting import Accepting, WorkCount
from ringhil.emulator.host.work.handing_out import CpuConfig, HandingOut
from ringhil.emulator.server import power_up, server
from ringhil.emulator.server import power_up as groups
from ringhil.firmware import census
from ringhil.firmware.actions import Action
from ringhil.firmware.census import Census
from ringhil.firmware.commands import SetTimer
from ringhil.firmware.election import Group, GroupConfig, Peer
from ringhil.firmware.gpu import GpuProgram
from ringhil.firmware.grantor import Grantor
from ringhil.firmware.links import LinkHealth
from ringhil.firmware.liveness import Liveness, Went
from ringhil.firmware.member import Member
from ringhil.firmware.observations import Counted
from ringhil.firmware.verdict import Arm
from ringhil.firmware.warden import Warden
from ringhil.protocol.frames import Keepalive, Record, Report, Result
from ringhil.protocol.reasons import LeaseEnd, Rejection
from ringhil.protocol.wire import MemberState, Role

Mistake = Callable[[pytest.MonkeyPatch], None]


def renews_nothing(patch: pytest.MonkeyPatch) -> None:
    """A grantor answers keepalives, and lets the lease run out all the same."""
    answer = Grantor.on_keepalive

    def short(self: Grantor, rank: int, message: Keepalive, now: int) -> tuple[Keepalive, list[Action]]:
        before = self.until
        result = answer(self, rank, message, now)
        self.until = before
        return result

    patch.setattr(Grantor, "on_keepalive", short)


def grants_longer(patch: pytest.MonkeyPatch) -> None:
    """The CPU lets a lease run longer than it was renewed for."""
    expire = Grantor.on_expire
    patch.setattr(Grantor, "on_expire", lambda self, now: [] if now < self.until + 500 else expire(self, now))
    patch.setattr(Grantor, "next_expiry", property(lambda self: None if self.holder is None else self.until + 500))


def holds_on(patch: pytest.MonkeyPatch) -> None:
    """A member goes on when its lease is over."""
    depose = Member._depose
    patch.setattr(
        Member,
        "_depose",
        lambda self, why, now: [] if why is LeaseEnd.LEASE else depose(self, why, now),
    )


def gives_up(patch: pytest.MonkeyPatch) -> None:
    """A member counts its lease from an interval before its keepalive left."""
    stale = Member._end_stale

    def early(self: Member, now: int) -> list[Action]:
        if self.held_epoch is not None and now > 20_000:
            self.lease_until = min(self.lease_until, now)
        return stale(self, now)

    patch.setattr(Member, "_end_stale", early)


def gives_up_late(patch: pytest.MonkeyPatch) -> None:
    """A member believes its lease to last somewhat longer."""
    stale = Member._end_stale
    patch.setattr(Member, "_end_stale", lambda self, now: stale(self, now - 400))


def grants_without_guard(patch: pytest.MonkeyPatch) -> None:
    """The CPU gives the lease to whoever asks, also while another one runs; and a follower asks all the same."""
    patch.setattr(Grantor, "_left", lambda self, rank, now: 0)
    wanted = Member._wanted
    patch.setattr(
        Member,
        "_wanted",
        lambda self, now: wanted(self, now) or (self.config.rank == 1 and now > 9_000 and self.held_epoch is None),
    )


def skips_epochs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        GroupConfig,
        "next_epoch",
        lambda self, highest: highest + 1 + (self.rank - highest) % len(self.members) + len(self.members),
    )


def takes_anothers_epoch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(GroupConfig, "next_epoch", lambda self, highest: highest + 2)


def last_comes_first(patch: pytest.MonkeyPatch) -> None:
    """The member that was listed last asks first."""
    patch.setattr(Member, "_place", lambda self, now: len(self.config.members) - 1 - self.config.rank)


def preempts(patch: pytest.MonkeyPatch) -> None:
    """A holder leaves the role to a better one that is back."""
    patch.setattr(
        Member,
        "_should_hand_over",
        lambda self: (
            self.held_epoch is not None
            and any(r < self.config.rank and p.liveness.up and p.uplink for r, p in self.peers.items())
        ),
    )


def is_up_at_once(patch: pytest.MonkeyPatch) -> None:
    """A GPU that was down is up with the first keepalive that is heard."""
    check = Liveness.check

    def forgiving(self: Liveness, now: int) -> Went | None:
        went = check(self, now)
        self.wait = 0
        return went

    patch.setattr(Liveness, "check", forgiving)


def never_twice_as_long(patch: pytest.MonkeyPatch) -> None:
    """A GPU that fails again and again waits no longer than after the first time."""
    check = Liveness.check

    def forgiving(self: Liveness, now: int) -> Went | None:
        self.doublings = 0
        return check(self, now)

    patch.setattr(Liveness, "check", forgiving)


def leaves_out(setting: str) -> Mistake:
    """A register keeps its value after reset, whatever the file says."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(power_up, "_FROM_SETTINGS", tuple(name for name in power_up._FROM_SETTINGS if name != setting))

    return mistake


def asks_at_once(patch: pytest.MonkeyPatch) -> None:
    """A member that has just booted doesn't listen first."""
    start = Member.start

    def hasty(self: Member, now: int) -> list[Action]:
        start(self, now)
        self._listen_until = self._hold_off_until = now
        return self._tick(now) + self._review(now)

    patch.setattr(Member, "start", hasty)


def asks_again_at_once(patch: pytest.MonkeyPatch) -> None:
    """A member that has lost its lease doesn't leave the others their turn."""
    patch.setattr(Member, "_patience", lambda self, now: 0)


def forgives_at_once(patch: pytest.MonkeyPatch) -> None:
    """A GPU that was wrong three times in a row gets work all the same."""
    patch.setattr(HandingOut, "bar", lambda self, card, gpu: None)


def forgives_the_third(patch: pytest.MonkeyPatch) -> None:
    """A GPU that was wrong three times in a row gets one more unit."""
    strike = Accepting.strike
    patch.setattr(Accepting, "strike", lambda self, card, gpu: strike(self, card, gpu) and card.strikes[gpu] > 3)


def forgets_no_wrong_result(patch: pytest.MonkeyPatch) -> None:
    """Wrong results count although right ones came between them."""
    accept = Accepting.accept

    def grim(self: Accepting, card: CardView, result: Result) -> None:
        before = card.strikes.get(result.source, 0)
        accept(self, card, result)
        card.strikes[result.source] = before

    patch.setattr(Accepting, "accept", grim)


def leaves_room(patch: pytest.MonkeyPatch) -> None:
    """The CPU gives nobody more than half of what fits."""
    turns = Proportional.turns
    patch.setattr(Proportional, "turns", lambda self, window: turns(self, window // 2))


def trusts_the_silent_for_longer(patch: pytest.MonkeyPatch) -> None:
    """The CPU looks half as often whether a card still reports, and that one has stopped just after a look."""
    stops_counting(patch, 22_000)
    watch = Cpu._watch

    def seldom(self: Cpu, card: CardView) -> None:
        port = self._port
        self._port = cast(CardPort, SimpleNamespace(after=lambda cycles, call: port.after(2 * cycles, call)))
        watch(self, card)
        self._port = port

    patch.setattr(Cpu, "_watch", seldom)


def takes_its_turn_back(patch: pytest.MonkeyPatch) -> None:
    """A member that has booted doesn't leave the role to others."""
    start = Member.start

    def eager(self: Member, now: int) -> list[Action]:
        actions = start(self, now)
        self._hold_off_until = 0
        return actions

    patch.setattr(Member, "start", eager)


def waits_no_longer_the_second_time(patch: pytest.MonkeyPatch) -> None:
    """A member whose lease has run out twice waits as long as the first time."""
    depose = Member._depose

    def forgetful(self: Member, why: LeaseEnd, now: int) -> list[Action]:
        self._losses = 0
        return depose(self, why, now)

    patch.setattr(Member, "_depose", forgetful)


def never_forgives_a_member(patch: pytest.MonkeyPatch) -> None:
    """However long a member behaves well, its next failure makes it wait for longer."""
    check = Liveness.check

    def grim(self: Liveness, now: int) -> Went | None:
        before = self.doublings
        went = check(self, now)
        if went is Went.DOWN:
            self.wait, self.doublings = self.wait_to_restore << before, before + 1
        return went

    patch.setattr(Liveness, "check", grim)


def is_late_with_keepalives(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(GroupConfig, "next_tick", lambda self, sequence: self.interval + 1)


def hurries_with_keepalives(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(GroupConfig, "next_tick", lambda self, sequence: self.interval - self.jitter - 1)


def falls_silent(patch: pytest.MonkeyPatch) -> None:
    """A member's keepalives end after a while."""
    tick = Member._tick
    patch.setattr(Member, "_tick", lambda self, now: tick(self, now) if now < 25_000 else [])


def tries_too_often(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(groups, "ATTEMPTS", 5)


def counts_all_the_time(patch: pytest.MonkeyPatch) -> None:
    """A round follows the last one at once."""
    conclude = Census._conclude

    def eager(self: Census, now: int) -> list[Action]:
        actions = conclude(self, now)
        return actions if self.accepted != 2 or self._arms is not None else actions + self._round(now)

    patch.setattr(Census, "_conclude", eager)


def stops_counting(patch: pytest.MonkeyPatch, cycle: int = 12_000) -> None:
    begin = Census._new_period

    def lazy(self: Census, now: int) -> list[Action]:
        return begin(self, now) if now < cycle else [SetTimer("period", 10**9)]

    patch.setattr(Census, "_new_period", lazy)


def with_config(**changes: int) -> Mistake:
    """The CPU has other times than it should."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        make = server.cpu_config

        def wrong(*args: object) -> CpuConfig:
            return replace(make(*args), **changes)  # type: ignore[arg-type]

        patch.setattr(server, "cpu_config", wrong)

    return mistake


def trusts_the_silent(patch: pytest.MonkeyPatch) -> None:
    """The CPU never looks whether a card still reports, and that one has stopped."""
    stops_counting(patch)
    patch.setattr(Cpu, "_watch", lambda self, card: None)


def sends_to_whom_it_failed_at(patch: pytest.MonkeyPatch) -> None:
    retry = HandingOut._retry

    def forgetful(self: HandingOut, unit: int) -> None:
        retry(self, unit)
        self._tried.pop(unit, None)

    patch.setattr(HandingOut, "_retry", forgetful)


def begins_anew_first(patch: pytest.MonkeyPatch) -> None:
    """Units that nobody has begun go out before those that are to go out again."""
    following = HandingOut._next_unit

    def wrong(self: HandingOut, card: CardView, gpu: int) -> int | None:
        fresh = self._policy.take(card, gpu)
        return following(self, card, gpu) if fresh is None else fresh

    patch.setattr(HandingOut, "_next_unit", wrong)


def forgets_attempts(patch: pytest.MonkeyPatch) -> None:
    """A further attempt has the number of the first."""
    retry = HandingOut._retry

    def forgetful(self: HandingOut, unit: int) -> None:
        retry(self, unit)
        self._attempts.pop(unit, None)

    patch.setattr(HandingOut, "_retry", forgetful)


def ignores_windows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CardView, "window", lambda self, gpu, full: full)


def refuses_a_right_result(patch: pytest.MonkeyPatch) -> None:
    """The CPU takes one right result for a wrong one."""
    expect = HandingOut._send

    def wrong(self: HandingOut, card: CardView, gpu: int, unit: int) -> None:
        expect(self, card, gpu, unit)
        if unit == 7 and self._attempts.get(unit, 1) == 1:
            self._accepting._expected[unit] ^= 1
        elif unit == 7:
            self._accepting._expected[unit] = self._accepting._expected[unit] ^ 1

    patch.setattr(HandingOut, "_send", wrong)


def keeps_no_book_of(name: str) -> Mistake:
    """The CPU does what it must, and doesn't count it."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        def book(self: WorkCount, field: str, value: int) -> None:
            object.__setattr__(self, field, 0 if field == name else value)

        patch.setattr(WorkCount, "__setattr__", book)

    return mistake


def counts_on(patch: pytest.MonkeyPatch) -> None:
    """A GPU that holds the role no longer counts and reports all the same."""
    lay_down = GpuProgram._lay_down

    def half(self: GpuProgram, role: Role, now: int) -> list[Action]:
        census = self.census
        actions = [a for a in lay_down(self, role, now) if getattr(a, "name", "") not in ("period", "timeout")]
        if role is Role.ENTRY:
            self.census = census
        return actions

    patch.setattr(GpuProgram, "_lay_down", half)


def fences_the_holder(patch: pytest.MonkeyPatch) -> None:
    """The CPU doesn't hear who holds the lease for a while."""
    holder = Leases.holder
    patch.setattr(
        Leases,
        "holder",
        lambda self, cell, epoch: None if 20_000 < self._port.now < 21_000 else holder(self, cell, epoch),
    )


def asks_after(skews: int) -> Mistake:
    """At power-up a member lets so many others ask before it, whoever it is."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Member, "_place", lambda self, now: skews)

    return mistake


def splits_at_once(patch: pytest.MonkeyPatch) -> None:
    """The CPU hands work out when the first card has reported."""
    report = Cpu._report

    def hasty(self: Cpu, card: CardView, message: Report) -> None:
        report(self, card, message)
        if not self._out.begun:
            self._hand_out()

    patch.setattr(Cpu, "_report", hasty)


def splits_late(patch: pytest.MonkeyPatch) -> None:
    """The CPU hands no work out before `silence` has passed."""
    report = Cpu._report

    def slow(self: Cpu, card: CardView, message: Report) -> None:
        cards, self.cards = self.cards, [*self.cards, replace(card, known=False)]
        report(self, card, message)
        self.cards = cards

    patch.setattr(Cpu, "_report", slow)


def tells_nobody(kind: type[Group]) -> Mistake:
    """Members or wardens keep to themselves what they hold, until the next round of keepalives."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        if kind is Member:
            patch.setattr(Member, "_tell", lambda self, now: [])
        else:
            patch.setattr(Warden, "_spread", lambda self, actions: actions)

    return mistake


def miscounts_rejections(patch: pytest.MonkeyPatch) -> None:
    """An entry GPU counts rejected messages twice."""
    reject = Census._reject

    def twice(self: Census, reason: Rejection) -> list[Action]:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1
        return reject(self, reason)

    patch.setattr(Census, "_reject", twice)


def never_forgets_noise(patch: pytest.MonkeyPatch) -> None:
    """A link that was noisy once is called so for ever."""
    over = LinkHealth.round_over

    def kept(self: LinkHealth) -> None:
        self._quiet = 0
        over(self)

    patch.setattr(LinkHealth, "round_over", kept)


def hears_noise_early_only(patch: pytest.MonkeyPatch) -> None:
    """A link that becomes noisy later is not called so."""
    count = LinkHealth._count_errors

    def forgetful(self: LinkHealth, record: Record, ccw: bool) -> None:
        quiet = self._quiet
        count(self, record, ccw)
        self._quiet = quiet

    patch.setattr(LinkHealth, "_count_errors", forgetful)


def wardens_fall_silent(patch: pytest.MonkeyPatch) -> None:
    """Wardens tell each other of their leases at power-up, and then only when one begins or ends."""
    patch.setattr(Warden, "_tick", lambda self: self._gossip())


def answers(**wrong: int) -> Mistake:
    """The CPU's answers to keepalives say something else."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        answer = Grantor.on_keepalive

        def other(self: Grantor, rank: int, message: Keepalive, now: int) -> tuple[Keepalive, list[Action]]:
            right, actions = answer(self, rank, message, now)
            return replace(right, **wrong), actions

        patch.setattr(Grantor, "on_keepalive", other)

    return mistake


def gives_all_to_one(patch: pytest.MonkeyPatch) -> None:
    """When work is split anew the last card gets what is left, whatever its share is."""
    recount = Proportional.recount

    def greedy(self: Proportional) -> None:
        recount(self)
        *others, last = self.cards
        for card in others:
            for start, end in self._backlogs[card.name].take(len(self._backlogs[card.name])):
                self._backlogs[last.name].add(start, end)

    patch.setattr(Proportional, "recount", greedy)


def goes_on(patch: pytest.MonkeyPatch) -> None:
    """A run doesn't end when all work is done."""
    patch.setattr(server.LiveServer, "_on_done", lambda self: None)


def is_back_late(patch: pytest.MonkeyPatch) -> None:
    """Who was down must have been heard twice as long as it should."""
    check = Liveness.check

    def slow(self: Liveness, now: int) -> Went | None:
        went = check(self, now)
        if went is Went.DOWN:
            self.wait *= 2
        return went

    patch.setattr(Liveness, "check", slow)


def is_up_twice(patch: pytest.MonkeyPatch) -> None:
    """Whoever is heard for the first time is taken for up, and once more at its next message."""
    heard = Liveness.heard

    def forgets(self: Liveness, now: int) -> Went | None:
        first = self.heard_at is None
        went = heard(self, now)
        self.up = self.up and not first
        return went

    patch.setattr(Liveness, "heard", forgets)


def says_it_hears_all(patch: pytest.MonkeyPatch) -> None:
    """Its keepalives say that it hears everybody."""
    patch.setattr(Group, "_heard_bits", lambda self: (1 << len(self.config.members)) - 1)


def ignores_who_has_booted(patch: pytest.MonkeyPatch) -> None:
    """Sequence numbers are compared across boots."""
    take = Peer.take
    patch.setattr(Peer, "take", lambda self, message: message.sequence > self.sequence and take(self, message))


def asks_as_it_announces(patch: pytest.MonkeyPatch) -> None:
    """A member of a link between cards doesn't wait after it has said that it is a candidate."""
    review = Member._review

    def at_once(self: Member, now: int) -> list[Action]:
        if self._announced_at is not None:
            self._announced_at = -1_000_000
        return review(self, now)

    patch.setattr(Member, "_review", at_once)


def asks_in_anothers_turn(patch: pytest.MonkeyPatch) -> None:
    """Members of a link between cards don't mind better candidates."""
    patch.setattr(Member, "_place", lambda self, now: 0)
    wanted = Member._wanted

    def blind(self: Member, now: int) -> bool:
        states = {rank: peer.state for rank, peer in self.peers.items()}
        for peer in self.peers.values():
            peer.state = MemberState.FOLLOWER.code if peer.state == MemberState.CANDIDATE.code else peer.state
        found = wanted(self, now)
        for rank, state in states.items():
            self.peers[rank].state = state
        return found

    patch.setattr(Member, "_wanted", blind)


def names_no_holder(patch: pytest.MonkeyPatch) -> None:
    """A warden doesn't tell the others to whom it has granted."""
    tell = Group._tell_all
    patch.setattr(Group, "_tell_all", lambda self, state, epoch, holder=0: tell(self, state, epoch))


def reports_the_first_suspect_only(patch: pytest.MonkeyPatch) -> None:
    """Of several GPUs that may have spoiled a round the report names one."""
    report = Census._report

    def short(self: Census, counted: Counted | None, suspected: tuple[int, ...] = ()) -> bytes:
        return report(self, counted, suspected[:1])

    patch.setattr(Census, "_report", short)


def lets_nobody_enter(patch: pytest.MonkeyPatch) -> None:
    """An entry GPU makes nothing of the boundary GPUs that it finds."""
    patch.setattr(GpuProgram, "_found_exits", lambda self, counted: [])


def drops_halves(patch: pytest.MonkeyPatch) -> None:
    """A round of which one message came home is taken for lost."""
    join = census._join
    patch.setattr(
        census,
        "_join",
        lambda arms, sequence, sent_at: Rejection.LOST if None in arms else join(arms, sequence, sent_at),
    )


def calls_all_halves_wrapped(patch: pytest.MonkeyPatch) -> None:
    """A round of which one message came home is taken for one that was turned round."""
    join = census._join
    patch.setattr(
        census,
        "_join",
        lambda arms, sequence, sent_at: Rejection.HALF if None in arms else join(arms, sequence, sent_at),
    )


def calls_a_link_slow_after_three_rounds(patch: pytest.MonkeyPatch) -> None:
    """It doesn't wait for a fourth."""
    agree = LinkHealth._agree
    patch.setattr(LinkHealth, "_agree", staticmethod(lambda late: agree([late[0], *late] if len(late) == 3 else late)))


def weighs_by_one(patch: pytest.MonkeyPatch) -> None:
    """A card without records weighs 1, whatever its count."""
    join = census._join

    def light(arms: list[Arm | None], sequence: int, sent_at: int) -> Counted | Rejection:
        joined = join(arms, sequence, sent_at)
        return replace(joined, weight=1) if isinstance(joined, Counted) and joined.members is None else joined

    patch.setattr(census, "_join", light)
