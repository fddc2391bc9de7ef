"""Cases of a campaign that a user asks for (words become values, never SQL), and what differs between two of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.store import Row, Store
from ringhil.emulator.judge.outcome import VerdictWord

# Those without a figure come last.
ORDERS = {
    "number": "number",
    "recovery": "recovery IS NULL, recovery DESC, number",
    "bound": "recovery IS NULL, CAST(recovery AS REAL) / max(bound, 1) DESC, number",
    "detection": "detection IS NULL, detection DESC, number",
    "cycles": "cycles IS NULL, cycles DESC, number",
}


@dataclass(frozen=True)
class Wanted:
    """Each may be None: any. `cls`, `place` and `key` know * and ?. `order`: one of ORDERS; `limit`: most rows."""

    cls: str | None = None
    place: str | None = None
    key: str | None = None
    verdict: str | None = None
    order: str = "number"
    limit: int = 20


def chosen(store: Store, campaign: int | None) -> int:
    """The campaign of that number, or the last one. Raises ExploreError when it isn't there."""
    known = list(store.campaigns())
    if not known:
        raise ExploreError(f"{store.path}: no campaign in it")
    if campaign is not None and campaign not in known:
        raise ExploreError(f"{store.path}: no campaign {campaign}; there are {', '.join(map(str, known))}")
    return known[-1] if campaign is None else campaign


def find(store: Store, campaign: int, wanted: Wanted) -> tuple[list[Row], int]:
    """The first rows, and how many there are in all."""
    parts, values = [], []
    for column, text in (("class", wanted.cls), ("key", wanted.key)):
        if text is not None:
            parts.append(f"{column} GLOB ?")
            values.append(text)
    if wanted.place is not None:
        # A case with several faults has its places in a row.
        parts.append("(', ' || place || ',') GLOB ?")
        values.append(f"*, {wanted.place},*")
    if wanted.verdict is not None:
        parts.append("verdict = ?")
        values.append(wanted.verdict)
    where = " AND ".join(parts)
    rows = list(store.rows(campaign, where, tuple(values), ORDERS[wanted.order], limit=wanted.limit))
    return rows, store.count(campaign, where, tuple(values))


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
    """Compare cases by their keys. A recovery counts as slower when it takes more than `tolerance` cycles more. Raises
    ExploreError when they share no case with a fault, as campaigns of two servers may."""
    before = {row.key: row for row in old}
    after = {row.key: row for row in new}
    if not any(key in before and row.schedule != "[]" for key, row in after.items()):
        raise ExploreError("no case with a fault is in both campaigns: nothing can be compared")
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
