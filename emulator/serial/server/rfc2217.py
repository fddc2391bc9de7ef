"""A client that connects by RFC 2217: a serial port over TCP, whose settings go as Telnet commands.

pyserial's `PortManager` speaks the protocol; what it can't read ends the connection.
"""

import socket
import struct

from serial.rfc2217 import IAC, IAC_DOUBLED, PortManager

from ringhil.emulator.serial.line import BAUD
from ringhil.emulator.serial.server.lines import CHUNK, ClientLine, Connection

_LONGEST_COMMAND = 64  # bytes
_NOT_READ = (struct.error, TypeError, ValueError, KeyError)  # what `PortManager` raises at nonsense
_MOST_UNSENT = 1 << 20  # bytes that wait for a client to read


class _Settings:
    """Holds what a client may set and ask for, by pyserial's names. The modem lines of an emulated line are up."""

    baudrate, bytesize, parity, stopbits = BAUD, 8, "N", 1
    xonxoff = rtscts = break_condition = False
    dtr = rts = True
    cts = dsr = cd = True
    ri = False

    def reset_input_buffer(self) -> None:
        """What the client has sent is read at once."""

    def reset_output_buffer(self) -> None:
        """What is on its way to the client arrives."""


class Rfc2217Connection(ClientLine):
    """A TCP connection that carries bytes and settings."""

    def __init__(self, peer: socket.socket) -> None:
        self._line = Connection(peer)
        self.name = self._line.name
        self._settings = _Settings()
        self._unsent = bytearray()
        self._manager = PortManager(self._settings, _Answers(self._unsent))
        self._flush()

    @property
    def baud(self) -> int:
        """Baud rate that the client has set."""
        return self._settings.baudrate

    def fileno(self) -> int:
        return self._line.fileno()

    def read(self, most: int = CHUNK) -> bytes | None:
        data = self._line.read(most)
        if not data:
            self._flush()
            return data
        try:
            found = b"".join(self._manager.filter(data))
        except _NOT_READ:
            return None
        command = self._manager.suboption
        if (command is not None and len(command) > _LONGEST_COMMAND) or len(self._unsent) > _MOST_UNSENT:
            return None
        self._flush()
        return found

    def write(self, data: bytes) -> int | None:
        if not self._flush():
            return None
        if self._unsent:
            return 0
        self._unsent += data.replace(IAC, IAC_DOUBLED)
        self._flush()
        return len(data)

    def close(self) -> None:
        self._line.close()

    def _flush(self) -> bool:
        """Writes what it can; returns whether the client is still there."""
        written = self._line.write(bytes(self._unsent))
        del self._unsent[: written or 0]
        return written is not None


class _Answers:
    """Collects what `PortManager` writes."""

    def __init__(self, unsent: bytearray) -> None:
        self._unsent = unsent

    def write(self, data: bytes) -> None:
        self._unsent.extend(data)
