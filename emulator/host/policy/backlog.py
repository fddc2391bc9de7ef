"""Units that have not been handed out yet, as ranges: memory does not grow with the number of units."""

from collections import deque


class Backlog:
    """Ranges of unit numbers, taken from the front."""

    def __init__(self) -> None:
        self._ranges: deque[tuple[int, int]] = deque()  # first, one past the last

    def __len__(self) -> int:
        return sum(end - start for start, end in self._ranges)

    def add(self, start: int, end: int) -> None:
        """Put units start..end-1 at the end."""
        if start < end:
            self._ranges.append((start, end))

    def pop(self) -> int | None:
        """The next unit, None when there is none."""
        if not self._ranges:
            return None
        start, end = self._ranges[0]
        if start + 1 == end:
            self._ranges.popleft()
        else:
            self._ranges[0] = (start + 1, end)
        return start

    def take(self, units: int) -> list[tuple[int, int]]:
        """Ranges with the next `units` units (fewer when there are fewer)."""
        taken = []
        while units and self._ranges:
            start, end = self._ranges.popleft()
            cut = min(end, start + units)
            taken.append((start, cut))
            units -= cut - start
            if cut < end:
                self._ranges.appendleft((cut, end))
        return taken
