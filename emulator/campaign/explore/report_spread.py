"""How long recoveries took: quantiles, and how many took at most which share of the bound."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.pages.charts import Axis, Bound, Chart, Curve

QUANTILES = (50, 99, 100)  # percent
MOST_CURVES = 14  # of a chart
_MOST_POINTS = 300  # of a curve


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

    def quantiles(self, measure: Literal["cycles", "transits", "shares"]) -> list[float | None]:
        """Those of QUANTILES."""
        return [quantile(getattr(self, measure), share) for share in QUANTILES]

    def curve(self, name: str) -> Curve:
        """Up to each share of the bound, the share of all cases that had to recover and had done so by then."""
        shares, wanted = sorted(self.shares), len(self.shares) + self.missing
        every = max(1, len(shares) // _MOST_POINTS)
        last = len(shares) - 1
        places = [n for n in range(len(shares)) if n % every == 0 or n == last or shares[n + 1] > 1 >= shares[n]]
        # Of equal ones the last one counts all of them.
        places = [n for n in places if n == last or shares[n + 1] > shares[n] or n + 1 not in places]
        xs = tuple(round(shares[n], 6) for n in places)
        return Curve(name=name, xs=(0.0, *xs), ys=(0.0, *(round((n + 1) / wanted, 6) for n in places)), steps=True)


def recoveries(title: str, spreads: Sequence[tuple[str, str, Spread]]) -> Chart | None:
    """A curve for each class with what became of its faults; of too many, those that came nearest to their bound. None:
    none of them has a recovery."""
    there = [each for each in spreads if each[2].shares]
    shown = sorted(there, key=lambda each: -max(each[2].shares))[:MOST_CURVES]
    if not there:
        return None
    left = len(there) - len(shown)
    note = "Up to each share of its bound, how many of the cases that had to recover had done so."
    return Chart(
        title=title,
        note=note
        + (f" The {len(shown)} classes that came nearest to their bound; {left} others aren't drawn." * (left > 0)),
        x=Axis(title="time, as a share of the bound", quantity="share", begin=0.0, end=_end(shown)),
        y=Axis(title="recovered", quantity="share", end=1.04),
        curves=tuple(spread.curve(name if ending == "-" else f"{name}, {ending}") for name, ending, spread in shown),
        bounds=(Bound(name="bound", at=1.0, along="x"),),
    )


def _end(shown: Sequence[tuple[str, str, Spread]]) -> float:
    return 1.05 * max(1.0, *(max(spread.shares) for _, _, spread in shown))


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
