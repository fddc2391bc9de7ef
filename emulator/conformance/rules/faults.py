"""Faults of a GPU, each as the documents describe it: a check of detection is worth nothing if the fault isn't real."""

import random
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product

from ringhil.emulator.conformance.frames import control_frame, other_control, statistics
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, RECORDS, spread, straps
from ringhil.emulator.conformance.rules.switch import AT_ONCE, BACK, LONGEST, either, foreign
from ringhil.emulator.conformance.steady import judge_control
from ringhil.emulator.conformance.timeline import bit, faulty, readings, setting
from ringhil.emulator.conformance.transition import Moves, judge_moving
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN, LIES, OUT, OUTWARD
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.stimulus import Action, Fault, Peek, Poke, Post, Send, Stimulus
from ringhil.protocol import wire

KEEPALIVE = wire.Kind.KEEPALIVE.code
STATISTICS = wire.Kind.STATISTICS.code


def _as_told(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """What the reference model says, with the faults that are set before the first frame."""
    faults = frozenset(a.name for a in stimulus.actions if isinstance(a, Fault) and a.on)
    breaches = judge_control(rule_name, stimulus, observed, NodeView(faults=faults))
    if bit(observed.registers["status"], "degraded") != ("slow" in faults):
        breaches.append(Breach(rule_name, stimulus.cycles, "status bit degraded must be set by the fault slow, alone"))
    return breaches


def _lying(fault: str, rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(_as_told, f"faults.{fault}")
    for index in range((4 if fault == "duplicate_id" else 2) * effort):
        place = straps(rng)
        if fault == "duplicate_id" and index % 4 < 2:
            place |= {"node": index % 4, "size": 1024}  # of its predecessor's number each bit is 1, then 0
        frames = [control_frame(rng, damage=0.1, **place) for _ in range(8)]
        given = {"card": place["card"], "ttl": place["size"]}
        others = [g for g in range(min(place["size"], 8)) if g != place["node"]]
        for records in (0, 1, 3):
            flags = RECORDS if records else 0
            frames.append(
                RingFrame.of(statistics(rng, origin=rng.choice(others), flags=flags, records=records, **given))
            )
        before = (place["node"] - 1) % place["size"]
        frames += [RingFrame.of(other_control(rng, home=home, **given)) for home in (before, place["node"], before)]
        posts = [Post(30 + 200 * i, i % 2, other_control(rng, home=before, **given)) for i in range(3)]
        actions = [*QUIET, Fault(6, fault, True), *spread(frames, (0, 1) * 7), *posts]
        yield RuleCase(f"{fault} {index}", Stimulus.of(actions, tail=300, **place), judge)


for _fault, _demand in LIES.items():
    rule(f"faults.{_fault}", f"{_fault}: {_demand}")(partial(_lying, _fault))


# ----------------------------------------------------------------------------------------------------- keepalives


def _keepalives(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Keepalives written while the fault is on are gone, all else leaves that has an end."""
    name = "faults.keepalive_loss"
    on = bool(faulty(observed, "keepalive_loss"))
    gone = [a for a in stimulus.actions if isinstance(a, Post) and (not a.finished or (on and a.data[0] == KEEPALIVE))]
    kept = [a for a in stimulus.actions if a not in gone]
    breaches = judge_control(name, stimulus.with_actions(kept), observed)
    for port, link in OUTWARD:
        wanted = [a.data[6:16] for a in kept if isinstance(a, Post) and a.port == port]
        found = [frame.data[6:16] for frame in observed.left[link]]
        if found != wanted:
            text = f"{link}: {len(found)} frames left, must be {len(wanted)}"
            other = next((i for i, (f, w) in enumerate(zip(found, wanted, strict=False)) if f != w), None)
            text += "" if other is None else f"; number {other} is {observed.left[link][other].title}"
            breaches.append(Breach(name, stimulus.cycles, text))
    return breaches


@rule("faults.keepalive_loss", "keepalive_loss: keepalives of the firmware are swallowed in the mailbox, nothing else")
def keepalive_loss(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        place = straps(rng)
        actions: list[Action] = [*QUIET, Fault(6, "keepalive_loss", True)]
        given = {"card": place["card"], "home": (place["node"] + 1) % place["size"], "ttl": 2}
        actions += [Post(20 + 25 * i, rng.randrange(4), other_control(rng, **given)) for i in range(16)]
        # One that has no end is over when the next one begins, whatever becomes of that one.
        for i in range(4):
            half = statistics(rng, card=place["card"], origin=place["node"], ttl=2, count=1, size=place["size"])
            lost = other_control(rng, **given)
            while lost[0] != KEEPALIVE:
                lost = other_control(rng, **given)
            actions += [Post(430 + 60 * i, i, half[:8], finished=False), Post(440 + 60 * i, i, lost)]
        # Those of others pass.
        actions += [Send(25 + 60 * i, IN[i % 2], foreign(rng, place)) for i in range(6)]
        yield RuleCase(f"keepalives {index}", Stimulus.of(actions, **place), _keepalives)


# --------------------------------------------------------------------------------------------------------- babble


def own_frames(observed: Observed) -> list[RingFrame]:
    """Good frames that left by a ring port and had not arrived by the other one, in order."""
    came = {(lane, f.data[:2] + f.data[6:16]) for lane in (0, 1) for f in observed.arrived[IN[lane]]}
    left = (
        f
        for lane in (0, 1)
        for f in observed.left[OUT[lane]]
        if f.good and (lane, f.data[:2] + f.data[6:16]) not in came
    )
    return sorted(left, key=lambda f: f.began)


def _babbling(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    name = "faults.babble"
    allowance, period = setting(stimulus, "allowance"), setting(stimulus, "allowance_period")
    restore = setting(stimulus, "gpu_restore")
    spans = faulty(observed, "babble")
    working, passing = either(stimulus)
    quiet = 2 * period + restore + BACK + LONGEST

    def works(begin: int, end: int) -> bool:
        """Nothing that the babbling GPU did is left over."""
        return all(end + LONGEST < s.begin or s.end + quiet < begin for s in spans)

    def views(frame: RingFrame) -> Sequence[NodeView]:
        return (working,) if works(frame.began, frame.ended) else (working, passing)

    # Frames of its own are judged here, not frame by frame.
    mine = own_frames(observed)
    ids = {id(frame) for frame in mine}
    rest = Observed(**{field: getattr(observed, field) for field in ("arrived", "mail", "unfinished", "peeks")})
    rest.left = {link: [f for f in frames if id(f) not in ids] for link, frames in observed.left.items()}
    breaches = judge_moving(name, stimulus, rest, Moves(views, cuts=observed.registers["mutes"]))
    for i, frame in enumerate(mine):
        if not spans or frame.began < spans[0].begin:
            breaches.append(Breach(name, frame.ended, "a frame of the GPU's own that its firmware has not sent"))
        elif frame.data[0] != STATISTICS or frame.data[6:8] != stimulus.node.to_bytes(2, "big"):
            breaches.append(Breach(name, frame.ended, f"it babbles what is no census of its own ({frame.title})"))
        if i >= allowance and frame.began < mine[i - allowance].began + period - LONGEST:
            text = f"{allowance + 1} frames of its own left in {frame.began - mine[i - allowance].began} cycles"
            breaches.append(Breach(name, frame.ended, f"{text}, the allowance is {allowance} in {period}"))
    for cycle, value in readings(observed, "status"):
        # Frames as short as they may be come one after the other.
        soon = 20 * (allowance + 1) + AT_ONCE
        if any(s.begin + soon < cycle < s.end for s in spans) and soon < period and not bit(value, "muted"):
            breaches.append(Breach(name, cycle, f"status 0x{value:03X}: a babbling GPU is not muted"))
        if bit(value, "muted") and works(cycle, cycle):
            breaches.append(Breach(name, cycle, f"status 0x{value:03X}: muted, and the GPU is silent"))
    mutes = observed.registers["mutes"]
    few, many = sum(min(s.end, stimulus.cycles) - s.begin > 20 * (allowance + 1) for s in spans), len(spans)
    if 20 * (allowance + 1) < period and not few <= mutes <= many:
        text = f"register mutes is {mutes}, the GPU babbled {many} times"
        breaches.append(Breach(name, stimulus.cycles, text))
    return breaches


@rule("faults.babble", "a babbling GPU is muted within its allowance, and no other GPU loses a frame", "R6")
def babble(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index, allowance in product(range(effort), (0, 3, 16)):
        place = straps(rng)
        period = 25 * (allowance + 1) + rng.randrange(100, 300)
        actions: list[Action] = [QUIET[0], Poke(3, "allowance", allowance), Poke(4, "allowance_period", period)]
        begin, length = 100 + rng.randrange(20), 2 * period + rng.randrange(200)
        actions += [Fault(begin, "babble", True), Fault(begin + length, "babble", False)]
        end = begin + length + 2 * period + 500
        at = 20
        while at < end:
            frame = foreign(rng, place)
            if rng.random() < 0.1:
                frame = RingFrame.of(other_control(rng, card=place["card"], home=place["node"], ttl=2))
            actions.append(Send(at, rng.choice(IN), frame))
            at += rng.randrange(20, 50)
        actions += [Peek(at, "status") for at in (begin + length - 2, begin + length // 2 + 100, end)]
        yield RuleCase(f"{allowance} in {period} {index}", Stimulus.of(actions, tail=500, **place), _babbling)
