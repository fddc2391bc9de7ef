"""The switch's patience with a GPU: what begins it anew, and that no failure leaves anything for the next (R6)."""

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from ringhil.emulator.conformance.frames import other_control
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, straps
from ringhil.emulator.conformance.rules.switch import AT_ONCE, BACK, OUT_OF_RING, either
from ringhil.emulator.conformance.timeline import Span, bit, faulty, setting, shown
from ringhil.emulator.conformance.transition import Moves, judge_moving
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN
from ringhil.emulator.testbench.stimulus import Action, Fault, Poke, Send, Stimulus

EARLY = 4  # cycles by which a time may seem shorter: a question, or a flit, may be under way when it begins
LATE = AT_ONCE + BACK
_PASSED = 40  # cycles in which the short frames that are played here have passed
_LOADED = 110  # flits that may wait in a lane


def _short(rng: random.Random, place: dict[str, int]) -> RingFrame:
    """A frame for another GPU that leaves as long as it came, so that a lane full of them stays as full."""
    home = (place["node"] + 1) % place["size"]
    return RingFrame.of(other_control(rng, card=place["card"], home=home, ttl=2))


def _unbroken(rng: random.Random, place: dict[str, int], link: str, begin: int, end: int) -> Iterator[Action]:
    """Frames without a gap between them."""
    while begin < end:
        frame = _short(rng, place)
        yield Send(begin, link, frame)
        begin += len(frame.data) // 8


def _in_hand(observed: Observed, span: Span) -> int | None:
    """A cycle from which on a GPU that hangs has a flit to act on; None where that isn't certain."""
    if any(bit(observed.status_at(cycle), name) for cycle in (span.begin - 1, span.begin) for name in OUT_OF_RING):
        return None
    frames = (f for link in IN for f in observed.arrived[link] if f.channel == "control" and f.sof and f.ttl)
    return min((max(f.began, span.begin) for f in frames if f.ended >= span.begin), default=None)


def _trips(rule_name: str, stimulus: Stimulus, observed: Observed) -> Iterator[Breach]:
    """The GPU is tripped when it has stood still for long enough, not earlier, and until it goes on."""
    watchdog, heartbeat = setting(stimulus, "watchdog"), setting(stimulus, "heartbeat")
    hangs, tripped = faulty(observed, "hang"), shown(observed, "tripped")
    for trip in tripped:
        hang = next((s for s in hangs if s.begin <= trip.begin <= s.end + AT_ONCE), None)
        if hang is None or trip.begin < hang.begin + watchdog - EARLY:
            stood = f"{trip.begin - hang.begin} cycles after the GPU began to hang" if hang else "and the GPU works"
            yield Breach(rule_name, trip.begin, f"status says tripped, {stood}; watchdog is {watchdog}")
        elif trip.end < min(hang.end, stimulus.cycles):
            yield Breach(rule_name, trip.end, f"no longer tripped {trip.end - hang.begin} cycles into the hang")
        elif hang.end + LATE < min(trip.end, stimulus.cycles):
            yield Breach(rule_name, hang.end + LATE, f"still tripped {LATE} cycles after the hang was over")
    dead = faulty(observed, "dead")
    for hang in hangs:
        since = _in_hand(observed, hang)
        limits = [since + watchdog] if since is not None else []
        limits += [hang.begin + heartbeat + watchdog] if heartbeat else []
        if not limits or any(d.begin <= hang.end and hang.begin <= d.end + AT_ONCE for d in dead):
            continue
        late = min(limits) + LATE
        if late < min(hang.end, stimulus.cycles) and not any(hang.begin <= t.begin <= late for t in tripped):
            text = f"not tripped {late - hang.begin} cycles after the GPU began to hang: heartbeat {heartbeat}, "
            yield Breach(rule_name, late, f"{text}watchdog {watchdog}")
    if observed.registers["trips"] != len(tripped):
        text = f"register trips is {observed.registers['trips']}, status said tripped {len(tripped)} times"
        yield Breach(rule_name, stimulus.cycles, text)


