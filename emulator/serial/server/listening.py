"""Opens the places where `ringhil serve` waits for clients: ptys, serial ports, TCP and RFC 2217."""

import os
import termios
import tty
from contextlib import suppress
from pathlib import Path

import serial

from ringhil.emulator.serial.line import BAUD
from ringhil.emulator.serial.line.reasons import not_opened
from ringhil.emulator.serial.server.lines import CHUNK, ClientLine, ListenError, TcpListener
from ringhil.emulator.serial.server.rfc2217 import Rfc2217Connection

ALLOWED = "pty, tcp://HOST:PORT, rfc2217://HOST:PORT and the path of a serial port"
_OUTPUT_SPEED = 5  # place in a terminal's settings
_SPEEDS = {getattr(termios, name): int(name[1:]) for name in dir(termios) if name[0] == "B" and name[1:].isdigit()}


class Pty(ClientLine):
    """A raw pseudo terminal. Clients open `name`, one after the other; the system doesn't say when one has gone."""

    def __init__(self) -> None:
        # Our own end of the other side stays open, or reading would fail whenever no client has it open.
        self._ours, self._theirs = os.openpty()
        tty.setraw(self._theirs)
        os.set_blocking(self._ours, False)
        self.name = os.ttyname(self._theirs)

    @property
    def baud(self) -> int | None:
        return _SPEEDS.get(termios.tcgetattr(self._theirs)[_OUTPUT_SPEED])

    def fileno(self) -> int:
        return self._ours

    def read(self, most: int = CHUNK) -> bytes | None:
        with suppress(BlockingIOError):
            return os.read(self._ours, most)
        return b""

    def write(self, data: bytes) -> int:
        with suppress(BlockingIOError):
            return os.write(self._ours, data)
        return 0

    def close(self) -> None:
        os.close(self._ours)
        os.close(self._theirs)


class RealPort(ClientLine):
    """A serial port of this machine, with somebody else at the other end of its cable. Raises ListenError."""

    lasting = True

    def __init__(self, path: Path, baud: int) -> None:
        try:
            self._port = serial.Serial(str(path), baud, timeout=0, write_timeout=0, exclusive=True)
        except (serial.SerialException, OSError, ValueError) as error:
            raise ListenError(f"{path}: cannot be opened: {not_opened(str(path), error)}") from error
        self.name, self.speed = str(path), baud

    def fileno(self) -> int:
        return int(self._port.fileno())

    def read(self, most: int = CHUNK) -> bytes | None:
        try:
            return bytes(self._port.read(most))
        except (serial.SerialException, OSError):
            return None

    def write(self, data: bytes) -> int | None:
        try:
            return int(os.write(self.fileno(), data))
        except BlockingIOError:
            return 0
        except (serial.SerialException, OSError):
            return None

    def close(self) -> None:
        self._port.close()


def for_one_card(where: str) -> bool:
    """Whether it can be opened once only."""
    return where.startswith("/") or ("://" in where and where.rpartition(":")[2] != "0")


def opened(where: str, *, baud: int = BAUD) -> TcpListener | ClientLine:
    """Opens `pty`, `tcp://HOST:PORT`, `rfc2217://HOST:PORT`, or the path of a serial port, at this baud rate. Raises
    ListenError."""
    if where == "pty":
        return Pty()
    if where.startswith("/"):
        return RealPort(Path(where), baud)
    scheme, _, rest = where.partition("://")
    host, _, port = rest.rpartition(":")
    if scheme not in ("tcp", "rfc2217") or not host or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise ListenError(f"--listen: found {where!r}; allowed are {ALLOWED}")
    if scheme == "tcp":
        return TcpListener(host.strip("[]"), int(port))
    return TcpListener(host.strip("[]"), int(port), "rfc2217", Rfc2217Connection)
