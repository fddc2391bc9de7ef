"""What a report shows of a campaign's results, gathered in one pass over them."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ringhil.emulator.campaign.explore.report_spread import Spread, joined_spread
from ringhil.emulator.campaign.explore.rows import Row
from ringhil.emulator.campaign.explore.space import CLEAN
from ringhil.emulator.campaign.explore.summary import ClassSummary, by_class, joined, rate_bound
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.scenario import EventAction
from ringhil.emulator.scenario.file.faults import LENDINGS, LENT

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


class Ending(StrEnum):
    """What becomes of the faults of a case: most of them recover in another way when they are cleared."""

    NONE = "-"  # there is no fault
    CLEARED = "cleared"  # also by themselves
    LEFT = "left"
    MIXED = "some left"


Struck = dict[tuple[str, str, int], CaseTally]  # by kind, place and phase


@dataclass
class Figures:
    """`endings`, `spreads`: of each class, by what becomes of its faults; `singles`: of single faults; `several`: the
    faults of schedules with more, by kind and place, each time 0; `pairs`: by both kinds and both places; `phases`: of
    schedules with several faults, by sort and phase."""

    classes: list[ClassSummary] = field(default_factory=list)
    endings: dict[tuple[str, Ending], ClassSummary] = field(default_factory=dict)
    parts: dict[str, CaseTally] = field(default_factory=dict)
    singles: Struck = field(default_factory=dict)
    several: Struck = field(default_factory=dict)
    pairs: dict[tuple[str, str, str], CaseTally] = field(default_factory=dict)
    phases: dict[tuple[str, int], CaseTally] = field(default_factory=dict)
    spreads: dict[tuple[str, Ending], Spread] = field(default_factory=dict)

    @property
    def total(self) -> ClassSummary:
        """All classes as one."""
        return joined("all", self.classes)

    @property
    def single(self) -> list[tuple[Ending, ClassSummary]]:
        """Classes of one fault or none, by ending; those with failures first."""
        return self._by_ending(lambda c: c.depth <= 1)

    @property
    def multiple(self) -> list[tuple[Ending, ClassSummary]]:
        """Classes of several faults, likewise."""
        return self._by_ending(lambda c: c.depth > 1)

    def _by_ending(self, wanted: Callable[[ClassSummary], bool]) -> list[tuple[Ending, ClassSummary]]:
        order = {c.cls: (not (c.failed or c.errors), number) for number, c in enumerate(self.classes)}
        found = [(ending, c) for (_, ending), c in self.endings.items() if wanted(c)]
        return sorted(found, key=lambda row: (order[row[1].cls], list(Ending).index(row[0])))

    @property
    def spread(self) -> Spread:
        """That of all classes."""
        return joined_spread(self.spreads.values())

    def spreads_of(self, classes: Iterable[tuple[Ending, ClassSummary]]) -> list[tuple[str, Ending, Spread]]:
        """Spreads of those that have a recovery, or should have one."""
        found = ((c.cls, ending, self.spreads[c.cls, ending]) for ending, c in classes)
        return [(cls, ending, spread) for cls, ending, spread in found if spread.shares or spread.missing]

    def add(self, row: Row) -> None:
        """Count a case in; not in `classes`, whose figures are those of every summary."""
        part, failed = part_of(row), row.result.verdict != VerdictWord.PASS
        events = json.loads(row.schedule)
        ending = ending_of(events)
        self.endings.setdefault((row.cls, ending), ClassSummary(row.cls, row.depth)).add(row)
        self.parts.setdefault(part, CaseTally()).add(failed)
        self.spreads.setdefault((row.cls, ending), Spread()).add(row.result)
        if part == SINGLES:
            self.singles.setdefault((row.cls, row.place, row.phase), CaseTally()).add(failed)
        elif part in (PAIRS, RANDOM):
            faults = [(kind, _where(event)) for event in events if (kind := _kind(event, "fault", EventAction.LEND))]
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


def ending_of(events: Sequence[dict[str, Any]]) -> Ending:
    """That of a schedule, given as the `timeline` of a scenario."""
    faults = [(kind, _where(e), "count" in e) for e in events if (kind := _kind(e, "fault", EventAction.LEND))]
    cleared = {(kind, _where(e)) for e in events if (kind := _kind(e, "clear", EventAction.TAKE_BACK))}
    left = [not counted and (kind, where) not in cleared for kind, where, counted in faults]
    if not faults:
        return Ending.NONE
    return Ending.LEFT if all(left) else Ending.MIXED if any(left) else Ending.CLEARED


def part_of(row: Row) -> str:
    """The part of the space that a case belongs to, by its name there."""
    if row.depth == 0:
        return CLEAN
    if row.key.startswith("#"):
        return RANDOM
    return SINGLES if row.depth == 1 else PAIRS


def _where(event: dict[str, str]) -> str:
    return next((event[key] for key in ("gpu", "link", *LENDINGS) if key in event), "-")


def _kind(event: dict[str, str], fault: str, loan: EventAction) -> str | None:
    """Of an event with one of these keys; None: it has neither."""
    return LENT if loan in event else event.get(fault)
