"""The switch goes to bypass in each cycle around the beginning of frames of the GPU's own, for long or for a moment."""

import itertools
import random
from collections.abc import Iterable, Iterator
from functools import partial

from ringhil.emulator.conformance.frames import other_control
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, straps
from ringhil.emulator.conformance.rules.switch import AT_ONCE, BACK, either, foreign
from ringhil.emulator.conformance.timeline import faulty
from ringhil.emulator.conformance.transition import Moves, judge_moving
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN, OUT
from ringhil.emulator.testbench.stimulus import Action, Fault, Poke, Post, Send, Stimulus

_NAME = "switch.begins"
_SWEPT = 18  # cycles from the first flit written until two short frames have left
_AWAY = 40  # cycles out of the ring, in which others' frames pass
_MOMENT = 3  # cycles out of the ring, at most
_REST = 40  # cycles in which all that came has left, when the GPU is back
_RESTORE = 4


def _judge(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Others' frames go on once, as one or the other state of the node has it; of the GPU's own none begins behind the
    switch, and none is left without an end."""
    views = either(stimulus)
    away = faulty(observed, "dead", "switch_stuck_bypass")
    breaches = judge_moving(_NAME, stimulus, observed, Moves(lambda frame: views, cuts=len(away)))
    return sorted([*breaches, *_begun(stimulus, observed)], key=lambda b: b.cycle)


def _begun(stimulus: Stimulus, observed: Observed) -> Iterator[Breach]:
    written = {a.data[6:16] for a in stimulus.actions if isinstance(a, Post)}
    for span in faulty(observed, "dead"):
        for link in OUT:
            for frame in observed.left[link]:
                if frame.data[6:16] in written and span.begin + AT_ONCE < frame.began < span.end:
                    text = f"{link}: a frame of the GPU began to leave {frame.began - span.begin} cycles after it died"
                    yield Breach(_NAME, frame.ended, text)


def _episode(rng: random.Random, place: dict[str, int], lane: int, at: int) -> Iterator[Action]:
    """Two frames are written for a lane, and others' frames come, behind each other or far apart."""
    given = {"card": place["card"], "home": (place["node"] + 1) % place["size"], "ttl": 2}
    for _ in range(2):
        yield Post(at, lane, other_control(rng, **given))
    for when in (at + rng.randrange(_SWEPT), at + _SWEPT + AT_ONCE):
        yield Send(when, IN[lane], foreign(rng, place))


@rule(_NAME, "in whatever cycle a GPU leaves the ring, its own frames leave whole or not at all, others' go on", "R6")
def begins(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index, lane in itertools.product(range(effort), (0, 1)):
        for fault, longest in (("dead", _AWAY), ("switch_stuck_bypass", _AWAY), ("switch_stuck_bypass", _MOMENT)):
            place = straps(rng)
            actions: list[Action] = [*QUIET, Poke(6, "gpu_restore", _RESTORE)]
            at = 20
            for offset in range(_SWEPT):
                actions += _episode(rng, place, lane, at)
                length = longest if longest == _AWAY else rng.randint(1, longest)
                actions += [Fault(at + offset, fault, True), Fault(at + offset + length, fault, False)]
                at += offset + length + _RESTORE + BACK + _REST
            name = f"{fault} for {longest} cycles at most, lane {lane} {index}"
            yield RuleCase(name, Stimulus.of(actions, tail=450, **place), partial(_judge))
