"""What a grantor refuses, what a GPU leaves open behind it, whose turn it is: each mistake is named."""

from collections.abc import Iterator

import pytest
from tests.emulator.judge.mistakes import Mistake
from tests.emulator.judge.playing import assert_named
from tests.emulator.judge.test_conduct import ACROSS, CARD, CUT, LIAR, shipped
from tests.sampled import sampled

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.policy.round_robin import RoundRobin
from ringhil.firmware import census
from ringhil.firmware.actions import Action
from ringhil.firmware.census import Census
from ringhil.firmware.commands import Write
from ringhil.firmware.election import GroupConfig
from ringhil.firmware.gpu import GpuProgram
from ringhil.firmware.grantor import Grantor
from ringhil.firmware.observations import Deposed
from ringhil.firmware.warden import Warden
from ringhil.protocol.frames import Election
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.registers import ControlBit
from ringhil.protocol.wire import Operation, Role

HANDED_OVER = shipped("boundary_link_cut/role-on-the-entry-gpu")
BOUNDARY_CUT = shipped("boundary_link_cut/active")
WARDEN_DIES = ACROSS + "timeline: [{at: 20000, fault: dead, gpu: b.2}]\n"
BOTH_LINKS = (
    "server: {cards: {a: {gpus: 6, host_links: [1]}, b: {gpus: 6, host_links: [1]}}, "
    "boundary_links: [{from: [a.1, a.3], to: [b.2, b.3]}]}\nuntil: 30000\n"
)
DIES = CUT.replace("host_link_cut", "dead").replace("}]", "}, {at: 30000, clear: dead, gpu: a.0}]")
FORGETS = DIES.replace("30000", "20500")
SLOW_ENTRY = CARD % "" + (
    "until: 30000\ntimeline: [{at: 3000, fault: slow, gpu: a.1}, {at: 12000, fault: dead, gpu: a.0}]\n"
)
IN_TURN = CARD % ", settings: {policy: round_robin}" + (
    "workload: {units: 200, size: 256}\ntimeline: [{at: 2000, fault: slow, gpu: a.3}]\n"
)


def leaves(bit: ControlBit) -> Mistake:
    """A GPU that lays a role down leaves a bit of `control` as it is."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        right = GpuProgram._set_control
        patch.setattr(
            GpuProgram,
            "_set_control",
            lambda self, found, on: [] if found is bit and not on else right(self, found, on),
        )

    return mistake


def never_writes(register: str, value: int) -> Mistake:
    """A value is never written into a register, but at boot."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        right = GpuProgram._carried_out

        def without(self: GpuProgram, actions: list[Action], now: int) -> list[Action]:
            return [a for a in right(self, actions, now) if a != Write(register, value)]

        patch.setattr(GpuProgram, "_carried_out", without)

    return mistake


def always_from_above(patch: pytest.MonkeyPatch) -> None:
    """Whether the other card is nearer to the root is said of a GPU that speaks to none, too."""
    right = GpuProgram._set_control
    patch.setattr(
        GpuProgram,
        "_set_control",
        lambda self, bit, on: right(
            self, bit, self.crossing.from_above if bit is ControlBit.FROM_ABOVE and self.crossing else on
        ),
    )


def boots_as_it_was(patch: pytest.MonkeyPatch) -> None:
    """A boot leaves `control` and `crossings` as it finds them."""
    right = GpuProgram.start
    patch.setattr(GpuProgram, "start", lambda self, now: right(self, now)[3:])


def never_tries_again(patch: pytest.MonkeyPatch) -> None:
    """The attempts of all rounds are counted together."""
    right = Census._new_period

    def counting_on(self: Census, now: int) -> list[Action]:
        before = self._attempt
        found = right(self, now)
        self._attempt = before + 1
        return found

    patch.setattr(Census, "_new_period", counting_on)


def waits_an_interval_less(patch: pytest.MonkeyPatch) -> None:
    """A warden takes another one's lease to be over a detection time after it was last told of."""
    right = Warden._runs_until
    patch.setattr(
        Warden,
        "_runs_until",
        lambda self, rank, now: max(0, right(self, rank, now) - self.config.interval),
    )


def ignores_other_wardens(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Warden, "_runs_until", lambda self, rank, now: 0)


def guards_what_was_given_back(patch: pytest.MonkeyPatch) -> None:
    """Who gives a lease back keeps the others waiting all the same."""
    right = Grantor._end
    patch.setattr(
        Grantor,
        "_end",
        lambda self, why, free_at: right(self, why, free_at + self.guard if why is LeaseEnd.RELEASE else free_at),
    )


