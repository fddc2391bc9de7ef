"""A campaign's results, class by class."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ringhil.emulator.campaign.explore.store import Row
from ringhil.emulator.judge.outcome import VerdictWord

CONFIDENCE = 0.95


@dataclass
class ClassSummary:
    """Cases of one class. `detected`, `located` and `recovered` are of the cases that demand it, whose number stands
    beside. `worst` is the key of the case that came closest to its bound: `recovery` of `bound` cycles."""

    cls: str
    depth: int
    cases: int = 0
    failed: int = 0
    errors: int = 0
    detected: int = 0
    to_detect: int = 0
    located: int = 0
    to_locate: int = 0
    recovered: int = 0
    to_recover: int = 0
    recovery: int | None = None
    bound: int | None = None
    transits: float | None = None
    worst: str | None = None

    @property
    def failure_rate_bound(self) -> float | None:
        """See `rate_bound`; None when a case has failed."""
        return None if self.failed or self.errors else rate_bound(self.cases)

    def add(self, row: Row) -> None:
        """Count a case in."""
        r = row.result
        self.cases += 1
        self.failed += r.verdict == VerdictWord.FAIL
        self.errors += r.verdict in (VerdictWord.ERROR, VerdictWord.HUNG)
        self.detected, self.to_detect = self.detected + bool(r.detected), self.to_detect + (r.detected is not None)
        self.located, self.to_locate = self.located + bool(r.located), self.to_locate + (r.located is not None)
        self.recovered, self.to_recover = (
            self.recovered + bool(r.recovered),
            self.to_recover + (r.recovered is not None),
        )
        if not r.measured or r.recovery is None or r.bound is None:
            return
        if self.recovery is None or self.bound is None or r.recovery * self.bound > self.recovery * r.bound:
            self.recovery, self.bound, self.transits, self.worst = r.recovery, r.bound, r.transits, row.key

    def to_json(self) -> dict[str, Any]:
        """The summary for the document of `--json`."""
        document = asdict(self)
        return {"class": document.pop("cls"), **document, "failure_rate_bound": self.failure_rate_bound}


def by_class(rows: Iterable[Row]) -> list[ClassSummary]:
    """The classes in the order in which they come."""
    found: dict[str, ClassSummary] = {}
    for row in rows:
        found.setdefault(row.cls, ClassSummary(row.cls, row.depth)).add(row)
    return list(found.values())


def joined(name: str, classes: Iterable[ClassSummary]) -> ClassSummary:
    """Several classes as one."""
    total = ClassSummary(name, 0)
    for c in classes:
        total.depth = max(total.depth, c.depth)
        for count in (
            "cases",
            "failed",
            "errors",
            "detected",
            "to_detect",
            "located",
            "to_locate",
            "recovered",
            "to_recover",
        ):
            setattr(total, count, getattr(total, count) + getattr(c, count))
        if c.recovery is None or c.bound is None:
            continue
        if total.recovery is None or total.bound is None or c.recovery * total.bound > total.recovery * c.bound:
            total.recovery, total.bound, total.transits, total.worst = c.recovery, c.bound, c.transits, c.worst
    return total


def rate_bound(cases: int) -> float | None:
    """If no case of `cases` failed: the failure rate that lies with 95 % confidence above the true one, if the cases
    were drawn at random (Clopper-Pearson; about 3 / cases). None without cases."""
    return 1 - (1 - CONFIDENCE) ** (1 / cases) if cases else None