def _unharmed(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """No frame is lost, whatever the switch does; all are counted in while it does nothing."""
    working, passing = either(stimulus)
    outs = len(shown(observed, "tripped")) + len(faulty(observed, "dead"))
    views = (working, passing) if outs else (working,)
    breaches = judge_moving(rule_name, stimulus, observed, Moves(lambda frame: views, cuts=outs))
    if observed.registers["overflowed"]:
        text = f"register overflowed is {observed.registers['overflowed']}: nothing that came had to be lost"
        breaches.append(Breach(rule_name, stimulus.cycles, text))
    return breaches


def _patient(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    breaches = [*_trips(rule_name, stimulus, observed), *_unharmed(rule_name, stimulus, observed)]
    return sorted(breaches, key=lambda b: b.cycle)


@rule("switch.patience", "each flit that the GPU acts on begins the watchdog's time anew, and nothing else does", "R6")
def patience(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(_patient, "switch.patience")
    for index in range(effort):
        for lanes in (IN[:1], IN[1:], IN):
            place = straps(rng)
            watchdog = rng.randrange(14, 22)
            actions: list[Action] = [*QUIET, Poke(5, "watchdog", watchdog), Poke(6, "gpu_restore", 4)]
            at, stood = 30, 0
            # Hangs that are nearly long enough, with hardly anything done between them; the lane is never idle.
            while stood + watchdog < _LOADED:
                at += rng.choice([1, 1, 2, 3, watchdog + 5])
                lasts = watchdog - EARLY - 1
                actions += [Fault(at, "hang", True), Fault(at + lasts, "hang", False)]
                at, stood = at + lasts, stood + lasts
            for link in lanes:
                actions += _unbroken(rng, place, link, 20, at)
            # Then one that is long enough, and more comes all the time.
            at += _LOADED
            for link in lanes:
                actions += _unbroken(rng, place, link, at, at + 2 * watchdog)
            fails = at + rng.randrange(4, 10)
            actions += [Fault(fails, "hang", True), Fault(fails + watchdog + 60, "hang", False)]
            yield RuleCase(f"{' and '.join(lanes)} {index}", Stimulus.of(actions, tail=450, **place), judge)


def _unwell(observed: Observed) -> list[Span]:
    """Cycles in which the GPU is out of the ring: it is dead, or tripped."""
    merged: list[Span] = []
    for span in sorted([*faulty(observed, "dead"), *shown(observed, "tripped")], key=lambda s: s.begin):
        if merged and span.begin <= merged[-1].end:
            merged[-1] = Span(merged[-1].begin, max(span.end, merged[-1].end))
        else:
            merged.append(span)
    return merged


def _returns(rule_name: str, stimulus: Stimulus, observed: Observed) -> Iterator[Breach]:
    """Out of the ring at once, and back in it gpu_restore cycles after the GPU is well, whichever failure it was."""
    restore, unwell = setting(stimulus, "gpu_restore"), _unwell(observed)
    outs = [shown(observed, name) for name in OUT_OF_RING]
    for span, later in pairwise([*unwell, Span(stimulus.cycles, stimulus.cycles)]):
        begin, end = span.begin + AT_ONCE, min(span.end + restore - EARLY, later.begin)
        for name, out in zip(OUT_OF_RING, outs, strict=True):
            if begin < end and not any(s.begin <= begin and end <= s.end for s in out):
                text = (
                    f"{name} is off between cycles {begin} and {end}: the GPU wasn't well for gpu_restore ({restore})"
                )
                yield Breach(rule_name, begin, text)
            back = span.end + restore + LATE + _PASSED
            if back < later.begin and any(back in s for s in out):
                yield Breach(rule_name, back, f"{name} is on {back - span.end} cycles after the GPU was well again")


def _again(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    breaches = [*_patient(rule_name, stimulus, observed), *_returns(rule_name, stimulus, observed)]
    return sorted(breaches, key=lambda b: b.cycle)


_KINDS = ("hang beside frames", "hang alone", "dead")


def _failures(rng: random.Random, place: dict[str, int], times: dict[str, int], kinds: Sequence[str]) -> list[Action]:
    """One failure after the other: some when the GPU is back for long, others while it isn't yet."""
    heartbeat, watchdog, restore = times["heartbeat"], times["watchdog"], times["gpu_restore"]
    actions: list[Action] = [Poke(i, name, value) for i, (name, value) in enumerate(times.items())]
    actions.append(Poke(4, "allowance", 10_000))
    at = 40 + heartbeat
    for kind in kinds:
        lasts = rng.randrange(5, 30) if kind == "dead" else heartbeat + watchdog + LATE + rng.randrange(4, 30)
        if kind != "hang alone":
            for link in rng.sample(IN, rng.randrange(1, 3)):
                actions += _unbroken(rng, place, link, at - 8, at + 12)
        fault = "dead" if kind == "dead" else "hang"
        actions += [Fault(at, fault, True), Fault(at + lasts, fault, False)]
        soon = rng.random() < 0.4
        at += lasts + (rng.randrange(LATE, restore) if soon else restore + LATE + 2 * _PASSED + rng.randrange(30))
    return actions


@rule(
    "switch.again",
    "each failure is found, and the GPU let in again, as the first was: also one that comes while it is out",
    "R6",
)
def again(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(3 * effort):
        place = straps(rng)
        # The liveness check asks before the watchdog's time is up, so that both are under way at once.
        times = {"heartbeat": rng.randrange(8, 30), "watchdog": rng.randrange(20, 40)}
        times["gpu_restore"] = (40, 140)[index % 2]
        kinds = [kind for kind in _KINDS for _ in range(3)]
        rng.shuffle(kinds)
        stimulus = Stimulus.of(_failures(rng, place, times, kinds), tail=450, **place)
        yield RuleCase(f"failures {index}", stimulus, partial(_again, "switch.again"))