def refuses(**wrong: int) -> Mistake:
    """Refusals have wrong fields."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        right = Grantor._objection

        def objection(self: Grantor, rank: int, epoch: int, now: int) -> int | None:
            found = right(self, rank, epoch, now)
            if found is None:
                return wrong.get("without_reason")
            return found + wrong.get("longer", 0) if found else found

        patch.setattr(Grantor, "_objection", objection)

    return mistake


def leaves_claims_unanswered(patch: pytest.MonkeyPatch) -> None:
    """Who has to be refused gets no answer."""
    right = Grantor.on_election

    def silent(self: Grantor, rank: int, message: Election, now: int) -> tuple[Election | None, list[Action]]:
        answer, actions = right(self, rank, message, now)
        refused = answer is not None and answer.operation == Operation.REFUSE.code
        return None if refused else answer, actions

    patch.setattr(Grantor, "on_election", silent)


def passes_over_who_is_full(patch: pytest.MonkeyPatch) -> None:
    right = RoundRobin.turns

    def turns(self: RoundRobin, window: int) -> Iterator[tuple[CardView, int]]:
        yield from right(self, window)
        circle = self._circle()
        for card, gpu in circle:
            while card.load.get(gpu, 0) < card.window(gpu, window) and len(self._left):
                yield card, gpu

    patch.setattr(RoundRobin, "turns", turns)


def stops_in_between(patch: pytest.MonkeyPatch) -> None:
    """Nobody gets a unit as long as the first GPU has one."""
    right = RoundRobin.turns

    def turns(self: RoundRobin, window: int) -> Iterator[tuple[CardView, int]]:
        if not any(card.load.get(card.members[0], 0) for card in self.cards if card.members):
            yield from right(self, window)

    patch.setattr(RoundRobin, "turns", turns)


def hands_over_and_stays(patch: pytest.MonkeyPatch) -> None:
    """Whoever hands the boundary role over keeps its part of the hardware."""
    right = GpuProgram._carried_out

    def staying(self: GpuProgram, actions: list[Action], now: int) -> list[Action]:
        handover = any(isinstance(a, Deposed) and a.role is Role.BOUNDARY for a in actions)
        found = right(self, actions, now)
        return [a for a in found if not (handover and isinstance(a, Write))]

    patch.setattr(GpuProgram, "_carried_out", staying)


def begins_as_if_it_were_well(patch: pytest.MonkeyPatch) -> None:
    """A slow GPU that becomes the entry GPU doesn't say so of itself in its first count."""
    right = GpuProgram._take_up

    def well(self: GpuProgram, role: Role, epoch: int, now: int) -> list[Action]:
        status, self._status = self._status, 0
        found = right(self, role, epoch, now)
        self._status = status
        return found

    patch.setattr(GpuProgram, "_take_up", well)


def weighs_the_slow_as_others(patch: pytest.MonkeyPatch) -> None:
    right = census._told
    patch.setattr(
        census,
        "_told",
        lambda arms: (*(told := right(arms))[:2], told[2] + 3 * len(told[0])),
    )


def leaves_nobody_a_turn(patch: pytest.MonkeyPatch) -> None:
    """A member whose lease ran out, and that hears nobody, asks a turn too soon."""
    right = GroupConfig.turn.fget
    assert right is not None
    patch.setattr(GroupConfig, "turn", property(lambda self: right(self) - self.skew))


MISTAKES: dict[str, tuple[Mistake, str, str, str]] = {
    "leaves entry": (leaves(ControlBit.ENTRY), CUT, "only_holder", "`control` is entry|"),
    "leaves monitor": (leaves(ControlBit.MONITOR), CUT, "only_holder", "`control` is monitor"),
    "leaves boundary": (leaves(ControlBit.BOUNDARY), BOUNDARY_CUT, "only_holder", "boundary"),
    "leaves crossings": (never_writes("crossings", 0), BOUNDARY_CUT, "only_holder", "`crossings` is 0x"),
    "never opens crossings": (never_writes("crossings", 2), ACROSS, "only_holder", "`crossings` is 0x0, must be 0x2"),
    "leaves exits": (
        never_writes("exits", 0),
        ACROSS.replace("a: {gpus: 6}", "a: {gpus: 6, host_links: [0, 1]}")
        + "timeline: [{at: 20300, fault: host_link_cut, gpu: a.0}]\n",
        "only_holder",
        "`exits` is 0x2, must be 0",
    ),
    "is always from above": (always_from_above, BOUNDARY_CUT, "only_holder", "from_above"),
    "boots as it was": (
        boots_as_it_was,
        DIES,
        "only_holder",
        "holds no role since",
    ),
    "hands over and stays": (hands_over_and_stays, HANDED_OVER, "only_holder", "boundary"),
    "never tries again": (never_tries_again, LIAR, "steady_pace", "and no other one began at once"),
    "waits an interval less": (waits_an_interval_less, WARDEN_DIES, "lease_terms", "that of warden 2 may run until"),
    "ignores other wardens": (ignores_other_wardens, WARDEN_DIES, "lease_terms", "that of warden 2 may run until"),
    "guards what was given back": (
        guards_what_was_given_back,
        FORGETS,
        "lease_terms",
        "cycles, must be 0",
    ),
    "refuses for longer": (refuses(longer=1), DIES, "lease_terms", "was refused for "),
    "refuses without a reason": (refuses(without_reason=0), CUT, "lease_terms", "was refused epoch 1, and 0 is the"),
    "leaves claims unanswered": (leaves_claims_unanswered, DIES, "lease_terms", "and was not answered"),
    "passes over who is full": (passes_over_who_is_full, IN_TURN, "rightly_resent", "and it was the turn of a.3"),
    "begins as if it were well": (
        begins_as_if_it_were_well,
        SLOW_ENTRY,
        "wrong_count",
        "a.1 is not among the degraded GPUs, and it is slow since cycle 3000",
    ),
    "weighs the slow as others": (weighs_the_slow_as_others, SLOW_ENTRY, "wrong_count", "must be 2"),
    "leaves nobody a turn": (
        leaves_nobody_a_turn,
        shipped("keepalive_loss/nobody-is-heard"),
        "no_early_return",
        "and it hears nobody: it waits until",
    ),
    "stops in between": (stops_in_between, IN_TURN, "rightly_resent", "and it is its turn"),
}


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("name", sampled(MISTAKES, "bugs", 2))
def test_each_mistake_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_named(*MISTAKES[name], monkeypatch)
