"""The wires to a management port, bit by bit: each byte passes through two UARTs in RTL, the client's and the card's.

The client's UART runs at the speed that the client has set, where its line has one: another than the card's, and they
don't understand each other. RTS and CTS hold up whoever is too fast. Faults of the line strike bytes that have arrived.
"""

import ctypes
from collections.abc import Callable
from fractions import Fraction

from ringhil.emulator.serial.line.noise import LineFaults, Noise
from ringhil.emulator.serial.line.wire import CardEnd
from ringhil.emulator.serial.uart import BitTrueLink, Side
from ringhil.emulator.serial.uart.bit_true import ONE_CLOCK, OVERSAMPLE

_HELD = 1 << 16  # bytes on their way, each way


class BitTrueWire:
    """`now`: the present cycle, of `clock` a second; `baud`: the card's speed; `set_baud`: the client's, None as the
    card's. Raises ValueError for a speed that no divisor gives."""

    def __init__(
        self,
        port: CardEnd,
        faults: LineFaults,
        now: Callable[[], int],
        library: ctypes.CDLL,
        *,
        clock: int,
        baud: int,
        set_baud: Callable[[], int | None] = lambda: None,
        seed: str = "",
    ) -> None:
        self._port, self._now, self._library = port, now, library
        self._clock, self._baud, self._set_baud = clock, baud, set_baud
        self._noise_in, self._noise_out = Noise(faults, f"{seed} in"), Noise(faults, f"{seed} out")
        self._to_send, self._arrived = bytearray(), bytearray()
        self._speed, self._link = 0, BitTrueLink(library)
        self._began, self._rate = now(), Fraction(1)
        self._follow()

    def _follow(self) -> None:
        """Starts both UARTs afresh where the client has set another speed."""
        speed = self._set_baud() or self._baud
        if speed == self._speed:
            return
        self._link.close()
        fastest, self._speed = max(speed, self._baud), speed
        divisors = [ONE_CLOCK * fastest // each for each in (speed, self._baud)]
        self._link = BitTrueLink(self._library, divisor=divisors[0], card_divisor=divisors[1])
        self._began, self._rate = self._now(), Fraction(OVERSAMPLE * fastest, self._clock)

    @property
    def full(self) -> bool:
        """Nothing more should be read from the client."""
        return self.room <= 0

    @property
    def room(self) -> int:
        """Bytes that the client may send now. There is no room while the card waits for the client to read."""
        return 0 if self._port.full else _HELD - len(self._to_send)

    @property
    def waiting(self) -> int:
        """Bytes that have arrived at the client's end."""
        self.advance()
        return len(self._arrived)

    def receive(self, data: bytes) -> None:
        """Takes bytes that the client sends now. Bytes for which there is no room are lost."""
        self.advance()
        self._to_send += data[: max(0, _HELD - len(self._to_send))]
        self.advance()

    def take(self, most: int = _HELD) -> bytes:
        """Up to `most` bytes that have arrived at the client's end."""
        self.advance()
        data = bytes(self._arrived[:most])
        del self._arrived[:most]
        return data

    def advance(self) -> None:
        """Moves bytes on to where they have come by now."""
        self._follow()
        link = self._link
        link.pass_time(max(0, int((self._now() - self._began) * self._rate) - link.now))
        heard = b"" if self._port.full else self._noise_in.strike(link.read(Side.CARD))
        if heard:
            self._port.receive(heard)
        if len(self._arrived) < _HELD:
            self._arrived += self._noise_out.strike(link.read(Side.CLIENT))
        del self._to_send[: link.write(Side.CLIENT, bytes(self._to_send))]
        room = link.room(Side.CARD)
        if room:
            link.write(Side.CARD, self._port.take(room))

    def close(self) -> None:
        """The client has gone."""
        self._link.close()
        self._port.close()
