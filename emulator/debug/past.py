"""A run at any of its cycles: forwards by playing, backwards by playing again from the nearest moment that was kept."""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ringhil.emulator.debug.checkpoints import NEAR, dispensable, on_the_way
from ringhil.emulator.debug.processes import Debuggee, Moment, beginning

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
