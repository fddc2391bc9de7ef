"""Frames that come with a gap in their middle, while the switch moves: the GPU falls out, comes back, or both (R6)."""

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from ringhil.emulator.conformance.credit_check import given_back
from ringhil.emulator.conformance.data_frames import CCW, Place, roles
from ringhil.emulator.conformance.frames import other_control, statistics
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import RECORDS
from ringhil.emulator.conformance.rules.data import settings
from ringhil.emulator.conformance.rules.switch import either
from ringhil.emulator.conformance.transition import SETTLE, Moves, judge_moving
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import AHEAD, IN, OUTWARD
from ringhil.emulator.testbench.stimulus import Action, Fault, Pause, Post, Send, Stimulus
from ringhil.emulator.trace.naming import described
from ringhil.protocol.wire import LINKS

_NAME = "switch.gaps"
_GAP = 40  # cycles: longer than the switch takes to go either way
_EPISODE = 130  # cycles from one gap to the next
_RESTORE = 4
_PERIOD = _EPISODE  # cycles of an allowance: a mute ends in the next gap
# What moves the switch: faults that take the GPU out, or a frame beyond its allowance.
_CAUSES = ("dead", "hang", "switch_stuck_bypass", "mute")


def _judge(moves: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    views = either(stimulus)
    breaches = judge_moving(_NAME, stimulus, observed, Moves(lambda frame: views, cuts=moves))
    breaches += _passed(stimulus, observed)
    for link in LINKS:
        frames = [f for f in observed.arrived[link] if f.channel == "data"]
        late = any(f.ended + SETTLE >= stimulus.cycles for f in frames) or (link, "data") in observed.unfinished
        if not late:
            breaches += given_back(_NAME, observed, link, [f.began for f in frames if f.sof], 0)
    return sorted(breaches, key=lambda b: b.cycle)


def _passed(stimulus: Stimulus, observed: Observed) -> Iterator[Breach]:
    """Data frames on their way round the ring go on once and whole, wherever the GPU is; those that would enter it do,
    or are dropped, but aren't cut."""
    for link in (*IN, "host"):
        goes = (AHEAD[link],) if link in IN else tuple(AHEAD.values())
        for frame in (f for f in observed.arrived[link] if f.channel == "data" and f.sof and f.eof):
            left = [f for out in goes for f in observed.left[out] if f.channel == "data" and _same(f, frame)]
            over = frame.ended + SETTLE < stimulus.cycles
            if len(left) > 1 or not all(f.good for f in left) or (not left and over and link in IN):
                how = "damaged" if len(left) == 1 else f"{len(left)} times"
                text = f"a data frame that came by {link} left {how} ({described(frame.data)})"
                yield Breach(_NAME, frame.ended, text)


def _same(left: RingFrame, came: RingFrame) -> bool:
    return left.data[6:16] == came.data[6:16]


def _out(cause: str, at: int, data: bytes) -> list[Action]:
    """The GPU falls out of the ring. It is muted by the second of two frames for the CPU."""
    if cause == "mute":
        return [Post(at, OUTWARD[0][0], data), Post(at, OUTWARD[0][0], data)]
    return [Fault(at, cause, True)]


def _back(cause: str, at: int) -> list[Action]:
    return [] if cause == "mute" else [Fault(at, cause, False)]


def _episodes(rng: random.Random, place: Place, cause: str, phases: Sequence[int]) -> list[Action]:
    """In a gap behind each of the first flits of a frame the GPU falls out of the ring; in one of the next frame it
    comes back; or both happen in the one gap."""
    values = {"heartbeat": 6, "watchdog": 6, "gpu_restore": _RESTORE}
    if cause == "mute":
        values |= {"heartbeat": 0, "watchdog": 40, "allowance": 1, "allowance_period": _PERIOD}
    actions, at = settings(place, **values), 30
    for number, phase in enumerate(phases):
        both = number % 3 == 2 and cause != "mute"
        data = other_control(rng, card=place.card, home=4, ttl=2)
        for turn in range(1 if both else 2):
            for lane, link in enumerate(IN):
                count = statistics(rng, card=place.card, origin=4, ttl=4, flags=RECORDS, records=rng.randrange(4))
                # The one before has left its traces in the GPU.
                actions += [Send(at - 25 - 3 * lane, link, _before(rng, place))]
                flags = CCW * lane
                actions += [
                    Send(at, link, RingFrame.of(count)),
                    Send(at, link, place.answer(place.card, 4, ttl=4)),
                    Send(at + lane, "host", place.answer(place.card, 4, ttl=4, flags=flags)),
                ]
            # On both lanes, or on one, while the other goes on.
            for link in rng.choice([IN, IN[:1], IN[1:]]):
                actions += [Pause(at + 1 + phase, link, True), Pause(at + 1 + phase + _GAP, link, False)]
            moves = at + phase + rng.randrange(2, 8)
            if both:
                actions += [*_out(cause, moves, data), *_back(cause, moves + 12 + rng.randrange(4))]
            else:
                actions += _back(cause, moves) if turn else _out(cause, moves, data)
            at += _EPISODE
        at += _PERIOD if cause == "mute" else 0
    return actions


def _before(rng: random.Random, place: Place) -> RingFrame:
    """A frame that the GPU puts its record into."""
    return RingFrame.of(statistics(rng, card=place.card, origin=4, ttl=4, flags=RECORDS, records=rng.randrange(3)))


@rule(
    _NAME,
    "a frame in whose gap the GPU comes back passes whole, on either channel; one in which it fails is sent again",
    "R6",
)
def gaps(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for cause in _CAUSES:
            place = Place(rng, 2, 1, 8, {"control": roles("entry")})
            phases = [phase % 8 for phase in range(8 + index % 2)]
            rng.shuffle(phases)
            stimulus = Stimulus.of(_episodes(rng, place, cause, phases), tail=SETTLE + 150, **place.straps)
            yield RuleCase(f"{cause} {index}", stimulus, partial(_judge, 2 * len(phases)))
