"""Two things in the same cycle: one is moved past the other, cycle by cycle, so that they meet for certain."""

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from ringhil.emulator.conformance.data_frames import TO_HOST, Place, roles, unknown_kind
from ringhil.emulator.conformance.data_judge import judge_data
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, straps
from ringhil.emulator.conformance.rules.data import settings
from ringhil.emulator.conformance.rules.registers import SWIFT, event, happening, reads_back, times
from ringhil.emulator.conformance.steady import judge_control
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN
from ringhil.emulator.testbench.stimulus import Action, Peek, Poke, Send, Stimulus
from ringhil.protocol import registers

# ------------------------------------------------------------------------------------------------ register writes

_FEW = 5  # events of a kind
_APART = 41  # cycles between them: odd, as every other cycle is that of a write


def _writes(rng: random.Random, actions: Sequence[Action]) -> list[Action]:
    """The register `memory` is written in every other cycle from the first frame on and read in those between: of two
    events an odd number of cycles apart one coincides with a write."""
    first = min(a.at for a in actions if not isinstance(a, Poke))
    last = max(a.at for a in actions) + _APART
    pairs = ((Poke(at, "memory", rng.getrandbits(32)), Peek(at + 1, "memory")) for at in range(first, last, 2))
    return [*actions, *(action for pair in pairs for action in pair)]


def _beside(judge: partial[list[Breach]], stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """What the judge says, and each write holds."""
    found = [*judge(stimulus, observed), *reads_back("registers.beside", stimulus, observed)]
    return sorted(found, key=lambda b: b.cycle)


def _case(name: str, rng: random.Random, actions: Sequence[Action], place: dict[str, int], judge: str) -> RuleCase:
    stimulus = Stimulus.of(_writes(rng, actions), tail=500, **place)
    rule_name = "registers.beside"
    if judge == "control":
        judged = partial(judge_control, rule_name)
    elif judge == "data":
        judged = partial(judge_data, rule_name, stimulus.cycles)
    else:
        judged = partial(times, rule_name, judge)
    return RuleCase(name, stimulus, partial(_beside, judged))


def _data_events(place: Place) -> Iterator[tuple[str, Sequence[str], RingFrame]]:
    """What the data channel counts, and by which links it comes."""
    for _ in range(_FEW):
        yield "dropped", ("p1", "p2", "host"), place.answer(2, 1, flags=TO_HOST)
        yield "used up", ("p1", "p2"), place.answer(2, 4, ttl=0)
        yield "damaged", ("p1", "p2"), place.unit(8)[0].with_bit_flip(100)
        yield "crossed", ("p1", "p2"), place.answer(5, 3, ttl=4)
        yield "done", ("p1", "p2"), place.unit(8)[0]
        yield "refused", ("p1", "p2"), place.unit(8, compute=1)[0]


@rule("registers.beside", "what happens in the cycle of a register write is counted, and the write holds")
def beside(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for _ in range(effort):
        for kind in ("bad", "marked", "used up", "counted", "purged"):
            where = straps(rng)
            monitor = registers.ControlBit.MONITOR if kind == "purged" else 0
            actions: list[Action] = [*QUIET, Poke(6, "control", monitor)]
            for i in range(_FEW):
                actions += [Send(20 + _APART * i + lane, link, event(rng, kind, where)) for lane, link in enumerate(IN)]
            yield _case(kind, rng, actions, where, "control")
        place = Place(rng, 2, 1, 8, {"control": roles("boundary"), "crossings": 1 << 5})
        actions, at = settings(place), 20
        for _, links, frame in _data_events(place):
            actions.append(Send(at, links[at // _APART % len(links)], frame))
            at += _APART
        yield _case("data", rng, actions, place.straps, "data")
        for register, values in SWIFT.items():
            where = straps(rng)
            actions = [Poke(i, name, value) for i, (name, value) in enumerate(values.items())]
            for i in range(_FEW):
                actions += happening(rng, register, where, 20 + _APART * i, i % 4)
            yield _case(register, rng, actions, where, register)


# ------------------------------------------------------------------------------------------------- the compute engine

_SETUP = 40  # cycles of a unit
_PHASES = 20  # by which another unit's last segment comes later
_EPISODE = 260  # cycles


def _beside_result(rng: random.Random, place: Place, kind: str) -> Iterator[RingFrame]:
    """What comes by another way while a unit is being finished."""
    match kind:
        case "refused":
            yield from place.unit(8, compute=unknown_kind(rng))
        case "incomplete":
            yield place.unit(80, segment=40)[1]
        case "damaged":
            yield place.unit(8)[0].with_bit_flip(rng.randrange(64, 320))
        case _:
            yield from place.unit(8)


@rule(
    "compute.coincide",
    "a unit that ends, is refused or is damaged in the very cycle in which another is done or answered is not lost",
    "R5",
)
def coincide(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for kind in ("refused", "incomplete", "damaged", "done"):
            for done, beside_it in rng.sample([("p1", "p2"), ("p2", "p1"), ("host", "p1"), ("p1", "host")], 2):
                place = Place(rng, 2, 1, 8, {"control": roles("entry"), "compute_per_flit": 0})
                actions, at = settings(place, heartbeat=0, compute_setup=_SETUP), 30
                for phase in range(_PHASES):
                    actions += [Send(at, done, frame) for frame in place.unit(8)]
                    later = at + _SETUP - 6 + phase
                    actions += [Send(later, beside_it, frame) for frame in _beside_result(rng, place, kind)]
                    at += _EPISODE
                stimulus = Stimulus.of(actions, tail=700, **place.straps)
                judge = partial(judge_data, "compute.coincide", stimulus.cycles)
                yield RuleCase(f"{kind} by {beside_it} beside {done} {index}", stimulus, judge)
