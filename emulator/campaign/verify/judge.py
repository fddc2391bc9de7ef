"""An outcome's failures, with the line of the file and the cycle that each of them points at."""

from ringhil.emulator.campaign.verify.verdict import Failure
from ringhil.emulator.judge.findings import Finding
from ringhil.emulator.judge.outcome import Expected, Outcome
from ringhil.emulator.scenario import Scenario


def failures(scenario: Scenario, outcome: Outcome) -> tuple[Failure, ...]:
    """Broken invariants, then expectations that did not come true."""
    broken = [
        Failure(v.promise, str(v), _event_line(scenario, v), None, v.at, v.sort, v.source, lasts=v.lasts)
        for v in outcome.violations
    ]
    return (*broken, *(_expectation(outcome, e) for e in outcome.expect if not e.ok))


def _expectation(outcome: Outcome, expected: Expected) -> Failure:
    text, notes = f"expected {expected.text}; found {expected.found}", outcome.around(expected)
    return Failure("expectation", text, expected.line, None, expected.at, expected.sort, None, notes, expected.lasts)


def _event_line(scenario: Scenario, violation: Finding) -> int | None:
    """The line of the event that a violation speaks of, else of the last event before it."""
    at = violation.at
    if at is None:
        return None
    now = [event for event in scenario.timeline if event.at == at and event.where in violation.places]
    earlier = [event for event in scenario.timeline if event.at <= at]
    return now[0].line if now else earlier[-1].line if earlier else None
