"""Whose turn it is among requests of which some are stopped for others."""

from collections import deque
from collections.abc import Sequence

from ringhil.emulator.host.switching.plan import WantedTask


class RequestQueue:
    """Requests that have not had a turn have theirs in the order of the file; one that was stopped goes on when the
    next of these has not come yet. `since`: the cycle from which on requests are counted."""

    def __init__(self, requests: Sequence[WantedTask], since: int) -> None:
        self._new, self._since = deque(requests), since
        self._stopped = deque[WantedTask]()
        self._left = {wanted.number: wanted.task.steps for wanted in requests}

    def next(self, now: int) -> WantedTask | None:
        """The one that has the next turn, and may not have come yet; None: all are over."""
        if self._stopped and not self.has_come(now):
            return self._stopped.popleft()
        return self._new.popleft() if self._new else None

    def has_come(self, now: int) -> bool:
        """Whether a request that has not had a turn is there, and next."""
        return bool(self._new) and self._since + self._new[0].at <= now

    def left(self, wanted: WantedTask) -> int:
        """Steps that are not done."""
        return self._left[wanted.number]

    def stepped(self, wanted: WantedTask) -> None:
        """One more is done."""
        self._left[wanted.number] -= 1

    def stopped(self, wanted: WantedTask) -> None:
        """It waits for another turn."""
        self._stopped.append(wanted)
