"""A GPU that goes to bypass in whatever phase of a unit: it is receiving, computing, or its result is in flight."""

import itertools
import random
from collections.abc import Iterable, Sequence

from ringhil.emulator.conformance.credit_check import uses
from ringhil.emulator.conformance.data_frames import Place, roles
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.data import settings
from ringhil.emulator.conformance.rules.switch import AT_ONCE, BACK
from ringhil.emulator.conformance.timeline import faulty, setting
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.compute import digest, own_answer
from ringhil.emulator.testbench.reference.data import WAYS
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.stimulus import Action, Fault, Send, Stimulus
from ringhil.protocol import wire
from ringhil.protocol.frames import Work

_NAME = "compute.bypassed"
# Cycles that a unit is computed: as long as the GPU is dead, or on beyond its return. And how far apart its deaths are.
_SETUPS = ((24, 3), (90, 5))
_DEAD = 24  # cycles
_BYTES = 64  # of a unit
_LATER = 60  # cycles from the return until the next unit comes
_DONE = 150  # cycles within which a unit is received, computed and answered
_HEAD = Work.HEAD.size
_UNIT = slice(8, 16)  # epoch and unit
_DIGEST = slice(24, 32)


def _judge(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """One whole result or none for each unit; one, where the GPU was well all the time; every slot is free again."""
    breaches = []
    view = NodeView(card=stimulus.card, node=stimulus.node, size=stimulus.size)
    dead = faulty(observed, "dead")
    answers = [(link, f) for link in WAYS for f in observed.left[link] if f.channel == "data" and own_answer(f, view)]
    units = {f.data[_UNIT]: f for link in WAYS for f in observed.arrived[link] if f.kind == "work" and f.good}
    for link, answer in answers:
        unit = units.get(answer.data[_UNIT])
        found = [f for _, f in answers if f.data[_UNIT] == answer.data[_UNIT]]
        which = f"{link}: the {answer.kind} of unit 0x{answer.data[_UNIT].hex()}"
        if unit is None:
            breaches.append(Breach(_NAME, answer.began, f"{which} left, and no unit asked for it"))
        elif not answer.good:
            breaches.append(Breach(_NAME, answer.ended, f"{which} left damaged"))
        elif answer is not found[0]:
            breaches.append(Breach(_NAME, answer.began, f"{which} left a second time"))
        elif answer.kind != "result" or answer.data[_DIGEST] != digest(unit.data[_HEAD:-8]).to_bytes(8, "big"):
            breaches.append(Breach(_NAME, answer.ended, f"{which} isn't that of what came"))
    answered = {f.data[_UNIT] for _, f in answers}
    restore = setting(stimulus, "gpu_restore") + BACK + AT_ONCE
    for name, unit in units.items():
        over = unit.ended + _DONE
        well = not any(s.begin <= over and unit.began <= s.end + restore for s in dead)
        if well and over < stimulus.cycles and name not in answered:
            breaches.append(Breach(_NAME, over, f"unit 0x{name.hex()} came to a GPU that works, and wasn't answered"))
    return sorted([*breaches, *_owed(stimulus, observed)], key=lambda b: b.cycle)


def _owed(stimulus: Stimulus, observed: Observed) -> Iterable[Breach]:
    for link in WAYS:
        frames = [f for f in observed.arrived[link] if f.channel == "data"]
        idle = max((f.ended for f in frames), default=0) + _DONE < stimulus.cycles
        if idle and len(uses(observed, link)) == 1 and len(observed.credits[link]) != len(frames):
            text = (
                f"{link}: {len(observed.credits[link])} credits given for {len(frames)} frames, none is there any more"
            )
            yield Breach(_NAME, stimulus.cycles, text)


def _episodes(place: Place, link: str, setup: int, offsets: Sequence[int]) -> list[Action]:
    actions, at = settings(place, gpu_restore=4, compute_setup=setup, compute_per_flit=0, heartbeat=0), 30
    for offset in offsets:
        actions += _sent(at, link, place.unit(_BYTES))
        actions += [Fault(at + offset, "dead", True), Fault(at + offset + _DEAD, "dead", False)]
        at += offset + _DEAD + _LATER
        actions += _sent(at, link, place.unit(_BYTES))
        at += _DONE + wire.FLIT_BYTES
    return actions


def _sent(at: int, link: str, frames: Iterable[RingFrame]) -> list[Action]:
    return [Send(at, link, frame) for frame in frames]


@rule(
    _NAME,
    "a GPU that fails while it receives, computes or answers a unit gives one whole result or none; the next is done",
    "R5",
)
def bypassed(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for link, (setup, step) in itertools.product(("p1", "p2", "host"), _SETUPS):
            place = Place(rng, 2, 1, 8, {"control": roles("entry")})
            offsets = range(rng.randrange(step), 75, step)
            stimulus = Stimulus.of(_episodes(place, link, setup, offsets), tail=2 * _DONE, **place.straps)
            yield RuleCase(f"{link}, {setup} cycles {index}", stimulus, _judge)
