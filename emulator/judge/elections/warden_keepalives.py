"""Wardens of a link between cards go on telling each other of their leases, and never fall silent."""

from ringhil.emulator.judge.elections.messages import Seat
from ringhil.emulator.judge.findings import FindingList, say


class WardenKeepalives:
    """Feed it in the order of time, by seats of wardens that have others beside them."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[Seat, int]] = {}
        self.uneven = FindingList()

    def sent(self, cell: int, seat: Seat, now: int) -> None:
        """It sends a keepalive round the ring."""
        self._look(cell, now)
        self._last[cell] = seat, now

    def stopped(self, cell: int) -> None:
        """Its GPU has failed."""
        self._last.pop(cell, None)

    def finish(self, now: int) -> None:
        """The run is over."""
        for cell in self._last:
            self._look(cell, now)

    def _look(self, cell: int, now: int) -> None:
        seat, last = self._last.get(cell, (None, now))
        if seat is not None and now - last > seat.times.interval:
            silent = say("{} told the other wardens nothing from cycle {} to {}", seat.name, last, now)
            self.uneven.tell(now, "{}; it does every {} cycles", silent, seat.times.interval)
