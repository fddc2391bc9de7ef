"""All that was measured, merged: what the reports show."""

from dataclasses import dataclass

from ringhil.emulator.coverage import heat
from ringhil.emulator.coverage.cross import Bins, Ignore
from ringhil.emulator.coverage.functional import FunctionalCoverage
from ringhil.emulator.coverage.hdl import Hdl, Tally

MAX_ROWS = 2_000  # of a list of holes


@dataclass(frozen=True)
class CrossView:
    """A cross as it is shown: `table` is None when it would be too large, `missing` combinations are in `holes`."""

    name: str
    axes: tuple[str, ...]
    table: heat.Table | None
    missing: int
    holes: list[Bins]
    ignore: tuple[Ignore, ...]
    contradictions: list[str]


@dataclass(frozen=True)
class CoverageReport:
    """`hdl` is None when there was no file of Verilator, `functional` when there was no other one."""

    hdl: Hdl | None
    functional: FunctionalCoverage | None

    @property
    def totals(self) -> list[tuple[str, Tally]]:
        """What was measured, and how much of it was reached."""
        rows: list[tuple[str, Tally]] = []
        if self.hdl is not None:
            rows += [("lines", self.hdl.line_tally), ("toggles", self.hdl.toggle_tally)]
        return rows + [(f"cross {name}", tally) for name, tally in self.crosses]

    @property
    def crosses(self) -> list[tuple[str, Tally]]:
        """The crosses by name, with their combinations; ignored ones count as waived."""
        found = self.functional
        if found is None:
            return []
        return [
            (name, Tally(found.covered(name), found.wanted(name), found.crosses[name].size - found.wanted(name)))
            for name in sorted(found.crosses)
        ]

    @property
    def views(self) -> list[CrossView]:
        """The crosses by name."""
        return [] if self.functional is None else [self._view(self.functional, name) for name, _ in self.crosses]

    def _view(self, found: FunctionalCoverage, name: str) -> CrossView:
        cross, missing = found.crosses[name], len(found.holes(name))
        table, rows = heat.table(found, name), heat.holes(found, name)
        return CrossView(name, tuple(cross.axes), table, missing, rows, cross.ignore, self.contradictions(name))

    def contradictions(self, cross: str) -> list[str]:
        """Combinations that were seen although they are ignored as impossible, one line each."""
        found = self.functional
        return [
            f"cross {cross}: {' x '.join(bins)} was seen {count:,} times, but is ignored: {ignore.reason}"
            for bins, ignore, count in (found.contradictions(cross) if found else ())
        ]


def share(tally: Tally) -> str:
    """The share as a percentage with one digit, never rounded up: 100 means all."""
    if not tally.wanted:
        return "-"
    whole, tenth = divmod(tally.reached * 1000 // tally.wanted, 10)
    return f"{whole}.{tenth} %"
