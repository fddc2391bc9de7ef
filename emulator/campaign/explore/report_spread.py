"""How long recoveries took: quantiles, and a histogram over the share of the bound."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal, NamedTuple

from ringhil.emulator.campaign.explore.result import CaseResult

BINS = 25  # from nothing to the whole bound
QUANTILES = (50, 99, 100)  # percent
_WIDTH, _HEIGHT = 240, 48
_BAR = 8  # of the width; what is beyond the bound has the rest
_LEAST = 2.0  # height of a bar with anything in it


class Picture(NamedTuple):
    """A histogram as paths of SVG: recoveries within the bound, those beyond it, and where the bound stands."""

    width: int
    height: int
    inside: str
    over: str
    bound: int


@dataclass
class Spread:
    """The recoveries of one class. `cycles`, `transits` and `shares` (of the bound, 1.0 is all of it): in no order;
    `missing`: cases that had to recover and were never seen to."""

    cycles: list[int] = field(default_factory=list)
    transits: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    missing: int = 0

    def add(self, result: CaseResult) -> None:
        """Count a case in, when it has a recovery."""
        if not result.measured or result.recovery is None or result.bound is None:
            self.missing += result.recovered is False
            return
        self.cycles.append(result.recovery)
        self.shares.append(result.recovery / max(1, result.bound))
        if result.transits is not None:
            self.transits.append(result.transits)

    def bars(self) -> tuple[int, ...]:
        """Recoveries in each 25th of the bound, its end included; and last, those beyond it."""
        found = [0] * (BINS + 1)
        for share in self.shares:
            found[BINS if share > 1 else max(0, ceil(share * BINS) - 1)] += 1
        return tuple(found)

    def quantiles(self, measure: Literal["cycles", "transits", "shares"]) -> list[float | None]:
        """Those of QUANTILES."""
        return [quantile(getattr(self, measure), share) for share in QUANTILES]

    def picture(self) -> Picture:
        """The height of a bar is the number of recoveries."""
        bars, bound = self.bars(), _BAR * BINS
        inside = "".join(_bars(bars[:BINS], max(bars)))
        over = "".join(_bars(bars[BINS:], max(bars), bound + _BAR))
        return Picture(_WIDTH, _HEIGHT, inside, over, bound)


def joined_spread(spreads: Iterable[Spread]) -> Spread:
    """Several classes as one."""
    found = Spread()
    for spread in spreads:
        found.cycles += spread.cycles
        found.transits += spread.transits
        found.shares += spread.shares
        found.missing += spread.missing
    return found


def quantile(values: Sequence[float], share: int) -> float | None:
    """The smallest value that `share` percent of them don't exceed; None when there is none."""
    if not values:
        return None
    return sorted(values)[max(0, -(-len(values) * share // 100) - 1)]


def _bars(counts: Sequence[int], most: int, left: int = 0) -> Iterator[str]:
    for n, count in enumerate(counts):
        if count:
            height = max(_LEAST, count / most * (_HEIGHT - 2))
            yield f"M{left + n * _BAR} {_HEIGHT - 1}v-{height:.1f}h{_BAR - 1}v{height:.1f}z"
