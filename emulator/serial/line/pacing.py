"""Paces a ring to real time by this machine's clock. A ring that can't keep up runs late; what is more than a second
late is not caught up."""

import time
from collections.abc import Callable

_CATCHES_UP = 1.0  # seconds


class Pacing:
    """Says how far a ring of `clock` cycles a second should be. Time begins with `begin`, or with the first cycle that
    is waited for. `behind`: seconds that the ring was late when `due` was asked last, those included that are not
    caught up."""

    def __init__(
        self,
        clock: int,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.clock, self._monotonic, self._sleep = clock, monotonic, sleep
        self._began: float | None = None  # in seconds, with cycle `_from`
        self._from = 0
        self._lost = self.behind = 0.0

    def begin(self, cycle: int) -> None:
        """Takes this moment as that of `cycle`."""
        self._began, self._from = self._monotonic(), cycle

    def due(self, now: int, step: int) -> int:
        """Returns the cycle at which a ring that is at `now` should be. A ring that is more than a second late should
        do `step` cycles, and counts as in time then."""
        seconds = self._monotonic()
        assert self._began is not None
        due = self._from + int((seconds - self._began) * self.clock)
        self.behind = self._lost + max(0, due - now) / self.clock
        if due > now + _CATCHES_UP * self.clock:
            self._lost += (due - now - step) / self.clock
            due = now + step
            self._began, self._from = seconds, due
        return due

    def wait(self, cycle: int) -> None:
        """Let time pass until the ring should be at `cycle`."""
        if self._began is None:
            self.begin(cycle)
            return
        left = self._began + (cycle - self._from) / self.clock - self._monotonic()
        if left > 0:
            self._sleep(left)
        elif left < -_CATCHES_UP:
            self.begin(cycle)
