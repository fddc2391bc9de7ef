"""Makes a failing scenario small, one kind of step after the other, until nothing helps any more."""

from dataclasses import dataclass, replace

from ringhil.emulator.campaign.minimise.drop import drop_events, drop_expectations
from ringhil.emulator.campaign.minimise.failure import fails_in, failures_in
from ringhil.emulator.campaign.minimise.search import Fails, FailureClass, Progress, Search, Spent
from ringhil.emulator.campaign.minimise.simpler import defaults, simpler_work
from ringhil.emulator.campaign.minimise.smaller import smaller_server
from ringhil.emulator.campaign.minimise.times import simpler_times
from ringhil.emulator.engine.library import Library
from ringhil.emulator.scenario import Scenario, dumps, loads

# What makes a scenario smaller by most comes first, and what makes its run shorter.
_PASSES = (drop_events, smaller_server, drop_expectations, simpler_work, defaults, simpler_times)


@dataclass(frozen=True)
class Shrunk:
    """A failing scenario, made small.

    `scenario` fails as `failure` says, which is its class; `tries` scenarios were played, of which `steps` were
    taken.
    """

    scenario: Scenario
    failure: str
    tries: int
    steps: int

    @property
    def said(self) -> str:
        """What was said of it; its class, where nobody knows."""
        return self.failure.text if isinstance(self.failure, FailureClass) else self.failure


def _silent(tries: int, budget: int) -> None:
    pass


def _judged(scenario: Scenario) -> Scenario:
    """As a file says it, without what no run without clients can notice."""
    return loads(dumps(replace(scenario, lines=())), scenario.name)


def shrink(scenario: Scenario, fails: Fails, *, budget: int = 400, progress: Progress = _silent) -> Shrunk:
    """The smallest scenario found within `budget` plays that fails in the same class; `fails` gives the class.

    Raises ValueError when the scenario doesn't fail, or no file can say it.
    """
    start = _judged(scenario)
    failure = fails(start)
    if failure is None:
        raise ValueError(f"{scenario.name}: doesn't fail, so there is nothing to make small")
    search = Search(start, failure, fails, budget, progress, tries=1)
    try:
        while True:
            before = search.steps
            for step in _PASSES:
                step(search)
            if search.steps == before:
                break
    except Spent:
        pass
    return Shrunk(search.best, search.failure, search.tries, search.steps)


def shrink_each(
    scenario: Scenario, library: Library, *, budget: int = 400, progress: Progress = _silent
) -> tuple[Shrunk, ...]:
    """The smallest scenario for each class in which it fails on this engine, each with `budget` plays.

    Raises ValueError when the scenario doesn't fail, or no file can say it.
    """
    start = _judged(scenario)
    failures = failures_in(library)(start)
    if not failures:
        raise ValueError(f"{scenario.name}: doesn't fail, so there is nothing to make small")
    return tuple(shrink(start, fails_in(library, one), budget=budget, progress=progress) for one in failures)
