"""Functional coverage: how often each combination of named circumstances was seen.

| word | meaning |
|---|---|
| hole | a combination that is not ignored and was never seen |
| contradiction | an ignored combination that was seen after all: the reason is wrong, or the design is |

Saved as JSON (`functional_json.py`); files of several runs are merged by adding the counts.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Self

from ringhil.emulator.coverage import functional_json
from ringhil.emulator.coverage.cross import Bins, Cross, Ignore, difference
from ringhil.emulator.coverage.errors import CoverageError


class FunctionalCoverage:
    """Counts of every combination of each of the crosses."""

    def __init__(self, crosses: Iterable[Cross]) -> None:
        self.crosses: dict[str, Cross] = {}
        self.counts: dict[str, dict[Bins, int]] = {}
        for cross in crosses:
            if cross.name in self.crosses:
                raise CoverageError(f"cross {cross.name!r} is defined twice")
            self.crosses[cross.name] = cross
            self.counts[cross.name] = {}

    def sample(self, cross: str, /, **values: str) -> None:
        """Count one combination: a bin for each axis of the cross, by name; raises CoverageError when unknown."""
        bins = self._cross(cross).bins(values)
        counts = self.counts[cross]
        counts[bins] = counts.get(bins, 0) + 1

    def seen(self, cross: str, /, **values: str) -> int:
        """How often this combination was counted."""
        return self.counts[cross].get(self._cross(cross).bins(values), 0)

    def wanted(self, cross: str) -> int:
        """Combinations that are not ignored."""
        found = self._cross(cross)
        return sum(1 for bins in found.combinations() if found.ignored(bins) is None)

    def covered(self, cross: str) -> int:
        """Those of them that were seen."""
        found = self._cross(cross)
        return sum(1 for bins in self.counts[cross] if found.ignored(bins) is None)

    def percentage(self, cross: str) -> float:
        """0 to 100, of the combinations that are not ignored; 100 when all are ignored."""
        wanted = self.wanted(cross)
        return 100 * self.covered(cross) / wanted if wanted else 100.0

    def holes(self, cross: str) -> list[Bins]:
        """What is not ignored and was never seen, in the order of the axes."""
        found, counts = self._cross(cross), self.counts[cross]
        return [bins for bins in found.combinations() if bins not in counts and found.ignored(bins) is None]

    def contradictions(self, cross: str) -> list[tuple[Bins, Ignore, int]]:
        """Ignored combinations that were seen, with the ignore and how often."""
        found, counts = self._cross(cross), self.counts[cross]
        ignored = ((bins, found.ignored(bins)) for bins in found.combinations() if bins in counts)
        return [(bins, ignore, counts[bins]) for bins, ignore in ignored if ignore is not None]

    def merge(self, other: "FunctionalCoverage", where: str = "the other coverage") -> None:
        """Add the other's counts; crosses that both know must be defined alike."""
        for name, cross in other.crosses.items():
            mine = self.crosses.get(name)
            if mine is None:
                self.crosses[name], self.counts[name] = cross, dict(other.counts[name])
                continue
            otherwise = difference(cross, mine)
            if otherwise is not None:
                raise CoverageError(f"{where}: cross {name!r} has {otherwise}")
            for bins, count in other.counts[name].items():
                self.counts[name][bins] = self.counts[name].get(bins, 0) + count

    def save(self, path: Path) -> None:
        """Write it as JSON; the file appears whole or not at all. The same counts give the same bytes."""
        functional_json.save(path, self.crosses.values(), self.counts)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote; raises CoverageError."""
        crosses, counts = functional_json.load(path)
        self = cls(crosses)
        self.counts = counts
        return self

    def _cross(self, name: str) -> Cross:
        if name not in self.crosses:
            raise CoverageError(f"no cross {name!r}; there are {', '.join(self.crosses) or 'none'}")
        return self.crosses[name]
