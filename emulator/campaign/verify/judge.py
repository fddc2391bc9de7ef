"""An outcome's failures, with the line of the file and the cycle that each of them points at."""

import re

from ringhil.emulator.campaign.verify.verdict import Failure
from ringhil.emulator.judge.outcome import Expected, Outcome
from ringhil.emulator.scenario import Scenario, When

_CYCLE = re.compile(r"at cycle (\d+)$")  # when what has to hold always did not


def failures(scenario: Scenario, outcome: Outcome) -> tuple[Failure, ...]:
    """Broken invariants, then expectations that did not come true."""
    broken = [Failure(v.invariant, v.text, _event_line(scenario, v.at, v.text), None, v.at) for v in outcome.violations]
    return (*broken, *(_expectation(scenario, e) for e in outcome.expect if not e.ok))


def _expectation(scenario: Scenario, expected: Expected) -> Failure:
    cycle = scenario.expect[expected.index].cycle
    if scenario.expect[expected.index].kind == When.ALWAYS and (told := _CYCLE.search(expected.found)):
        cycle = int(told[1])
    return Failure("expectation", f"expected {expected.text}; found {expected.found}", expected.line, None, cycle)


def _event_line(scenario: Scenario, at: int | None, text: str) -> int | None:
    """The line of the event that a violation speaks of, else of the last event before it."""
    if at is None:
        return None
    now = [event for event in scenario.timeline if event.at == at and event.where in text]
    earlier = [event for event in scenario.timeline if event.at <= at]
    return now[0].line if now else earlier[-1].line if earlier else None
