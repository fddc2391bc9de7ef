"""Times to places in a picture."""

from dataclasses import dataclass

WIDTH, LEFT = 1200, 150  # of all charts: the names of lanes are to the left
_TICKS = 8


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
        """Lines with their times."""
        ticks = [self.begin + (self.end - self.begin) * step / _TICKS for step in range(1, _TICKS)]
        return [{"x": self.x(at), "text": f"{at:,.1f} ms"} for at in ticks]
