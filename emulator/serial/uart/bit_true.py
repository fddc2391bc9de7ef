"""A serial line that is simulated bit by bit: a client's UART and a card's, RTS and CTS between them.

    with BitTrueLink(link_library()) as link:
        link.write(Side.CLIENT, b"hello")
        link.pass_time(5 * link.clocks_per_byte + 16)
        assert link.read(Side.CARD) == b"hello"

Time is clocks of the UARTs, and passes when it is told to: the same calls give the same bytes in the same clocks.
"""

import ctypes
from dataclasses import dataclass
from enum import Enum
from typing import Self

BITS = 10  # of a byte on the line: start, 8 data bits, stop
OVERSAMPLE = 16  # ticks a bit
ONE_CLOCK = 256  # the divisor of one tick a clock, and the least one
MOST_DIVISOR = 0xFFFFFF
ROOM = 4096  # bytes
MOST_ROOM = 1 << 20
MOST_CLOCKS = 1 << 62


class Side(Enum):
    """Names an end of the link."""

    CLIENT = 0
    CARD = 1


@dataclass(frozen=True)
class EndCounts:
    """What an end has met since the start. `sent`: bytes that its transmitter has begun; `received`: bytes that came
    into its queue; `overruns`: bytes lost for want of room; `framing`: frames without a stop bit; `breaks`: times that
    the line was low for a whole frame."""

    sent: int
    received: int
    overruns: int
    framing: int
    breaks: int


class BitTrueLink:
    """Two UARTs of the RTL, wired to each other and simulated bit by bit.

    Two UARTs (docs/howto/hil.md), wired to each other, at rest.

    `divisor`: 1/256 clocks a tick, 16 ticks a bit; `card_divisor`: that of the card's end if it is another one.
    `flow_control`: each looks at the other's RTS. `room`: bytes in the queue before each transmitter, and in that
    behind each receiver; while that one is full, bytes stay in the receiver's FIFO. Raises ValueError.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        *,
        divisor: int = ONE_CLOCK,
        card_divisor: int | None = None,
        flow_control: bool = True,
        room: int = ROOM,
    ) -> None:
        other = divisor if card_divisor is None else card_divisor
        for name, value in (("divisor", divisor), ("card_divisor", other)):
            _check(name, value, ONE_CLOCK, MOST_DIVISOR)
        _check("room", room, 1, MOST_ROOM)
        self._calls, self._room, self._divisor = library, room, divisor
        self._link: int | None = library.uart_create(divisor, other, flow_control, room)

    def close(self) -> None:
        """End it. What is asked of it afterwards raises ValueError."""
        if self._link is not None:
            self._calls.uart_destroy(self._link)
            self._link = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def now(self) -> int:
        """Clocks since the start."""
        return int(self._calls.uart_now(self._open))

    @property
    def clocks_per_byte(self) -> float:
        """Clocks that a byte of the client's takes on the line."""
        return BITS * OVERSAMPLE * self._divisor / ONE_CLOCK

    @property
    def idle(self) -> bool:
        """Nothing waits to be sent and nothing is under way: until something is written, read or disturbed only time
        passes."""
        return bool(self._calls.uart_idle(self._open))

    def write(self, side: Side, data: bytes) -> int:
        """Have this side send these bytes; how many of them its queue had room for."""
        return int(self._calls.uart_write(self._open, side.value, data, len(data)))

    def read(self, side: Side, most: int = MOST_ROOM) -> bytes:
        """Up to `most` bytes that have come to this side."""
        link = self._open
        _check("most", most, 0, MOST_ROOM)
        buffer = ctypes.create_string_buffer(min(most, self.waiting(side)))
        given = self._calls.uart_read(link, side.value, buffer, len(buffer))
        return buffer.raw[:given]

    def waiting(self, side: Side) -> int:
        """Bytes that have come to this side and weren't read."""
        return int(self._calls.uart_arrived(self._open, side.value))

    def unsent(self, side: Side) -> int:
        """Bytes that wait for this side's transmitter."""
        return int(self._calls.uart_unsent(self._open, side.value))

    def room(self, side: Side) -> int:
        """Bytes that this side's queue still takes."""
        return self._room - self.unsent(side)

    def pass_time(self, clocks: int) -> None:
        """Let so many clocks pass."""
        _check("clocks", clocks, 0, MOST_CLOCKS - self.now)
        self._calls.uart_pass(self._open, clocks)

    def disturb(self, side: Side, clocks: int) -> None:
        """Invert the line on which this side transmits for so many clocks from now on, in place of what an earlier call
        has left of it; 0: not any more."""
        _check("clocks", clocks, 0, MOST_CLOCKS - self.now)
        self._calls.uart_disturb(self._open, side.value, clocks)

    def counts(self, side: Side) -> EndCounts:
        """What this side has met."""
        return EndCounts(*self._calls.uart_counts(self._open, side.value)[:5])

    @property
    def _open(self) -> int:
        if self._link is None:
            raise ValueError("the link is closed")
        return self._link


def _check(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name}: found {value}; allowed are {low} .. {high}")
