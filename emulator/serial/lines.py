"""Where clients come from: ptys, serial ports and TCP sockets, each a few calls that never wait."""

import os
import socket
import termios
import tty
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

import serial

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.serial.reasons import not_opened, said_by_system

CHUNK = 1 << 16  # bytes read at a time
_OUTPUT_SPEED = 5  # place in a terminal's settings
_SPEEDS = {getattr(termios, name): int(name[1:]) for name in dir(termios) if name[0] == "B" and name[1:].isdigit()}


class ListenError(RinghilError):
    """A port can't be opened; one line says which, and why."""


class ClientLine(ABC):
    """One client's line. `fileno`: to wait for."""

    name: str
    speed: int | None = None  # of its own wires, in baud; None: bytes take no time

    lasting = False  # nobody comes in its place once it is gone

    @property
    def baud(self) -> int | None:
        """The speed that the client has set; None: its kind of line has none, or it isn't known."""
        return None

    @abstractmethod
    def fileno(self) -> int:
        """The descriptor."""

    @abstractmethod
    def read(self, most: int = CHUNK) -> bytes | None:
        """What has come, up to `most` bytes, at once; None: the client has gone."""

    @abstractmethod
    def write(self, data: bytes) -> int | None:
        """Bytes that could be written at once; None: the client has gone."""

    @abstractmethod
    def close(self) -> None:
        """End it."""


class Pty(ClientLine):
    """A pseudo terminal, raw. Clients open `name`, one after the other; nobody is told when one has gone."""

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


class Connection(ClientLine):
    """A client's TCP connection."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        peer.setblocking(False)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.name = "{}:{}".format(*peer.getpeername()[:2])

    def fileno(self) -> int:
        return self._peer.fileno()

    def read(self, most: int = CHUNK) -> bytes | None:
        try:
            return self._peer.recv(most) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def write(self, data: bytes) -> int | None:
        try:
            return self._peer.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            return None

    def close(self) -> None:
        self._peer.close()


class TcpListener:
    """Takes connections at HOST:PORT, port 0 any free one; `name` is the URL to open. What comes is a `kind`."""

    def __init__(
        self, host: str, port: int, scheme: str = "socket", kind: Callable[[socket.socket], ClientLine] = Connection
    ) -> None:
        self._kind = kind
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server((host, port), family=family, reuse_port=False)
        except OSError as error:
            written = "tcp" if scheme == "socket" else scheme
            why = said_by_system(error) or error
            raise ListenError(f"{written}://{host}:{port}: cannot be opened: {why}") from error
        self._socket.setblocking(False)
        found, number = self._socket.getsockname()[:2]
        self.name = f"{scheme}://{f'[{found}]' if ':' in found else found}:{number}"

    def fileno(self) -> int:
        """The descriptor."""
        return self._socket.fileno()

    def accept(self) -> ClientLine | None:
        """The next client that waits."""
        try:
            return self._kind(self._socket.accept()[0])
        except OSError:
            return None

    def close(self) -> None:
        """No more clients."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
