"""Simpler times: earlier, rounder, at equal distances.

A cycle moves alone, or with all that comes after it; so an event may keep its distance to another one, which is
often what matters.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, pairwise

from ringhil.emulator.campaign.minimise.search import Search
from ringhil.emulator.campaign.minimise.size import digits, times
from ringhil.emulator.scenario import Expectation, Scenario

_ROUND = (100_000, 10_000, 1000, 100, 10)


def simpler_times(search: Search) -> None:
    """One cycle after the other, then all distances."""
    for place in range(len(times(search.best))):
        for together in (True, False):
            _earlier(search, place, together)
    cycles = times(search.best)
    gaps = [b - a for a, b in pairwise(cycles)]
    for gap in sorted(set(gaps), key=lambda gap: (digits(gap), gap)):
        evenly = accumulate([gap] * len(gaps), initial=cycles[0])
        if search.take(moved(search.best, dict(zip(cycles, evenly, strict=True)))):
            break


def _earlier(search: Search, place: int, together: bool) -> None:
    """The cycle at `place`, alone or with all that come after it."""
    for cycle in _simpler(search.best, place):
        if search.take(_moved_to(search.best, place, cycle, together)):
            return


def moved(scenario: Scenario, to: Mapping[int, int]) -> Scenario:
    """The scenario with every cycle `c` that it speaks of at `to[c]`, where that is given."""

    def at(cycle: int) -> int:
        return to.get(cycle, cycle)

    def expectation(e: Expectation) -> Expectation:
        return replace(
            e,
            cycle=None if e.cycle is None else at(e.cycle),
            since=at(e.since),
            until=None if e.until is None else at(e.until),
        )

    timeline = sorted((replace(event, at=at(event.at)) for event in scenario.timeline), key=lambda event: event.at)
    return replace(
        scenario,
        timeline=tuple(timeline),
        until=None if scenario.until is None else at(scenario.until),
        expect=tuple(map(expectation, scenario.expect)),
    )


def _moved_to(scenario: Scenario, place: int, cycle: int, together: bool) -> Scenario:
    cycles = times(scenario)
    by = cycles[place] - cycle
    which = cycles[place:] if together else cycles[place : place + 1]
    return moved(scenario, {before: before - by for before in which})


def _simpler(scenario: Scenario, place: int) -> Iterator[int]:
    """Cycles at which the one at `place` could be instead: not before the one that it follows, the earliest first."""
    cycles = times(scenario)
    if place >= len(cycles):
        return
    cycle, before = cycles[place], cycles[place - 1] if place else 0
    found = {before}
    for start in {0, before}:
        for unit in _ROUND:
            found |= {start + unit, start + 2 * unit, start + 5 * unit, cycle - (cycle - start) % unit}
    yield from sorted(c for c in found if before <= c < cycle)
