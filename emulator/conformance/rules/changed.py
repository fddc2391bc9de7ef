"""Settings that are times, written while such a time runs and while none does (R6)."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import straps
from ringhil.emulator.conformance.rules.link import DOWN
from ringhil.emulator.conformance.rules.patience import EARLY, LATE
from ringhil.emulator.conformance.rules.switch import foreign
from ringhil.emulator.conformance.timeline import NEVER, Span, faulty, shown, silent, written
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Poke, Send, Stimulus
from ringhil.protocol.wire import LINKS

NAME = "timers.changed"
_NEAR = 4  # cycles around the beginning of a time in which a write may still count for it, or not count yet
_SHORT, _LONG = (20, 30), (70, 110)
_NONE = Span(NEVER, NEVER)


@dataclass(frozen=True)
class _Time:
    """What begins in which cycle, and ends when a bit of the status changes, `on`, or before cycle `until`."""

    what: str
    begin: int
    until: int
    setting: str
    name: str
    on: bool


def _bounds(begin: int, values: list[tuple[int, int]]) -> tuple[int, int]:
    """When a time that began in a cycle is over, at the earliest and at the latest: as it would have been, or by the
    new value, counted from its beginning or from the write."""
    held = [value for cycle, value in values if cycle < begin - _NEAR]
    early = late = begin + held[-1]
    for cycle, value in values:
        if begin - _NEAR <= cycle < late + LATE:
            early, late = min(early, max(begin + value, cycle)), max(late, cycle + value, begin + value)
    return early, late


def _times(observed: Observed) -> Iterator[_Time]:
    for name, setting, shows, on in (
        ("dead", "gpu_restore", "restoring", False),
        ("hang", "watchdog", "tripped", True),
        ("switch_stuck_bypass", "watchdog", "stuck", True),
    ):
        spans = faulty(observed, name)
        for span, later in pairwise([*spans, _NONE]):
            begin, until = (span.begin, span.end) if on else (span.end, later.begin)
            yield _Time(f"{name} {'begins' if on else 'ends'}", begin, until, setting, shows, on)
    for link in LINKS:
        spans = silent(observed, link)
        for span, later in pairwise([*spans, _NONE]):
            yield _Time(f"the carrier of {link} is back", span.end, later.begin, "link_restore", DOWN[link], False)


def _judge(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    breaches = []
    for time in _times(observed):
        early, late = _bounds(time.begin, written(observed, time.setting))
        spans = shown(observed, time.name)
        ends = [s.begin if time.on else s.end for s in spans if (s.begin if time.on else s.end) > time.begin]
        over = min(ends, default=NEVER)
        until = min(time.until, stimulus.cycles)
        if over < until and over < early - EARLY:
            text = f"{time.what} in cycle {time.begin}: {time.name} is {int(time.on)} after {over - time.begin} cycles,"
            breaches.append(Breach(NAME, over, f"{text} at least {early - time.begin} are set ({time.setting})"))
        if late + LATE < min(over, until):
            text = (
                f"{time.what} in cycle {time.begin}: {time.name} isn't {int(time.on)} after {late + LATE - time.begin}"
            )
            breaches.append(Breach(NAME, late + LATE, f"{text} cycles, {late - time.begin} are set ({time.setting})"))
    return sorted(breaches, key=lambda b: b.cycle)


def _event(rng: random.Random, place: dict[str, int], kind: str, at: int, lasts: int) -> list[Action]:
    """What begins a time at about this cycle, and what ends it after `lasts`, if it doesn't end by itself."""
    if kind == "dead":
        return [Fault(at - 20, "dead", True), Fault(at, "dead", False)]
    if kind in LINKS:
        return [Carrier(at - 20, kind, False), Carrier(at, kind, True)]
    frames = [Send(at - 3, link, foreign(rng, place, 9)) for link in IN] if kind == "hang" else []
    return [*frames, Fault(at, kind, True), Fault(at + lasts, kind, False)]


@rule(
    NAME,
    "a time that begins after its setting was written lasts as long; one that was running ends by the old or the new",
    "R6",
)
def changed(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    kinds = {"dead": "gpu_restore", "hang": "watchdog", "switch_stuck_bypass": "watchdog"}
    kinds |= dict.fromkeys(LINKS, "link_restore")
    for kind, setting in kinds.items():
        for index in range(2 * effort):
            place = straps(rng)
            values = [rng.randrange(*bounds) for bounds in (_SHORT, _LONG) * 3]
            values = values[index % 2 :]
            actions: list[Action] = [Poke(2, "heartbeat", 0), Poke(4, setting, values[0])]
            if setting == "watchdog":
                actions.append(Poke(6, "gpu_restore", 4))
            at = 60
            for before, during in pairwise(values):
                # Written while it waits to begin, just before; or while it runs, and the next one is all of the new.
                write = at + rng.choice([-9, -30, rng.randrange(6, 16)])
                actions += [Poke(write, setting, during), *_event(rng, place, kind, at, 2 * max(before, during) + 40)]
                at += 2 * max(before, during) + 160
            yield RuleCase(f"{kind} {index}", Stimulus.of(actions, tail=30, **place), _judge)
