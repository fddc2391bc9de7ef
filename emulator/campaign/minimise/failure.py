"""The way in which a scenario fails, as a few words: what a smaller scenario must fail in too.

| class | means |
|---|---|
| `INVARIANT: what it says [lasts]` | it is violated, and still so at the end; names, numbers and times are left out |
| `INVARIANT: what it says [passes]` | the same, and it was over before the end |
| the same and `at power-up` | and a fault strikes before all cards have been counted for the first time |
| the same and `cut short` | and the file ends the run before that could be judged |
| `expected count not found` | the file expects a count; the CPU found another one, which isn't true |
| `expected count not true` | the CPU found another one, and the oracle says so too: the file is wrong |
| `expected count not due` | there is no count yet, or an event before it is still within its bound |
| `expected count not always` | for what is expected `always` |
| `stopped by KeyError` | playing it ended in that error |

Telling them apart keeps a failure of the design from turning into one of the file, when an event goes that the file
expects to be noticed, or when less time is left to notice it. A scenario may fail in several: each is a failure of its
own.
"""

from collections.abc import Callable, Iterator

from ringhil.emulator.campaign.minimise.search import Fails, FailureClass
from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.findings import Finding, FindingKind
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import INVARIANTS, Expectation, Scenario, When
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice

CUT_SHORT = " cut short"


def fails_in(library: Library, wanted: str | None = None, *, firmware: FirmwareChoice = OURS) -> Fails:
    """Plays a scenario on this engine, and gives the class of its first failure or None. With `wanted`: that class, if
    it is among all in which the scenario fails."""

    def fails(scenario: Scenario) -> str | None:
        try:
            first = None
            for found in _failures(scenario, library, firmware):
                if wanted in (None, found):
                    return found
                first = first or found
            return first
        except Exception as error:  # whatever it is, a smaller scenario that ends in it too is easier to look at
            return f"stopped by {type(error).__name__}"

    return fails


def failures_in(library: Library) -> Callable[[Scenario], tuple[str, ...]]:
    """Plays a scenario, and gives all classes in which it fails, each once; the first is that of `fails_in`."""
    return lambda scenario: tuple(dict.fromkeys(_failures(scenario, library, OURS)))


def _failures(scenario: Scenario, library: Library, firmware: FirmwareChoice) -> Iterator[FailureClass]:
    server = Run(scenario, library, firmware=firmware)
    try:
        outcome = server.run()
        early = " at power-up" if _too_early(scenario, server) else ""
        violations = sorted(outcome.violations, key=lambda v: (not v.lasts, INVARIANTS.index(v.promise)))
        found = [
            FailureClass(v.sort + early + _cut_short(v, scenario, server, outcome), f"{v.promise}: {v}")
            for v in violations
        ]
        failed = [(scenario.expect[e.index], e) for e in outcome.expect if not e.ok]
        ends = [_expected(e, server, outcome) for e, _ in failed if e.kind == When.END]
    finally:
        server.engine.close()
    yield from found
    for expectation, told in failed:
        text = f"expected {told.text}; found {told.found}"
        if expectation.kind == When.END:
            yield FailureClass(ends.pop(0), text)
        elif expectation.cycle is None:
            yield FailureClass(f"expected {_kinds(expectation)} not always", text)
        else:
            again = Run(scenario, library, firmware=firmware)
            yield FailureClass(_expected_then(expectation, expectation.cycle, outcome, again), text)


def _cut_short(violation: Finding, scenario: Scenario, server: Run, outcome: Outcome) -> str:
    """What is found at the end only, of a run that ended before all was dealt with, or while work still came back."""
    if scenario.until is None or violation.at is not None:
        return ""
    config, last = server.cpu.config, server.judge.acceptance.booked_at
    working = server.kernel.now - last <= 4 * (config.silence + config.patience)
    early = any(each.kind is FindingKind.TOO_EARLY for each in outcome.unjudged)
    return CUT_SHORT if early or (working and not server.cpu.finished) else ""


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
