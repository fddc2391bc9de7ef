"""Wardens of a link between cards go on telling each other of their leases, and never fall silent."""

from ringhil.emulator.events.server import FirmwareStopped
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.messages import Seat
from ringhil.emulator.judge.elections.seat_events import KeepaliveSent
from ringhil.emulator.judge.findings import FindingList, say


class WardenKeepalives:
    """Of wardens that have others beside them."""

    def __init__(self, stream: Stream) -> None:
        self._last: dict[int, tuple[Seat, int]] = {}
        self.uneven = FindingList()
        stream.listen(KeepaliveSent, self._sent)
        stream.listen(FirmwareStopped, lambda o: self._last.pop(o.cell, None))

    def _sent(self, o: KeepaliveSent) -> None:
        if o.seat.grants:
            self._look(o.cell, o.cycle)
            self._last[o.cell] = o.seat, o.cycle

    def finish(self, now: int) -> None:
        """The run is over."""
        for cell in self._last:
            self._look(cell, now)

    def _look(self, cell: int, now: int) -> None:
        seat, last = self._last.get(cell, (None, now))
        if seat is not None and now - last > seat.times.interval:
            silent = say("{} told the other wardens nothing from cycle {} to {}", seat.name, last, now)
            self.uneven.tell(now, "{}; it does every {} cycles", silent, seat.times.interval)
