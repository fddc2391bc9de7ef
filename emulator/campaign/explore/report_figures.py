"""What a report shows of a campaign's results, gathered in one pass over them."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ringhil.emulator.campaign.explore.report_spread import Spread, joined_spread
from ringhil.emulator.campaign.explore.rows import Row
from ringhil.emulator.campaign.explore.space import CLEAN
from ringhil.emulator.campaign.explore.summary import ClassSummary, by_class, joined, rate_bound
from ringhil.emulator.judge.outcome import VerdictWord

SINGLES, PAIRS, RANDOM = "single faults", "pairs", "random schedules"


@dataclass
class CaseTally:
    """Cases, and how many of them did not pass."""

    cases: int = 0
    failed: int = 0

    def add(self, failed: bool) -> None:
        """Count one in."""
        self.cases += 1
        self.failed += failed

    @property
    def rate_bound(self) -> float | None:
        """See `summary.rate_bound`; None when a case has failed."""
        return None if self.failed else rate_bound(self.cases)


Struck = dict[tuple[str, str, int], CaseTally]  # by kind, place and phase


@dataclass
class Figures:
    """`singles`: of single faults; `several`: the faults of schedules with more, by kind and place, each time 0;
    `pairs`: by both kinds and both places; `phases`: of schedules with several faults, by sort and phase."""

    classes: list[ClassSummary] = field(default_factory=list)
    parts: dict[str, CaseTally] = field(default_factory=dict)
    singles: Struck = field(default_factory=dict)
    several: Struck = field(default_factory=dict)
    pairs: dict[tuple[str, str, str], CaseTally] = field(default_factory=dict)
    phases: dict[tuple[str, int], CaseTally] = field(default_factory=dict)
    spreads: dict[str, Spread] = field(default_factory=dict)

    @property
    def total(self) -> ClassSummary:
        """All classes as one."""
        return joined("all", self.classes)

    @property
    def single(self) -> list[ClassSummary]:
        """Classes of one fault or none."""
        return [c for c in self.classes if c.depth <= 1]

    @property
    def multiple(self) -> list[ClassSummary]:
        """Classes of several faults."""
        return [c for c in self.classes if c.depth > 1]

    @property
    def spread(self) -> Spread:
        """That of all classes."""
        return joined_spread(self.spreads.values())

    def spreads_of(self, classes: Iterable[ClassSummary]) -> list[tuple[str, Spread]]:
        """Names and spreads of those that have a recovery."""
        return [(c.cls, self.spreads[c.cls]) for c in classes if self.spreads[c.cls].shares]

    @property
    def verdict(self) -> str:
        """pass or fail; `none` when no case was played."""
        total = self.total
        return VerdictWord.FAIL if total.failed or total.errors else VerdictWord.PASS if total.cases else "none"

    def add(self, row: Row) -> None:
        """Count a case in; not in `classes`, whose figures are those of every summary."""
        part, failed = part_of(row), row.result.verdict != VerdictWord.PASS
        self.parts.setdefault(part, CaseTally()).add(failed)
        self.spreads.setdefault(row.cls, Spread()).add(row.result)
        if part == SINGLES:
            self.singles.setdefault((row.cls, row.place, row.phase), CaseTally()).add(failed)
        elif part in (PAIRS, RANDOM):
            faults = [(event["fault"], _where(event)) for event in json.loads(row.schedule) if "fault" in event]
            for kind, place in faults:
                self.several.setdefault((kind, place, 0), CaseTally()).add(failed)
            if part == PAIRS and len(faults) == 2:
                self.pairs.setdefault((faults[0][0], faults[1][0], row.place), CaseTally()).add(failed)
            sort = PAIRS if part == PAIRS else row.cls
            self.phases.setdefault((sort, row.phase), CaseTally()).add(failed)


def gathered(rows: Iterable[Row]) -> Figures:
    """All figures of these results."""
    figures = Figures()

    def passed_on() -> Iterator[Row]:
        for row in rows:
            figures.add(row)
            yield row

    figures.classes = by_class(passed_on())
    return figures


def part_of(row: Row) -> str:
    """The part of the space that a case belongs to, by its name there."""
    if row.depth == 0:
        return CLEAN
    if row.key.startswith("#"):
        return RANDOM
    return SINGLES if row.depth == 1 else PAIRS


def _where(event: dict[str, str]) -> str:
    return event.get("gpu") or event.get("link") or "-"
