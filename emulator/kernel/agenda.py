"""A kernel in which a timeline's events keep their place whenever they are added, and that can stop in between."""

import heapq
from collections.abc import Callable

from ringhil.emulator.kernel import Kernel

_ROOM = 1 << 40


class Agenda(Kernel):
    """Of one cycle first what was planned before `open`, then what is `early`, then all else, each in its order."""

    _early = 0

    def open(self) -> None:
        """From now on things are planned for after the early ones of their cycle."""
        self._early = self._order
        self._order += _ROOM

    def early(self, cycle: int, act: Callable[[], None]) -> None:
        """Have something done at a cycle that is not past, before what other parts do in it."""
        self._early += 1
        heapq.heappush(self._agenda, (max(cycle, self.engine.now), self._early, act))

    def run_before(self, cycle: int) -> None:
        """Go on to `cycle`, whatever `stop` says; what is to be done in that very cycle is still to come."""
        while self.now < cycle:
            self.run(cycle - 1)
            if not self._stopped:
                self._advance(cycle)
