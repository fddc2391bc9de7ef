"""R8: an entry GPU lets frames enter for the cards that its own census has found a way to, and for no others.

After each census with records its register `exits` holds the cards behind the boundary GPUs that were found. It is
looked at when the next census is accepted, and at the end of the run.
"""

from collections.abc import Callable

from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.server import FirmwareStopped
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.seat_events import SeatDeposed
from ringhil.emulator.judge.findings import FindingList, Value, say
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.observations import Counted
from ringhil.protocol.wire import Role


class Exits:
    """`peek`: the register of a cell, by name."""

    def __init__(self, stream: Stream, wiring: Wiring, peek: Callable[[int, str], int]) -> None:
        self._wiring, self._peek = wiring, peek
        self._due: dict[int, tuple[int, int]] = {}  # by cell: what must be there, since when
        self.wrong = FindingList()
        stream.listen(FirmwareSaid, self._said)
        stream.listen(SeatDeposed, self._deposed)
        stream.listen(FirmwareStopped, lambda o: self._due.pop(o.cell, None))

    def _deposed(self, o: SeatDeposed) -> None:
        if o.seat.role is Role.ENTRY:
            self._due.pop(o.cell, None)

    def _said(self, o: FirmwareSaid) -> None:
        cell, what, now = o.cell, o.what, o.cycle
        if not isinstance(what, Counted):
            return
        self._look(cell, now)
        if what.members is not None:
            card = self._wiring.place(cell)[0]
            reached = 0
            for _, peer in what.boundaries:
                hop = self._wiring.hops.get((card, peer))
                reached |= hop.cards if hop is not None else 0
            self._due[cell] = reached, now

    def finish(self, now: int) -> None:
        """The run is over."""
        for cell in list(self._due):
            self._look(cell, now)

    def _look(self, cell: int, now: int) -> None:
        must, since = self._due.get(cell, (0, now))
        if since == now:
            return
        found = self._peek(cell, "exits")
        if found != must:
            name = self._wiring.gpu_of(cell)
            text = say(
                "it lets frames enter for {}; its census of cycle {} found {}", _names(found), since, _names(must)
            )
            self.wrong.tell(now, "{} at cycle {}: {}", name, now, text)


def _cards(bits: int) -> list[int]:
    return [card for card in range(bits.bit_length()) if bits >> card & 1]


def _names(bits: int) -> str:
    return Value(f"cards {_cards(bits)}" if bits else "none")
