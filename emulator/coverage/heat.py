"""A cross as a table, its last axis across, all others down; and its holes in as few rows as a reader needs."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ringhil.emulator.coverage.cross import Bins, Cross
from ringhil.emulator.coverage.functional import FunctionalCoverage

MAX_CELLS = 20_000  # of the table of one cross; a larger one is no table that anybody reads


@dataclass(frozen=True)
class Cell:
    """`reason` is why the combination is ignored, None otherwise."""

    count: int
    reason: str | None

    @property
    def heat(self) -> str:
        """ignored, contradiction, hole, or the number of digits of the count, 4 at most."""
        if self.reason is not None:
            return "contradiction" if self.count else "ignored"
        return f"d{min(len(str(self.count)), 4)}" if self.count else "hole"


@dataclass(frozen=True)
class Table:
    """`down` names the axes of the rows, `across` the bins of the columns."""

    down: tuple[str, ...]
    axis: str
    across: tuple[str, ...]
    rows: list[tuple[Bins, list[Cell]]]


def table(coverage: FunctionalCoverage, name: str) -> Table | None:
    """The table of a cross; None when it has more than MAX_CELLS."""
    cross = coverage.crosses[name]
    if cross.size > MAX_CELLS:
        return None
    *down, axis = cross.axes
    across = cross.axes[axis]
    rows = [(left, list(_cells(coverage, name, left))) for left in itertools.product(*(cross.axes[a] for a in down))]
    return Table(tuple(down), axis, across, rows)


def _cells(coverage: FunctionalCoverage, name: str, left: Bins) -> Iterator[Cell]:
    cross = coverage.crosses[name]
    for value in list(cross.axes.values())[-1]:
        ignore = cross.ignored((*left, value))
        yield Cell(coverage.counts[name].get((*left, value), 0), ignore.reason if ignore else None)


ANY = "any"


def holes(coverage: FunctionalCoverage, name: str) -> list[Bins]:
    """The holes of a cross: one text for each axis, `any` where nothing behind it was seen."""
    cross = coverage.crosses[name]
    wanted = [bins for bins in cross.combinations() if cross.ignored(bins) is None]
    return _below(cross, (), wanted, set(coverage.holes(name)))


def _below(cross: Cross, prefix: Bins, wanted: Sequence[Bins], holes: set[Bins]) -> list[Bins]:
    """Those that begin with `prefix`, which all of `wanted` do."""
    missing = [bins for bins in wanted if bins in holes]
    depth, axes = len(prefix), list(cross.axes.values())
    if not missing:
        return []
    if len(missing) == len(wanted):
        return [prefix + (ANY,) * (len(axes) - depth)]
    if depth == len(axes) - 1:
        return [(*prefix, ", ".join(bins[-1] for bins in missing))]
    found = []
    for value in axes[depth]:
        found += _below(cross, (*prefix, value), [bins for bins in wanted if bins[depth] == value], holes)
    return found
