"""What a run comes to, in figures; and over several seeds their means, with intervals.

| file | figures |
|---|---|
| with times | `RUN` |
| `saturate` | `FILLED` |
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist, fmean, stdev
from typing import Any

from ringhil.emulator.cluster.play import PlacementRun
from ringhil.emulator.cluster.saturate import Saturated

_KWH = 3_600_000  # joules
_CONFIDENCE = 0.95
# Student's t for few degrees of freedom, from 1 on; behind them the series below is right in three digits.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


@dataclass(frozen=True)
class Figure:
    """`of` a run: None: there is none. `column`: of tables, in `unit`, of which the figure has `scale`; `key`: in JSON,
    where it isn't scaled."""

    column: str
    key: str
    of: Callable[[Any], float | None]
    unit: str = ""
    digits: int = 0
    scale: float = 1

    def text(self, value: float | None, half: float | None = None) -> str:
        """For people; `half`: of an interval around it."""
        if value is None:
            return "-"
        whole = half is None and float(value / self.scale).is_integer()
        digits = self.digits or (0 if whole else 1)
        spread = "" if half is None else f" ± {half / self.scale:,.{digits}f}"
        return f"{value / self.scale:,.{digits}f}{spread}{self.unit}"


@dataclass(frozen=True)
class SeedMean:
    """The mean of a figure over runs, and half the 95 percent interval around it (Student's t). None: all are equal, or
    there is one, so that nothing is known of how far others are from it. No mean: no run has the figure."""

    mean: float | None
    half: float | None

    @classmethod
    def of(cls, values: Sequence[float | None]) -> "SeedMean":
        """Of one figure of several runs."""
        found = [float(value) for value in values if value is not None]
        if not found:
            return cls(None, None)
        if len({*found}) == 1:
            return cls(found[0], None)
        return cls(fmean(found), student(len(found) - 1) * stdev(found) / math.sqrt(len(found)))


def student(degrees: int) -> float:
    """How many standard errors to either side of a mean make its 95 percent interval."""
    if degrees <= len(_T):
        return _T[degrees - 1]
    z = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
    terms = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + sum(term / float(degrees) ** power for power, term in enumerate(terms, 1))


def spreads(figures: Sequence[Figure], runs: Sequence[Any]) -> dict[str, SeedMean]:
    """By the figures' keys."""
    return {figure.key: SeedMean.of([figure.of(run) for run in runs]) for figure in figures}


def alike(runs: Mapping[int, Any]) -> bool:
    """Whether several seeds have made no difference at all."""
    first, *others = runs.values()
    return bool(others) and all(other == first for other in others)


def percentile(values: Sequence[float], percent: float) -> float | None:
    """The least value that so many percent of all don't exceed; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def over_time(played: PlacementRun, figure: str) -> float:
    """The mean of a figure of the run's curve."""
    curve = played.curve
    spans = [after.at - before.at for before, after in pairwise(curve)]
    spans.append(max(0.0, played.until - curve[-1].at))
    values = [float(getattr(at, figure)) for at in curve]
    return fmean(values, spans) if sum(spans) else values[-1]


def _saved(run: PlacementRun) -> float:
    return 100 * (1 - run.predicted_j / run.awake_j) if run.awake_j else 0.0


def _last(figure: str) -> Callable[[Saturated], float]:
    return lambda done: float(getattr(done.points[-1], figure))


RUN: tuple[Figure, ...] = (
    Figure("energy", "energy_j", lambda run: run.energy_j, " kWh", 3, _KWH),
    Figure("sleep saves", "saved_percent", _saved, " %", 1),
    Figure("awake", "awake_servers", lambda run: over_time(run, "awake"), "", 1),
    Figure("wake-ups", "wake_ups", lambda run: run.wake_ups),
    Figure("waiting", "waiting_median_s", lambda run: percentile(run.waited, 50), " s", 1),
    Figure("99 of 100", "waiting_p99_s", lambda run: percentile(run.waited, 99), " s", 1),
    Figure("unplaced", "unplaced", lambda run: run.unplaced),
    Figure("lost", "lost_tries", lambda run: run.lost),
    Figure("fragments", "fragmentation", lambda run: over_time(run, "fragmentation"), " %", 1),
)
FILLED: tuple[Figure, ...] = (
    Figure("asked", "percent", _last("percent"), " %"),
    Figure("allocated", "allocated", _last("allocated"), " %", 2),
    Figure("fragments", "fragmentation", _last("fragmentation"), " %", 2),
    Figure("power", "watts", _last("watts"), " kW", 1, 1000),
    Figure("failed", "unplaced", lambda done: done.failed),
)
