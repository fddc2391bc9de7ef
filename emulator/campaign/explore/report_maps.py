"""What was covered, as tables of numbers: kinds by place, kinds by phase, kinds by kind."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ringhil.emulator.campaign.explore.report_figures import CaseTally, Figures, Struck
from ringhil.emulator.campaign.explore.report_terrain import Terrain
from ringhil.emulator.scenario import FAULTS

MOST_ROWS = 128  # places
MOST_COLUMNS = 24  # phases
LEFT = "not reached"

_Item = TypeVar("_Item")


@dataclass
class MapCell:
    """`played` of `wanted` combinations have a case; there are `cases`, of which `failed` did not pass."""

    cases: int = 0
    failed: int = 0
    played: int = 0
    wanted: int = 0

    def add(self, tally: CaseTally) -> None:
        """Count one more combination in."""
        self.cases, self.failed, self.played = self.cases + tally.cases, self.failed + tally.failed, self.played + 1

    @property
    def state(self) -> str:
        """none (can't be), hole, q1 .. q3 (quarters played), full."""
        if not self.played:
            return "hole" if self.wanted else "none"
        return "full" if self.played >= self.wanted else f"q{min(3, 1 + 4 * self.played // self.wanted)}"


@dataclass(frozen=True)
class Map:
    """`rows`: name and cells; `down`: what they are; `counted`: what combinations are made of, for people."""

    name: str
    down: str
    counted: str
    across: tuple[str, ...]
    rows: tuple[tuple[str, list[MapCell]], ...]

    @property
    def cells(self) -> list[MapCell]:
        """All of them."""
        return [cell for _, cells in self.rows for cell in cells]


def binned(items: Sequence[_Item], most: int) -> list[Sequence[_Item]]:
    """The pieces, at most that number, in order; each but the last one has the same length."""
    length = max(1, -(-len(items) // most))
    return [items[start : start + length] for start in range(0, len(items), length)]


def _label(items: Sequence[object]) -> str:
    return str(items[0]) if len(items) == 1 else f"{items[0]} … {items[-1]}"


def by_place(struck: Struck, terrain: Terrain, name: str, *, phased: bool) -> list[Map]:
    """Kinds across, places down: a map for GPUs and one for links. `phased`: each place is wanted at all phases."""
    seen = _seen(struck, terrain)
    maps = []
    for target in ("gpu", "link"):
        kinds = [kind for kind in terrain.kinds if _target(kind) == target]
        places = list(dict.fromkeys(place for kind, place in terrain.cards if kind in kinds))
        bins = binned(places, MOST_ROWS)
        row_of = {place: n for n, found in enumerate(bins) for place in found}
        cells = {(n, kind): MapCell() for n in range(len(bins)) for kind in kinds}
        for (kind, place), card in terrain.cards.items():
            if kind in kinds:
                cells[row_of[place], kind].wanted += _wanted(card, seen, terrain) if phased else 1
        for (kind, place, _), tally in struck.items():
            if kind in kinds:
                cells[row_of[place], kind].add(tally)
        rows = tuple((_label(found), [cells[n, kind] for kind in kinds]) for n, found in enumerate(bins))
        things = "GPUs" if target == "gpu" else "links"
        if rows:
            counted = f"{things} and phases" if phased else things
            maps.append(Map(f"{name}: kinds of fault by {things}", "place", counted, tuple(kinds), rows))
    return maps


def by_phase(struck: Struck, terrain: Terrain, name: str) -> Map | None:
    """Phases across, kinds down; what no case has reached is one column more. None when nothing is known of phases."""
    seen = _seen(struck, terrain)
    left = {card: _wanted(card, seen, terrain) - len(seen.get(card, ())) for card in set(terrain.cards.values())}
    bins = binned(sorted(set().union(*seen.values())), MOST_COLUMNS)
    missing = [LEFT] if any(left.values()) else []
    if not bins:
        return None
    column_of = {phase: n for n, found in enumerate(bins) for phase in found}
    sizes = {card: [len(phases.intersection(found)) for found in bins] for card, phases in seen.items()}
    rows = []
    cells = {kind: [MapCell() for _ in (*bins, *missing)] for kind in terrain.kinds}
    for (kind, _, phase), tally in struck.items():
        cells[kind][column_of[phase]].add(tally)
    for kind in terrain.kinds:
        for card, spots in terrain.spots[kind].items():
            wanted = [*sizes.get(card, [0] * len(bins)), *([left[card]] if missing else [])]
            for cell, phases in zip(cells[kind], wanted, strict=True):
                cell.wanted += spots * phases
        rows.append((kind, cells[kind]))
    across = (*map(_label, bins), *missing)
    title = f"{name}: kinds of fault by phase (cycles into the round)"
    return Map(title, "kind", "places and phases", across, tuple(rows))


def by_kinds(figures: Figures, terrain: Terrain) -> Map | None:
    """Pairs: the first kind down, the second one across. None when there are none."""
    kinds = terrain.kinds
    cells = {(a, b): MapCell(wanted=terrain.couples(a, b)) for a in kinds for b in kinds}
    for (first, second, _), tally in figures.pairs.items():
        cells[first, second].add(tally)
    if not any(cell.wanted or cell.played for cell in cells.values()):
        return None
    rows = tuple((f"{first} +", [cells[first, second] for second in kinds]) for first in kinds)
    return Map("Pairs: first kind by second kind", "first", "pairs of places", tuple(kinds), rows)


def of_several(figures: Figures) -> Map | None:
    """Schedules of several faults: sorts down, phases of the first fault across. None when there are none."""
    bins = binned(sorted({phase for _, phase in figures.phases}), MOST_COLUMNS)
    if not bins:
        return None
    column_of = {phase: n for n, found in enumerate(bins) for phase in found}
    sorts = dict.fromkeys(sort for sort, _ in figures.phases)
    cells = {sort: [MapCell() for _ in bins] for sort in sorts}
    for (sort, phase), tally in figures.phases.items():
        cells[sort][column_of[phase]].add(tally)
    for sort in sorts:
        if sort.endswith("at random"):  # every phase may be drawn
            for cell in cells[sort]:
                cell.wanted = max(1, cell.played)
    name = "Several faults: by phase of the first one (cycles into the round)"
    return Map(name, "schedules", "phases", tuple(map(_label, bins)), tuple(cells.items()))


def _seen(struck: Struck, terrain: Terrain) -> dict[str, set[int]]:
    """The phases at which each card was struck."""
    seen: dict[str, set[int]] = {}
    for kind, place, phase in struck:
        seen.setdefault(terrain.cards[kind, place], set()).add(phase)
    return seen


def _wanted(card: str, seen: dict[str, set[int]], terrain: Terrain) -> int:
    """Phases that each place of a card is wanted at; those that were seen when no more is known, one at least."""
    known = 0 if terrain.phases is None else terrain.phases.get(card, 0)
    return max(1, known, len(seen.get(card, ())))


def _target(kind: str) -> str:
    return FAULTS[kind].target if kind in FAULTS else "gpu"


def combinations(maps: Iterable[Map]) -> tuple[int, int]:
    """How many were played, and of how many."""
    cells = [cell for found in maps for cell in found.cells]
    return sum(cell.played for cell in cells), sum(max(cell.wanted, cell.played) for cell in cells)
