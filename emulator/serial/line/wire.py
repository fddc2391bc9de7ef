"""The wires between a client and a card's management port: bytes take time on them, and faults of the line strike them.

A byte takes ten bit times each way, counted in cycles of the ring. On a line without a speed it takes no time.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from ringhil.emulator.serial.line import BITS
from ringhil.emulator.serial.line.noise import LineFaults, Noise

_HELD = 1 << 16  # bytes on their way, each way
_AHEAD = 4096  # cycles for which a line is given bytes that wait for it: it is looked at twice in them, and more often
_LEAST_AHEAD = 16  # bytes


class CardEnd(Protocol):
    """What wires need of a management port."""

    @property
    def full(self) -> bool: ...
    @property
    def waiting(self) -> int: ...
    def receive(self, data: bytes) -> None: ...
    def take(self, most: int, /) -> bytes: ...
    def close(self) -> None: ...


class Wire:
    """Carries bytes between a client and `port`. `now` returns the present cycle; a byte takes `byte` cycles."""

    def __init__(
        self, port: CardEnd, faults: LineFaults, now: Callable[[], int], *, byte: Fraction = Fraction(0), seed: str = ""
    ) -> None:
        self._port, self._now = port, now
        # What a line is not ready for stays with the card, which leaves events out rather than keep answers waiting.
        self._ahead = max(_LEAST_AHEAD, int(_AHEAD / byte)) if byte else _HELD
        self._to_card, self._to_client = _Way(faults, byte, f"{seed} in"), _Way(faults, byte, f"{seed} out")

    @property
    def full(self) -> bool:
        """Nothing more should be read from the client."""
        return self.room <= 0

    @property
    def room(self) -> int:
        """Bytes that the client may send now. There is no room while the card waits for the client to read."""
        return 0 if self._port.full else self._to_card.room

    @property
    def waiting(self) -> int:
        """Bytes that have arrived at the client's end."""
        self.advance()
        return len(self._to_client.arrived)

    def receive(self, data: bytes) -> None:
        """Takes bytes that the client sends now. Bytes for which the wires have no room are lost, as on a line without
        flow control."""
        self._to_card.put(data[: self._to_card.room], self._now())
        self.advance()

    def take(self, most: int = _HELD) -> bytes:
        """Up to `most` bytes that have arrived at the client's end."""
        self.advance()
        return self._to_client.take(most)

    def advance(self) -> None:
        """Moves bytes on to where they have come by now."""
        now = self._now()
        self._to_card.advance(now)
        if self._to_card.arrived and not self._port.full:
            self._port.receive(self._to_card.take(len(self._to_card.arrived)))
        room = min(self._to_client.room, self._ahead - self._to_client.coming)
        if room > 0:
            self._to_client.put(self._port.take(room), now)
        self._to_client.advance(now)

    def close(self) -> None:
        """The client has gone."""
        self._port.close()


def byte_time(clock: int, baud: int | None) -> Fraction:
    """Returns the cycles that a byte takes at `baud`, on a ring of `clock` cycles a second."""
    return Fraction(BITS * clock, baud) if baud else Fraction(0)


class _Way:
    """Holds the bytes of one direction: those on their way, and those that have arrived."""

    def __init__(self, faults: LineFaults, byte: Fraction, seed: str) -> None:
        self._byte, self._noise = byte, Noise(faults, seed)
        self._on_its_way = bytearray()
        self._since = Fraction(0)  # cycle in which the byte before began to be there
        self.arrived = bytearray()

    @property
    def room(self) -> int:
        return max(0, _HELD - len(self._on_its_way) - len(self.arrived))

    @property
    def coming(self) -> int:
        return len(self._on_its_way)

    def put(self, data: bytes, now: int) -> None:
        self.advance(now)
        if self._byte and not self._on_its_way:
            self._since = max(self._since, Fraction(now))
        self._on_its_way += data

    def advance(self, now: int) -> None:
        if not self._on_its_way:
            return
        passed = len(self._on_its_way)
        if self._byte:
            passed = min(passed, int((now - self._since) / self._byte))
            self._since += passed * self._byte
        data = bytes(self._on_its_way[:passed])
        del self._on_its_way[:passed]
        self.arrived += self._noise.strike(data)

    def take(self, most: int) -> bytes:
        data = bytes(self.arrived[:most])
        del self.arrived[:most]
        return data
