"""Passes bytes between a card's port and any program, both ways as they come, and records them.

While much waits for one side, nothing is read from the other. What is recorded is what the card was given, and what it
gave.
"""

import selectors
from collections.abc import Callable
from contextlib import suppress

from serial import SerialBase

from ringhil.emulator.serial.server.lines import ClientLine, TcpListener
from ringhil.emulator.serial.session.recording import SessionWriter

ROOM = 1 << 16  # bytes that wait for one side
_WAIT = 0.1  # seconds between two looks at whether to go on
_LOOK = 0.002  # seconds for a card without a descriptor: it is waited for by reading


class Relay:
    """Connects `card`, an open port, with programs that come to `where`, one at a time. Closes both, and the
    session."""

    def __init__(self, card: SerialBase, where: ClientLine | TcpListener, writer: SessionWriter) -> None:
        self._card, self._where, self._writer = card, where, writer
        self._program: ClientLine | None = where if isinstance(where, ClientLine) else None
        self.to_card, self.to_program = bytearray(), bytearray()
        self._descriptor = _descriptor(card)
        card.timeout = _LOOK if self._descriptor is None else 0
        card.write_timeout = 0 if self._descriptor is not None else None
        self._selector = selectors.DefaultSelector()

    def serve(self, until: Callable[[], bool]) -> None:
        """Go on until somebody says so. Raises SerialException or OSError when the card's line goes, SessionError when
        the session can't be written."""
        while not until():
            self.look(_WAIT)

    def close(self) -> None:
        """Closes all that it was given."""
        self._selector.close()
        with suppress(OSError):  # a line that is gone
            self._card.close()
        if self._program is not None and self._program is not self._where:
            self._program.close()
        self._where.close()
        self._writer.close()

    def look(self, wait: float) -> None:
        """Passes on what is there; waits for it for up to `wait` seconds."""
        ready = self._ready(wait)
        if self._descriptor is None or self._descriptor in ready:
            self._card_side(ready.get(self._descriptor, 0) if self._descriptor is not None else None)
        if self._program is None:
            self._come()
        elif self._program.fileno() in ready:
            self._program_side()
        if self._program is not None and self.to_program:
            written = self._program.write(bytes(self.to_program))
            del self.to_program[: written or 0]  # that it has gone is seen by reading

    # ----------------------------------------------------------------------------------------------------------

    def _ready(self, wait: float) -> dict[int, int]:
        """Returns the descriptors at which something can be done, and what."""
        wanted = dict[int, int]()
        if self._descriptor is not None:
            reads = selectors.EVENT_READ if len(self.to_program) < ROOM else 0
            wanted[self._descriptor] = reads | (selectors.EVENT_WRITE if self.to_card else 0)
        if self._program is None:
            wanted[self._where.fileno()] = selectors.EVENT_READ
        else:
            reads = selectors.EVENT_READ if len(self.to_card) < ROOM else 0
            wanted[self._program.fileno()] = reads | (selectors.EVENT_WRITE if self.to_program else 0)
        for descriptor, events in wanted.items():
            if events:
                self._selector.register(descriptor, events)
        try:
            found = self._selector.select(wait if self._descriptor is not None else 0)
            return {key.fd: events for key, events in found}
        finally:
            for registered in list(self._selector.get_map()):
                self._selector.unregister(registered)

    def _card_side(self, events: int | None) -> None:
        """Reads and writes the card. `events` is what its descriptor is ready for; None for a card without one."""
        if self.to_card and (events is None or events & selectors.EVENT_WRITE):
            written = int(self._card.write(bytes(self.to_card)))
            self._writer.note(bytes(self.to_card[:written]), sent=True)
            del self.to_card[:written]
        if len(self.to_program) >= ROOM or (events is not None and not events & selectors.EVENT_READ):
            return
        if events is None:
            data = self._card.read(1)
            data += self._card.read(min(ROOM, self._card.in_waiting)) if data else b""
        else:
            data = self._card.read(ROOM)
        if data:
            self._writer.note(bytes(data), sent=False)
            self._give(bytes(data))

    def _give(self, data: bytes) -> None:
        if self._program is not None:  # nobody else will hear it
            self.to_program += data

    def _come(self) -> None:
        if isinstance(self._where, TcpListener):
            self._program = self._where.accept()

    def _program_side(self) -> None:
        assert self._program is not None
        data = self._program.read()
        if data is not None:
            self.to_card += data
            return
        self._program.close()
        self._program = None
        self.to_program.clear()


def _descriptor(card: SerialBase) -> int | None:
    try:
        return int(card.fileno())
    except OSError:
        return None
