"""Times to places in a picture, and to words."""

import math
from dataclasses import dataclass

WIDTH, LEFT = 1200, 150  # of all charts: the names of lanes are to the left
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
        begin, end = self.begin * factor, self.end * factor
        least = max(end - begin, 1e-9) / _TICKS
        power = math.floor(math.log10(least))
        step = next(each for each in _STEPS if each * 10.0**power >= least)
        power, step = (power + 1, 1) if step == _STEPS[-1] else (power, step)
        size, digits = step * 10.0**power, max(0, -power)
        numbers = range(math.ceil(begin / size), math.floor(end / size) + 1)
        return [{"x": self.x(n * size / factor), "text": f"{n * size:,.{digits}f} {unit}"} for n in numbers]

    def span(self, since: float, until: float) -> str:
        """Two times of it, to the microsecond, in the unit of its ticks."""
        _, unit, factor, digits = self._unit
        return f"{since * factor:,.{digits}f} to {until * factor:,.{digits}f} {unit}"

    @property
    def _unit(self) -> tuple[float, str, float, int]:
        return next(unit for unit in _UNITS if self.end >= unit[0])
