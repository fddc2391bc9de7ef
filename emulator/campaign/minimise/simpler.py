"""Simpler work, settings and parameters: none, less, or the default."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from ringhil.emulator.campaign.minimise.search import Search
from ringhil.emulator.campaign.minimise.size import changed_settings
from ringhil.emulator.scenario import (
    PARAMETERS,
    Card,
    Check,
    Scenario,
    Settings,
    TimelineEvent,
    WorkIs,
    Workload,
)

_UNITS = tuple(digit * 10**zeros for zeros in range(9) for digit in (1, 2, 5))
_BYTES = (8, 64, 256, 1024, 4096)


def simpler_work(search: Search) -> None:
    """None; no crossing; the fewest units and the smallest of round numbers that still fail."""
    search.take(_with_work(search.best, None))
    work = search.best.workload
    if work is None:
        return
    search.take(_with_work(search.best, replace(work, across=0)))
    for units in _UNITS:
        now = search.best.workload
        assert now is not None
        if now.units is not None and units >= now.units:
            break
        if search.take(_with_work(search.best, replace(now, units=units, data=None))):
            break
    for size in _BYTES:
        now = search.best.workload
        assert now is not None
        if size >= now.size or search.take(_with_work(search.best, replace(now, size=size))):
            break


def defaults(search: Search) -> None:
    """Settings, types and weights, parameters, the end of the run and the seed: what the file needn't say."""
    for candidate in _settings(search.best):
        if search.take(candidate):
            break
    for name in changed_settings(search.best.server.settings):
        search.take(_with_default(search.best, [name]))
    search.take(_with_cards(search.best, [_plain(card) for card in search.best.server.cards]))
    for place in range(len(search.best.timeline)):
        for event in _without_parameters(search.best.timeline[place]):
            timeline = (*search.best.timeline[:place], event, *search.best.timeline[place + 1 :])
            search.take(replace(search.best, timeline=timeline))
    search.take(replace(search.best, until=None))
    search.take(replace(search.best, seed=1))


def _settings(scenario: Scenario) -> Iterator[Scenario]:
    """All of them at once, then those of keepalives, for they depend on one another."""
    changed = changed_settings(scenario.server.settings)
    yield _with_default(scenario, changed)
    yield _with_default(scenario, [name for name in changed if name.startswith("keepalive")])


def _with_default(scenario: Scenario, names: Sequence[str]) -> Scenario:
    defaults, now = asdict(Settings()), asdict(scenario.server.settings)
    settings = Settings(**(now | {name: defaults[name] for name in names}))
    return replace(scenario, server=replace(scenario.server, settings=settings))


def _plain(card: Card) -> Card:
    return replace(card, types=("generic",) * card.gpus, weights=(1,) * card.gpus)


def _without_parameters(event: TimelineEvent) -> Iterator[TimelineEvent]:
    if not event.begins:
        return
    yield replace(event, count=None)
    name = event.parameter
    if name is not None:
        yield replace(event, value=PARAMETERS[name].default)


def _with_cards(scenario: Scenario, cards: list[Card]) -> Scenario:
    return replace(scenario, server=replace(scenario.server, cards=tuple(cards)))


def _with_work(scenario: Scenario, work: Workload | None) -> Scenario:
    """An expectation that speaks of all units goes on speaking of all of them."""
    before = 0 if scenario.workload is None else scenario.workload.units
    units = 0 if work is None else work.units or 0

    def less(check: Check) -> Check:
        if not isinstance(check, WorkIs):
            return check
        completed = units if check.completed == before else check.completed
        return replace(check, completed=None if completed is None else min(completed, units))

    expect = tuple(replace(e, checks=tuple(map(less, e.checks))) for e in scenario.expect)
    return replace(scenario, workload=work, expect=expect)
