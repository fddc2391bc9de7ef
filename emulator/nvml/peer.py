"""Who is at the other end of a socket, and whose child it is: as the system says, whatever it says itself."""

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_CREDENTIALS = struct.Struct("3i")
_MOST = 64  # generations


@dataclass(frozen=True, slots=True)
class PeerProcess:
    """A process: `began` tells it from a later one with the same number."""

    pid: int
    uid: int
    began: int

    @property
    def there(self) -> bool:
        """Says that it hasn't ended."""
        return began(self.pid) == self.began

    @property
    def trusted(self) -> bool:
        """Says that it is the administrator's, or of the same user as the server."""
        return self.uid in (0, os.geteuid())


def peer_of(connection: socket.socket) -> PeerProcess | None:
    """Who has connected; None: it is not to be seen from here, or has ended."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(data)
    since = began(pid) if pid > 0 else None
    return None if since is None else PeerProcess(pid, uid, since)


def tell_senders(listening: socket.socket) -> None:
    """Have the system say with each packet on its connections which process has sent it."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)


def received(connection: socket.socket, most: int) -> tuple[bytes, int]:
    """The next packet, of `most` bytes, and the number of the process that has sent it. Raises OSError."""
    packet, said, _, _ = connection.recvmsg(most, socket.CMSG_SPACE(_CREDENTIALS.size))
    # There is room for no more than that: a descriptor that somebody sends along is closed by the system.
    for level, kind, data in said:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            return packet, int(_CREDENTIALS.unpack(data)[0])
    return packet, 0


def began(pid: int) -> int | None:
    """Returns when a process began, in ticks since the machine did; None when there is no such process."""
    found = _status(pid)
    return None if found is None else found[1]


def owner(pid: int) -> int | None:
    """Returns the user whose process it is; None when there is no such process."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None


def lineage(pid: int) -> Iterator[int]:
    """Returns it, its parent, and so on."""
    for _ in range(_MOST):
        yield pid
        found = _status(pid)
        if found is None or found[0] <= 0:
            return
        pid = found[0]


def _status(pid: int) -> tuple[int, int] | None:
    """Its parent, and when it began. A process that only waits for its parent to notice has ended."""
    try:
        words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if words[0] in (b"Z", b"X") else (int(words[1]), int(words[19]))
