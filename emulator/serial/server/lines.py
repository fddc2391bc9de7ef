"""A client's line, and TCP connections as such lines: a few calls that never wait."""

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.serial.line.reasons import said_by_system

CHUNK = 1 << 16  # bytes read at a time


class ListenError(RinghilError):
    """Says in one line which port can't be opened, and why."""


class ClientLine(ABC):
    """Is one client's line; `fileno` is what can be waited for."""

    name: str
    speed: int | None = None  # baud rate of its own wires; None: bytes take no time

    lasting = False  # nobody comes in its place once it is gone

    @property
    def baud(self) -> int | None:
        """Baud rate that the client has set; None when its kind of line has none, or when it isn't known."""
        return None

    @abstractmethod
    def fileno(self) -> int:
        """Returns the descriptor."""

    @abstractmethod
    def read(self, most: int = CHUNK) -> bytes | None:
        """Returns at once what has come, up to `most` bytes; None when the client has gone."""

    @abstractmethod
    def write(self, data: bytes) -> int | None:
        """Writes what can be written at once, and returns how many bytes; None when the client has gone."""

    @abstractmethod
    def close(self) -> None:
        """Closes the line."""


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
        """Returns the descriptor."""
        return self._socket.fileno()

    def accept(self) -> ClientLine | None:
        """Returns the next client that waits, or None."""
        try:
            return self._kind(self._socket.accept()[0])
        except OSError:
            return None

    def close(self) -> None:
        """Stops listening."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
