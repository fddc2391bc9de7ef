"""Two campaigns side by side: cases that changed their verdict, and recoveries that take longer."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ringhil.emulator.campaign.explore.store import Row
from ringhil.emulator.judge.outcome import VerdictWord


@dataclass(frozen=True)
class Change:
    """A case that is in both."""

    key: str
    old: str | int
    new: str | int


@dataclass(frozen=True)
class Comparison:
    """`slower`: recovery in cycles, by how much it grew; the rest in the order of the new campaign."""

    both: int
    worse: tuple[Change, ...]  # passed before, and doesn't now
    better: tuple[Change, ...]
    other: tuple[Change, ...]  # failed before and now, in another way
    slower: tuple[Change, ...]
    faster: int
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The comparison for the document of `--json`."""
        changes = {name: getattr(self, name) for name in ("worse", "better", "other", "slower")}
        document = {
            name: [{"key": c.key, "old": c.old, "new": c.new} for c in found] for name, found in changes.items()
        }
        counts = {"both": self.both, "faster": self.faster}
        return {**counts, **document, "only_old": list(self.only_old), "only_new": list(self.only_new)}


def compare(old: Iterable[Row], new: Iterable[Row], *, tolerance: int = 0) -> Comparison:
    """Compare cases by their keys. A recovery counts as slower when it takes more than `tolerance` cycles more."""
    before = {row.key: row for row in old}
    after = {row.key: row for row in new}
    worse: list[Change] = []
    better: list[Change] = []
    other: list[Change] = []
    slower: list[Change] = []
    faster = 0
    for key, now in after.items():
        if key not in before:
            continue
        was = before[key].result
        a, b = _what(was.verdict, was.violated), _what(now.result.verdict, now.result.violated)
        if a != b:
            (worse if a == VerdictWord.PASS else better if b == VerdictWord.PASS else other).append(Change(key, a, b))
        took, takes = was.recovery, now.result.recovery
        if took is not None and takes is not None:
            faster += takes < took - tolerance
            if takes > took + tolerance:
                slower.append(Change(key, took, takes))
    slower.sort(key=lambda change: int(change.old) - int(change.new))
    return Comparison(
        both=len(before.keys() & after.keys()),
        worse=tuple(worse),
        better=tuple(better),
        other=tuple(other),
        slower=tuple(slower),
        faster=faster,
        only_old=tuple(key for key in before if key not in after),
        only_new=tuple(key for key in after if key not in before),
    )


def _what(verdict: str, violated: str | None) -> str:
    return verdict if violated in (None, verdict) else f"{verdict}: {violated}"
