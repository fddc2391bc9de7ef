"""A GPU that is out of the ring for a moment and works on meanwhile, or stands still for a moment and stays in (R5)."""

import random
from collections.abc import Iterable, Iterator

from ringhil.emulator.conformance.data_frames import Place, roles
from ringhil.emulator.conformance.frames import other_control
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.data import settings
from ringhil.emulator.conformance.rules.switch import AT_ONCE, BACK
from ringhil.emulator.conformance.timeline import Span, faulty, shown
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.compute import own_answer
from ringhil.emulator.testbench.reference.data import WAYS
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.stimulus import Action, Fault, Post, Send, Stimulus
from ringhil.protocol import wire

_NAME = "compute.briefly"
_BYTES = 56  # of a segment
_SWEPT = 40  # cycles from the first flit of a unit of two segments until it has been answered, nearly
_LONGEST = 3  # cycles out of the ring
_DONE = 90  # cycles within which a unit of two segments is received, computed and answered
_PERIOD = 4  # of the guardian, where a mute is over at once
_UNIT = slice(8, 16)  # epoch and unit


def _judge(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """One answer at most for each unit, and a result for each that came to a GPU that took part all the time. What a
    result must say is watched in every case."""
    view = NodeView(card=stimulus.card, node=stimulus.node, size=stimulus.size)
    units: dict[bytes, list[RingFrame]] = {}
    for frame in (f for link in WAYS for f in observed.arrived[link] if f.kind == "work"):
        units.setdefault(frame.data[_UNIT], []).append(frame)
    given: dict[bytes, list[RingFrame]] = {}
    breaches = []
    for link in WAYS:
        for frame in (f for f in observed.left[link] if f.channel == "data" and own_answer(f, view)):
            given.setdefault(frame.data[_UNIT], []).append(frame)
            if not frame.good:
                breaches.append(Breach(_NAME, frame.ended, f"{link}: one {frame.kind} frame left damaged"))
    out = list(_out(observed))
    for name, frames in units.items():
        answers, over = given.get(name, []), frames[-1].ended + _DONE
        which = f"unit 0x{name.hex()}"
        if len(answers) > 1:
            breaches.append(Breach(_NAME, answers[-1].ended, f"{which} was answered {len(answers)} times"))
        well = _whole(frames) and not any(s.begin <= over and frames[0].began <= s.end + BACK + AT_ONCE for s in out)
        if well and over < stimulus.cycles and [a.kind for a in answers] != ["result"]:
            breaches.append(Breach(_NAME, over, f"{which} came to a GPU that works, and wasn't computed"))
    return sorted(breaches, key=lambda b: b.cycle)


def _whole(frames: list[RingFrame]) -> bool:
    last = frames[-1].data
    ends = bool(last[3] & wire.Flag.LAST) and len(frames) == 1 + int.from_bytes(last[20:22], "big")
    return ends and all(f.good for f in frames)


def _out(observed: Observed) -> Iterator[Span]:
    """Cycles in which the GPU may have taken no part."""
    yield from faulty(observed, "switch_stuck_bypass", "hang")
    for name in ("bypass_cw", "bypass_ccw", "restoring", "muted"):
        yield from (Span(s.begin - AT_ONCE, s.end + AT_ONCE) for s in shown(observed, name))


def _moment(rng: random.Random, place: Place, kind: str, at: int) -> list[Action]:
    if kind == "mute":  # the frame beyond the allowance
        given = {"card": place.card, "home": place.other_gpu(), "ttl": 2}
        return [Post(at, rng.randrange(2), other_control(rng, **given)) for _ in range(2)]
    return [Fault(at, kind, True), Fault(at + rng.randint(1, _LONGEST), kind, False)]


@rule(_NAME, "a GPU that is out of the ring for a moment gives one whole result or none, whatever it was doing", "R5")
def briefly(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for number, kind in enumerate(("switch_stuck_bypass", "mute", "hang")):
            link = WAYS[(number + index) % 3]
            place = Place(rng, 2, 1, 8, {"control": roles("entry")})
            more = {"allowance": 1, "allowance_period": _PERIOD} if kind == "mute" else {}
            actions, at = settings(place, gpu_restore=0, compute_per_flit=0, heartbeat=0, **more), 30
            for offset in range(_SWEPT):
                frames = place.unit(2 * _BYTES, segment=_BYTES)
                actions += [Send(at, link, frame) for frame in frames]
                actions += _moment(rng, place, kind, at + offset)
                at += _DONE + rng.randrange(3)
                if offset % 4 == 3:  # and it is well behind it
                    actions += [Send(at, link, frame) for frame in place.unit(_BYTES)]
                    at += _DONE
            yield RuleCase(f"{kind} by {link} {index}", Stimulus.of(actions, tail=300, **place.straps), _judge)
