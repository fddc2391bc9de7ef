"""Charts of curves: one for each of several that are compared, over time or over percent."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ringhil.emulator.pages.scale import COLOURS, round_numbers

Point = tuple[float, float]

WIDTH, HEIGHT = 600, 220
LEFT, RIGHT, TOP, BOTTOM = 62, 32, 12, 26
BINS = 400  # of a curve that has more points
_DASHED = "6 3"  # of those that share a colour
# From which number on a unit fits, its name, and how much of what is counted it is.
_TIMES = ((3 * 86400.0, "d", 86400.0), (3 * 3600.0, "h", 3600.0), (600.0, "min", 60.0), (0.0, "s", 1.0))
_POWERS = ((1e6, "MW", 1e6), (1e3, "kW", 1e3), (0.0, "W", 1.0))


@dataclass(frozen=True)
class Unit:
    """A name, and how much of what is counted it is."""

    name: str
    size: float = 1.0


def time_unit(most: float) -> Unit:
    """For seconds up to `most`."""
    return _fitting(_TIMES, most)


def power_unit(most: float) -> Unit:
    """For watts up to `most`."""
    return _fitting(_POWERS, most)


def _fitting(units: Sequence[tuple[float, str, float]], most: float) -> Unit:
    return next(Unit(name, size) for least, name, size in units if most >= least)


@dataclass(frozen=True)
class CurveChart:
    """`curves`: by name, points with growing x, at most `end`. `steps`: a value lasts to the next point, and
    to `end`. `moves`: x is what the page's slider moves over."""

    title: str
    curves: Mapping[str, Sequence[Point]]
    end: float
    x: Unit
    y: Callable[[float], Unit]
    steps: bool = False
    moves: bool = True

    def drawn(self) -> dict[str, Any]:
        """What the template shows."""
        curves = {name: self._thinned(points) for name, points in self.curves.items()}
        highest = max((y for points in curves.values() for _, y in points), default=0.0)
        y_unit = self.y(highest)
        top = 1.04 * highest / y_unit.size or 1.0
        rounds = round_numbers(0.0, top, 5)
        if not y_unit.name:  # a number of things
            rounds = [(number, f"{number:,.0f}") for number, _ in rounds if number.is_integer()]
        height = HEIGHT - TOP - BOTTOM

        def y_at(value: float) -> float:
            return round(TOP + height * (1 - value / y_unit.size / top), 1)

        return {
            "title": f"{self.title}, {y_unit.name}" if y_unit.name else self.title,
            "moves": self.moves,
            "x_ticks": [
                {"x": self._x(number * self.x.size), "text": f"{text} {self.x.name}"}
                for number, text in round_numbers(0.0, self.end / self.x.size, 5)
            ],
            "y_ticks": [{"y": y_at(number * y_unit.size), "text": text} for number, text in rounds],
            "paths": [
                {**line(place), "name": name, "d": self._path(points, y_at)}
                for place, (name, points) in enumerate(curves.items())
            ],
        }

    @property
    def thinned(self) -> bool:
        """Whether a curve has means over bins in the place of its points."""
        return any(len(points) > BINS for points in self.curves.values())

    @property
    def one_in(self) -> int:
        """Of so many points one is drawn, of a curve without steps."""
        return math.ceil(max(map(len, self.curves.values()), default=0) / BINS)

    def _x(self, value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * value / max(self.end, 1e-9), 1)

    def _thinned(self, points: Sequence[Point]) -> Sequence[Point]:
        """The mean over each bin: steps of so many points would be a smear. Of other curves one point in several."""
        if len(points) <= BINS:
            return points
        if not self.steps:
            return [*points[: -1 : self.one_in], points[-1]]
        size = max(self.end, 1e-9) / BINS
        sums = [0.0] * BINS
        for (since, value), (until, _) in pairwise([*points, (self.end, 0.0)]):
            for place in range(min(BINS - 1, int(since / size)), min(BINS - 1, int(until / size)) + 1):
                sums[place] += value * max(0.0, min(until, (place + 1) * size) - max(since, place * size))
        return [(place * size, each / size) for place, each in enumerate(sums)]

    def _path(self, points: Sequence[Point], y_at: Callable[[float], float]) -> str:
        if not points:
            return ""
        found = [f"M{self._x(points[0][0])} {y_at(points[0][1])}"]
        for x, y in points[1:]:
            found.append(f"H{self._x(x)}V{y_at(y)}" if self.steps else f"L{self._x(x)} {y_at(y)}")
        return "".join([*found, f"H{self._x(self.end)}"] if self.steps else found)


def line(place: int) -> dict[str, str]:
    """Colour and dashes of the curve at that place among all."""
    return {"colour": COLOURS[place % len(COLOURS)], "dash": _DASHED if place >= len(COLOURS) else "none"}
