"""A run at any of its cycles: forwards by playing, backwards by playing again from the nearest moment that was kept.

Moments are kept densely near the present, sparsely away from it, and everywhere so many that to play on from one of
them doesn't take long.
"""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ringhil.emulator.debug.processes import Debuggee, Moment, beginning

NEAR = 512  # cycles: none is kept for less
SPREAD = 96  # moments over the whole of a run, however long it is
_NEIGHBOURHOOD = 16  # the part of a run in which those near the present are worth more


def on_the_way(start: int, target: int, end: int = 0) -> list[int]:
    """Where to leave some when time goes from one cycle to another: at half of the way, half of the rest and so on;
    of a run that is `end` cycles long also at even distances."""
    found, left = [], (target - start) // 2
    while left >= NEAR:
        found.append(target - left)
        left //= 2
    step = max(NEAR, end // SPREAD)
    even = range((start // step + 1) * step, target, step) if end else ()
    kept = [start]
    for cycle in sorted({*found, *even}):
        if cycle - kept[-1] >= NEAR and target - cycle >= NEAR:
            kept.append(cycle)
    return kept[1:]


def dispensable(cycles: Sequence[int], present: int, end: int = 0) -> int:
    """Place of the one, of at least two in rising order, that is missed least; never the first of them. One is missed
    the less, the closer its neighbours are and, in the neighbourhood of the present, the farther it is from there.
    `end`: how many cycles the run has, if that is known."""
    farthest = end // _NEIGHBOURHOOD or max(cycles[-1], present)

    def worth(place: int) -> float:
        after = cycles[place + 1] if place + 1 < len(cycles) else max(end, present, cycles[place]) + NEAR
        return (after - cycles[place - 1]) / (min(abs(present - cycles[place]), farthest) + NEAR)

    return min(range(1, len(cycles)), key=worth)


MOST_MEMORY = 1 << 30  # bytes of all moments together
_MOST = 128  # moments


class Past:
    """At cycle 0 first. `memory`: bytes that the moments that are kept may have for themselves. `end`: how many cycles
    the run has; 0: that isn't known. Raises DebugError."""

    def __init__(self, make: Callable[[], Debuggee], memory: int = MOST_MEMORY, end: int = 0) -> None:
        self._memory, self._end = memory, end
        self._kept = [beginning(make)]
        (self._present,) = self._kept[0].travel([0])

    @property
    def cycle(self) -> int:
        """The present."""
        return self._present.cycle

    @property
    def moments(self) -> list[int]:
        """The cycles of those that are kept."""
        return [moment.cycle for moment in self._kept]

    def used(self) -> int:
        """Bytes of all moments together."""
        return sum(moment.memory() for moment in (*self._kept, self._present))

    def ask(self, what: str, *values: Any) -> Any:
        """Look at something, at present."""
        return self._present.ask(what, *values)

    @contextmanager
    def aside(self, cycle: int) -> Iterator[Moment]:
        """Another moment of this cycle, to be played on from; the present stays."""
        nearest = self._kept[bisect_right(self.moments, cycle) - 1]
        if nearest.cycle <= self._present.cycle <= cycle:
            nearest = self._present
        (moment,) = nearest.travel([cycle])
        try:
            yield moment
        finally:
            moment.close()

    def seek(self, cycle: int) -> None:
        """Go there. When it goes wrong, the present stays what it was."""
        place = bisect_right(self.moments, cycle) - 1
        nearest = self._kept[place]
        if nearest.cycle <= self._present.cycle <= cycle:
            if cycle - nearest.cycle < NEAR:
                self._present.go(cycle)
                return
            *left, arrived = self._present.travel([*on_the_way(self._present.cycle, cycle, self._end), cycle])
            if self._present.cycle - nearest.cycle >= NEAR:
                left.insert(0, self._present)
            else:
                self._present.close()
        else:
            *left, arrived = nearest.travel([*on_the_way(nearest.cycle, cycle, self._end), cycle])
            self._present.close()
        self._present = arrived
        if left:
            self._kept = sorted([*self._kept, *left], key=lambda moment: moment.cycle)
            self._thin_out()

    def _thin_out(self) -> None:
        # To look at the memory of all takes longer than a step back, which keeps none as a rule.
        while len(self._kept) > 1 and (len(self._kept) > _MOST or self.used() > self._memory):
            self._kept.pop(dispensable(self.moments, self.cycle, self._end)).close()

    def close(self) -> None:
        """End all processes."""
        for moment in (*self._kept, self._present):
            moment.close()
        with suppress(ChildProcessError):  # all others are children of this one's child, or of theirs
            os.waitpid(self._kept[0].process, 0)
