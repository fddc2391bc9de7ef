"""Buffers that are nearly full, or too small: long frames while the GPU fails, more traffic than a lane can take."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from ringhil.emulator.conformance.data_frames import CCW, TO_HOST, Place, roles
from ringhil.emulator.conformance.frames import statistics
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, RECORDS, straps
from ringhil.emulator.conformance.rules.data import START, length, played, settings
from ringhil.emulator.conformance.rules.switch import either
from ringhil.emulator.conformance.timeline import faulty
from ringhil.emulator.conformance.transition import KEPT, Moves, judge_moving
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN, OUT
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.stimulus import Action, Fault, Hold, Poke, Send, Stimulus
from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Report

BUFFER = 2 * KEPT  # flits
DRAINED = 2 * BUFFER  # cycles after which nothing is left of what had come before
EMPTY = BUFFER + 20  # the same, where only a few short frames came after a long one
FAILURES = ("dead", "hang")
_MANY = (1 << 11) + 4 * BUFFER // 5  # frames of 5 flits; those beside 2^11 may find room in both lanes


def _of_length(rng: random.Random, place: dict[str, int], flits: int) -> RingFrame:
    """A good frame of this number of flits for another GPU: statistics, or a report where those have no such length."""
    home = (place["node"] + 1) % place["size"]
    if flits % 2:
        given = {"card": place["card"], "origin": home, "ttl": place["size"], "size": place["size"]}
        return RingFrame.of(statistics(rng, flags=RECORDS, records=(flits - 5) // 2, **given))
    head = bytes([Report.KIND, place["card"], 0, 0, *place["size"].to_bytes(2, "big"), *home.to_bytes(2, "big")])
    return RingFrame.of(codec.seal(head + rng.randbytes(wire.FLIT_BYTES * (flits - 2))))


# ------------------------------------------------------------------------------------------------------ long frames


def _views(stimulus: Stimulus, observed: Observed) -> tuple[NodeView, ...]:
    working, passing = either(stimulus)
    return (working, passing) if faulty(observed, *FAILURES) else (working,)


def _survives(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    views, spans = _views(stimulus, observed), faulty(observed, *FAILURES)
    breaches = judge_moving(rule_name, stimulus, observed, Moves(lambda frame: views, cuts=len(spans)))
    if observed.registers["overflowed"]:
        text = f"register overflowed is {observed.registers['overflowed']}: all that came had room"
        breaches.append(Breach(rule_name, stimulus.cycles, text))
    return breaches


@rule("switch.long", "what fits half the buffer survives a failure; longer frames may be cut, later ones not", "R6")
def long(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(_survives, "switch.long")
    for fault in FAILURES:
        for index in range(2 * effort if fault == "hang" else effort):
            place = straps(rng)
            watchdog = rng.choice([8, 24, 40])
            actions: list[Action] = [*QUIET, Poke(5, "watchdog", watchdog), Poke(6, "gpu_restore", 4)]
            at = 20
            for first in (99, 63, 137, 64, 65, 63):
                # A frame after others may find less than half the buffer, so only the first of a lane is long.
                fails = at + rng.choice([rng.randrange(1, first), first - 1, first + rng.randrange(2, 14)])
                for lane in (0, 1):
                    since = at + rng.choice([0, 0, 1, 7])
                    for flits in (first + 2 * lane * (first > KEPT), 7, 9, 8 + lane):
                        actions.append(Send(since, IN[lane], _of_length(rng, place, flits)))
                        since += flits + rng.choice([0, 0, 1, 3])
                lasts = rng.choice([3, watchdog + 10, 90])
                actions += [Fault(fails, fault, True), Fault(fails + lasts, fault, False)]
                at = max(fails + lasts, at + first + 50) + EMPTY
            yield RuleCase(f"{fault} {index}", Stimulus.of(actions, tail=500, **place), judge)


@rule("switch.backlog", "however many frames wait, a failure loses no frame that fits half the buffer", "R6")
def backlog(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(_survives, "switch.backlog")
    for fault in FAILURES:
        for index in range(2 * effort):
            place = straps(rng)
            actions: list[Action] = [*QUIET, Poke(5, "watchdog", 250), Poke(6, "gpu_restore", 4)]
            at = 20
            for _ in range(6):
                stood = rng.randrange(70, 115)  # cycles for which what comes has to wait: less than trips the switch
                actions += [Fault(at + 4, "hang", True), Fault(at + 4 + stood, "hang", False)]
                for lane in (0, 1):
                    since, room = at, BUFFER - 8
                    while room >= 5:
                        flits = rng.choice([f for f in (5, 8, 13, 31, KEPT) if f <= room])
                        actions.append(Send(since, IN[lane], _of_length(rng, place, flits)))
                        since, room = since + flits, room - flits
                fails = at + 4 + stood + rng.randrange(1, 100)
                lasts = rng.choice([3, 40, 400])
                actions += [Fault(fails, fault, True), Fault(fails + lasts, fault, False)]
                at = fails + lasts + DRAINED
            yield RuleCase(f"{fault} {index}", Stimulus.of(actions, tail=500, **place), judge)


# ------------------------------------------------------------------------------------------------------- too much


def _loses(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """What is lost is counted, what is cut is marked, and what comes when the lanes have been idle passes."""
    views, spans = _views(stimulus, observed), faulty(observed, *FAILURES)
    overflowed = observed.registers["overflowed"]
    good = {link: [f for f in frames if f.good] for link, frames in observed.left.items()}
    breaches = judge_moving(rule_name, stimulus, replace(observed, left=good), Moves(lambda frame: views, lossy=True))
    breaches += _remainders(rule_name, 2 * len(spans) + overflowed, observed)
    missing = list(_missing(observed))
    # A failure that trips the switch may cut a frame of each lane; one that is over before cuts none.
    cut = 2 * len(spans) if observed.registers["trips"] else 0
    if not len(missing) - cut <= overflowed <= len(missing):
        text = f"register overflowed is {overflowed}, {len(missing)} frames were lost in {len(spans)} failures"
        breaches.append(Breach(rule_name, stimulus.cycles, text))
    for link, frame in missing:
        before = [f.ended for f in observed.arrived[link] if f.began < frame.began]
        idle = all(ended + DRAINED < frame.began for ended in before)
        if idle and all(s.end + DRAINED < frame.began or s.begin > frame.ended + DRAINED for s in spans):
            breaches.append(Breach(rule_name, frame.ended, f"{link}: a {frame.kind} frame was lost by an idle lane"))
    return sorted(breaches, key=lambda b: b.cycle)


def _remainders(rule_name: str, most: int, observed: Observed) -> Iterator[Breach]:
    """The beginning of a frame that is cut may leave, and then what ends it, with the mark."""
    for lane, link in enumerate(IN):
        began = {f.data[6:16] for f in observed.arrived[link]}
        for frame in (f for f in observed.left[OUT[lane]] if not f.good):
            most -= 1
            if not (frame.sof and frame.eof and frame.err):
                yield Breach(rule_name, frame.ended, f"{OUT[lane]}: a frame left damaged and without the mark")
            elif len(frame.data) > 2 * wire.FLIT_BYTES and frame.data[6:16] not in began:
                yield Breach(rule_name, frame.ended, f"{OUT[lane]}: a marked frame begins as none that was there")
            elif most < 0:
                yield Breach(rule_name, frame.ended, f"{OUT[lane]}: more marked frames left than were cut")


def _missing(observed: Observed) -> Iterator[tuple[str, RingFrame]]:
    for lane, link in enumerate(IN):
        left = {f.data[6:16] for f in observed.left[OUT[lane]] if f.good}
        yield from ((link, f) for f in observed.arrived[link] if f.good and f.data[6:16] not in left)


@rule(
    "switch.flooded",
    "a frame that finds no room on its lane is lost or marked, and counted; an idle lane loses no frame",
)
def flooded(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(_loses, "switch.flooded")
    for fault in ("hang", ""):
        for lengths in ((5, 7), (5, 8, 31, 64), (64, 97, 131)):
            for index in range(effort):
                place = straps(rng)
                watchdog = rng.choice([100, 150, 230])
                actions: list[Action] = [*QUIET, Poke(5, "watchdog", watchdog), Poke(6, "gpu_restore", 4)]
                at = 20
                for lane in (0, 1):
                    since = at + rng.choice([0, 3])
                    while since < at + 450:
                        flits = rng.choice(lengths)
                        actions.append(Send(since, IN[lane], _of_length(rng, place, flits)))
                        since += flits + rng.choice([0, 0, 0, 1])
                if fault:
                    begin = at + rng.randrange(20, 200)
                    actions += [Fault(begin, fault, True), Fault(begin + rng.choice([60, 260, 400]), fault, False)]
                # A longest frame may still be coming, and all have had their records put in.
                at += 450 + 140 + DRAINED + 80
                for lane in (0, 1):
                    actions += [Send(at, IN[lane], _of_length(rng, place, 64))]
                name = f"{fault or 'working'}, {lengths[-1]} flits {index}"
                yield RuleCase(name, Stimulus.of(actions, tail=250, **place), judge)
    # More than eleven bits count.
    place = straps(rng)
    actions = [*QUIET, Poke(5, "watchdog", 1 << 16), Fault(10, "hang", True)]
    for lane in (0, 1):
        actions += [Send(40 + 5 * index, IN[lane], _of_length(rng, place, 5)) for index in range(_MANY // 2)]
    actions.append(Fault(40 + 5 * _MANY // 2 + 20, "hang", False))
    yield RuleCase("many", Stimulus.of(actions, tail=DRAINED + 250, **place), judge)


# ------------------------------------------------------------------------------------------------------------ data


def _bound(place: Place, goes: str, flits: int) -> RingFrame:
    """A frame of 5 to 37 flits that leaves by `goes`."""
    to, flags = {"host": ((2, 1), TO_HOST), "boundary": ((5, 3), 0)}.get(goes, ((2, 4), CCW if goes == "p1" else 0))
    return place.work(*to, ttl=4, flags=flags, flits=flits - 5)


@rule("data.full", "buffers that are filled to the last credit again and again lose nothing and mix nothing up", "R5")
def full(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    ways: Sequence[Sequence[tuple[str, str]]] = (
        (("p1", "p2"), ("p2", "p1")),
        (("host", "p2"), ("boundary", "p1")),
        (("p1", "boundary"), ("p2", "host")),
    )
    for index in range(effort):
        for pairs in ways:
            place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary"), "crossings": 1 << 5})
            actions, sent = settings(place), 0
            for came, goes in pairs:
                lengths = [37, 37, 37, *rng.sample(range(6, 38), 32)]
                frames = [_bound(place, goes, flits) for flits in lengths]
                sent = max(sent, length(frames))
                actions += [Send(START, came, frame) for frame in frames]
                for turn in range(3):
                    # Long enough for both ends to run full, then for less than what has come to leave.
                    actions += [Hold(10 + 330 * turn, goes, -1), Hold(260 + 330 * turn, goes, rng.choice([0, 0, 9]))]
            name = " and ".join(f"{came} to {goes}" for came, goes in pairs)
            yield played("data.full", f"{name} {index}", actions, place, sent + 1000)
