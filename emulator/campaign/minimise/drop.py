"""Fewer faults, and fewer expectations."""

from collections.abc import Sequence
from dataclasses import replace

from ringhil.emulator.campaign.minimise.search import Search
from ringhil.emulator.scenario import CrossRef, GpuRef, LinkRef, Scenario, TimelineEvent

Fault = tuple[int, ...]  # places in the timeline: where it begins, and where it is cleared if it is


def drop_events(search: Search) -> None:
    """A fault goes with what clears it; then what clears a fault goes alone."""
    search.thin(faults, without_events)
    search.thin(_clears, without_events)


def drop_expectations(search: Search) -> None:
    """Whole entries, then single checks of those that are left."""
    search.thin(lambda scenario: range(len(scenario.expect)), _without_expectations)
    search.thin(_checks, _without_checks)


def faults(scenario: Scenario) -> list[Fault]:
    """Each fault of the timeline with the event that clears it."""
    found: list[list[int]] = []
    active: dict[tuple[str, GpuRef | LinkRef | CrossRef, bool], list[int]] = {}
    for place, event in enumerate(scenario.timeline):
        what = (event.kind, event.target, event.reverse)
        if event.begins:
            active[what] = [place]
            found.append(active[what])
        else:
            active.pop(what).append(place)
    return [tuple(places) for places in found]


def without_events(scenario: Scenario, gone: Sequence[Fault]) -> Scenario:
    """The scenario without the events at these places of its timeline."""
    places = {place for fault in gone for place in fault}
    left: list[TimelineEvent] = [event for place, event in enumerate(scenario.timeline) if place not in places]
    return replace(scenario, timeline=tuple(left))


def _clears(scenario: Scenario) -> list[Fault]:
    return [(place,) for place, event in enumerate(scenario.timeline) if not event.begins]


def _without_expectations(scenario: Scenario, gone: Sequence[int]) -> Scenario:
    left = tuple(e for place, e in enumerate(scenario.expect) if place not in gone)
    return replace(scenario, expect=left)


def _checks(scenario: Scenario) -> list[tuple[int, int]]:
    return [(e, c) for e, expectation in enumerate(scenario.expect) for c in range(len(expectation.checks))]


def _without_checks(scenario: Scenario, gone: Sequence[tuple[int, int]]) -> Scenario:
    left = []
    for e, expectation in enumerate(scenario.expect):
        checks = tuple(check for c, check in enumerate(expectation.checks) if (e, c) not in gone)
        if checks:
            left.append(replace(expectation, checks=checks))
    return replace(scenario, expect=tuple(left))
