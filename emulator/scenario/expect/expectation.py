"""What a scenario expects, and when."""

from dataclasses import dataclass, field
from enum import StrEnum

from ringhil.emulator.scenario.expect.check import Check


class When(StrEnum):
    """When an expectation has to hold."""

    AT = "at"  # at a cycle
    BY = "by"  # at some time up to a cycle
    END = "end"  # at the end of the run
    ALWAYS = "always"  # at every cycle


@dataclass(frozen=True)
class Expectation:
    """Checks that hold together, `at` a cycle, `by` a cycle at the latest, at the `end` of the run, or `always`.

    `cycle` is for `at` and `by`, None otherwise. `since` and `until` are for `always`: cycles from which and up to
    which it has to hold; 0: from the first accepted count of every card that it names, None: to the end of the run.
    `line` is where it stands in the file; it makes no difference.
    """

    kind: When
    cycle: int | None
    checks: tuple[Check, ...]
    line: int = field(compare=False)
    since: int = 0
    until: int | None = None
