"""What a cross has not seen, in as few rows as a reader needs."""

from collections.abc import Sequence

from ringhil.emulator.coverage.cross import Bins, Cross
from ringhil.emulator.coverage.functional import FunctionalCoverage

ANY = "any"


def rows(coverage: FunctionalCoverage, name: str) -> list[Bins]:
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
