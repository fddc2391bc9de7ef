"""Times to places in a picture, and to words."""

import math
from dataclasses import dataclass

WIDTH, LEFT = 1200, 150  # of charts with lanes: their names are to the left
COLOURS = ("#2a9d5a", "#4a7ebb", "#e0a030", "#c0504d", "#8064a2", "#2aa0a8", "#a07840", "#6b7a8f")
_TICKS = 8  # at most
_STEPS = (1, 2, 5, 10)
# Milliseconds from which on a unit fits, its name, how many of it a millisecond has, and digits down to a nanosecond or
# a microsecond.
_UNITS = ((10_000.0, "s", 0.001, 6), (1.0, "ms", 1.0, 3), (0.0, "us", 1000.0, 3))


@dataclass(frozen=True)
class Scale:
    """Milliseconds; what is outside is at the edge."""

    begin: float
    end: float

    def x(self, ms: float) -> float:
        """The place of a time."""
        inside = min(max(ms, self.begin), self.end)
        return round(LEFT + (inside - self.begin) * (WIDTH - LEFT) / max(1e-9, self.end - self.begin), 2)

    def ticks(self) -> list[dict[str, object]]:
        """Lines at round times, with these, all in one unit."""
        _, unit, factor, _ = self._unit
        found = round_numbers(self.begin * factor, self.end * factor, _TICKS)
        return [{"x": self.x(number / factor), "text": f"{text} {unit}"} for number, text in found]

    def span(self, since: float, until: float) -> str:
        """Two times of it, to the microsecond, in the unit of its ticks."""
        _, unit, factor, digits = self._unit
        return f"{since * factor:,.{digits}f} to {until * factor:,.{digits}f} {unit}"

    @property
    def _unit(self) -> tuple[float, str, float, int]:
        return next(unit for unit in _UNITS if self.end >= unit[0])


def round_numbers(begin: float, end: float, most: int) -> list[tuple[float, str]]:
    """Round ones from `begin` to `end`, equally far apart, about `most` of them; and each as it is written."""
    least = max(end - begin, 1e-9) / most
    power = math.floor(math.log10(least))
    step = next(each for each in _STEPS if each * 10.0**power >= least)
    power, step = (power + 1, 1) if step == _STEPS[-1] else (power, step)
    size, digits = step * 10.0**power, max(0, -power)
    numbers = range(math.ceil(begin / size), math.floor(end / size) + 1)
    return [(number * size, f"{number * size:,.{digits}f}") for number in numbers]
