"""How large a scenario is: what a smaller one must have less of. The first place that differs decides.

| counts before what follows it |
|---|
| events of the timeline |
| cards, GPUs, links between cards, links to the CPU |
| checks |
| work units, their bytes, percent that crosses |
| settings, then types and weights, then parameters of faults, that aren't the default; a time to end at; a seed |
| digits of times and of the gaps between them, different gaps, the times themselves |

Every step goes down this order, so shrinking comes to an end, and what it ends with it leaves alone.
"""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise

from ringhil.emulator.scenario import PARAMETERS, Scenario, Settings, TimelineEvent, Workload

Size = tuple[int, ...]

_FILE = 1 << 32  # units of a workload whose number only its file tells


def size(scenario: Scenario) -> Size:
    """The size of a checked scenario; two that have the same size are equally good."""
    server = scenario.server
    return (
        len(scenario.timeline),
        len(server.cards),
        sum(card.gpus for card in server.cards),
        sum(len(link.from_) for link in server.boundary_links),
        sum(len(card.host_links) for card in server.cards),
        sum(len(expectation.checks) for expectation in scenario.expect),
        *_work(scenario.workload),
        len(scenario.sharing.applications) if scenario.sharing else 0,
        len(scenario.switching.requests) + len(scenario.switching.tasks) if scenario.switching else 0,
        len(changed_settings(server.settings)),
        sum(kind != "generic" for card in server.cards for kind in card.types),
        sum(weight != 1 for card in server.cards for weight in card.weights),
        sum(map(_parameters, scenario.timeline)),
        int(scenario.until is not None),
        int(scenario.seed != 1),
        *_times(scenario),
    )


def changed_settings(settings: Settings) -> list[str]:
    """Names of those that don't have their default."""
    defaults = asdict(Settings())
    return [name for name, value in asdict(settings).items() if value != defaults[name]]


def times(scenario: Scenario) -> list[int]:
    """All cycles that the scenario speaks of, ascending, each once."""
    return sorted(set(_spoken_of(scenario)))


def digits(number: int) -> int:
    """Digits without the zeros at the end: a round number has few."""
    return len(str(number).rstrip("0"))


def _spoken_of(scenario: Scenario) -> Iterator[int]:
    yield from (event.at for event in scenario.timeline)
    for expectation in scenario.expect:
        yield from (at for at in (expectation.cycle, expectation.since, expectation.until) if at)
    if scenario.until is not None:
        yield scenario.until


def _times(scenario: Scenario) -> Size:
    cycles = times(scenario)
    gaps = [b - a for a, b in pairwise([0, *cycles])]
    return sum(map(digits, (*cycles, *gaps))), len(set(gaps)), sum(cycles)


def _work(work: Workload | None) -> Size:
    if work is None:
        return 0, 0, 0, 0
    return 1, _FILE if work.units is None else work.units, work.size, work.across


def _parameters(event: TimelineEvent) -> int:
    name = event.parameter
    default = None if name is None or not event.begins else PARAMETERS[name].default
    return (event.count is not None) + (event.value != default)
