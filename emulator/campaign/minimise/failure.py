"""The way in which a scenario fails, as one word or a few: what a smaller scenario must fail in too.

| class | means |
|---|---|
| the name of an invariant | it is violated; of several the first one in the order of `INVARIANTS` |
| the same and `at power-up` | and a fault strikes before all cards have been counted for the first time |
| `expected count not found` | the file expects a count; the CPU found another one, which isn't true |
| `expected count not true` | the CPU found another one, and the oracle says so too: the file is wrong |
| `expected count not due` | there is no count yet, or an event before it is still within its bound |
| `expected count not always` | for what is expected `always` |
| `stopped by KeyError` | playing it ended in that error |

Telling them apart keeps a failure of the design from turning into one of the file, when an event goes that the file
expects to be noticed, or when less time is left to notice it.
"""

from ringhil.emulator.campaign.minimise.search import Fails
from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import INVARIANTS, Expectation, Scenario, When


def fails_in(library: Library) -> Fails:
    """Plays a scenario on this engine, and gives the class of its failure or None."""

    def fails(scenario: Scenario) -> str | None:
        try:
            return _failure(scenario, library)
        except Exception as error:  # whatever it is, a smaller scenario that ends in it too is easier to look at
            return f"stopped by {type(error).__name__}"

    return fails


def _failure(scenario: Scenario, library: Library) -> str | None:
    server = Run(scenario, library)
    try:
        outcome = server.run()
        violated = _violated(outcome)
        if violated is not None:
            return violated + (" at power-up" if _too_early(scenario, server) else "")
        failed = next((e for e in outcome.expect if not e.ok), None)
        if failed is None:
            return None
        expectation = scenario.expect[failed.index]
        if expectation.kind == When.END:
            return _expected(expectation, server, outcome)
    finally:
        server.engine.close()
    if expectation.cycle is None:
        return f"expected {_kinds(expectation)} not always"
    return _expected_then(expectation, expectation.cycle, outcome, Run(scenario, library))


def _violated(outcome: Outcome) -> str | None:
    return min((v.invariant for v in outcome.violations), key=INVARIANTS.index, default=None)


def _too_early(scenario: Scenario, server: Run) -> bool:
    """What strikes then finds nothing to compare with, and members that wait for one another: other things go wrong."""
    first = [watch.counts[0][0] if watch.counts else server.kernel.now for watch in server.watch.cards]
    return any(event.at <= max(first) for event in scenario.timeline)


def _expected_then(expectation: Expectation, cycle: int, outcome: Outcome, server: Run) -> str:
    """Plays it again, up to the cycle of the expectation."""
    try:
        server.start()
        server.run_to(cycle)
        return _expected(expectation, server, outcome)
    finally:
        server.engine.close()


def _expected(expectation: Expectation, server: Run, outcome: Outcome) -> str:
    """The class of a failed expectation, by what the CPU knows now, what is true now, and what there was time for."""
    now = server.kernel.now
    named = {check.about for check in expectation.checks}
    views = [view for view in server.cpu.cards if view.name in named]
    what = "found"
    if any(not view.known for view in views) or any(r.at <= now <= r.at + r.bound for r in outcome.recoveries):
        what = "due"
    elif views and all(server.watch.differs(view.number) is None for view in views):
        what = "true"
    return f"expected {_kinds(expectation)} not {what}"


def _kinds(expectation: Expectation) -> str:
    return ", ".join(sorted({check.KEY for check in expectation.checks}))
