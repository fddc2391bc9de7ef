"""The socket at which programs ask about GPUs. It waits for nobody: a client that doesn't read, or sends what is no
question, is disconnected."""

import os
import selectors
import socket
import stat
from contextlib import suppress
from pathlib import Path

from ringhil.emulator.files import reason_of
from ringhil.emulator.nvml.answers import NvmlAnswers
from ringhil.emulator.nvml.messages import REQUEST_SIZE, MessageFault, Question, SocketError
from ringhil.emulator.nvml.peer import PeerProcess, peer_of, received, tell_senders
from ringhil.emulator.nvml.usage import PERIOD, UsageSampler
from ringhil.emulator.nvml.views import views_of
from ringhil.emulator.server import LiveServer

MOST_CLIENTS = 256
MOST_OF_ONE = 16  # of one process
MOST_OF_USER = 64  # of one user who isn't trusted
MOST_OF_OTHERS = 192  # of all these together: the others are for those who are
_LONGEST_PATH = 107  # bytes, of a socket's


class _Client:
    def __init__(self, connection: socket.socket, peer: PeerProcess) -> None:
        self.connection, self.peer = connection, peer
        self.waits: Question | None = None


class NvmlListener:
    """Listens at `path`, and lets everybody connect: what each is told is decided by who it is. `fileno` can be read
    from when somebody should be attended to (`attend`). Raises SocketError."""

    def __init__(self, path: Path, answers: NvmlAnswers) -> None:
        self.path, self._answers = path, answers
        self._socket = _listening(path)
        self._inode = path.stat().st_ino
        self._selector = selectors.EpollSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._clients: dict[int, _Client] = {}

    def fileno(self) -> int:
        """Returns the descriptor."""
        return self._selector.fileno()

    def attend(self) -> None:
        """Answers what has come, one question of each client."""
        ready = [key.fd for key, _ in self._selector.select(0)]
        for descriptor in ready:
            if descriptor in self._clients:
                self._hear(self._clients[descriptor])
        if self._socket.fileno() in ready:  # after those who have gone
            self._accept()

    def sampled(self) -> None:
        """Answers clients that waited for a new sample."""
        self._answers.sampled()
        for client in list(self._clients.values()):
            if client.waits is not None and not self._answers.must_wait(client.waits):
                question, client.waits = client.waits, None
                self._selector.register(client.connection, selectors.EVENT_READ)
                self._tell(client, question)

    def close(self) -> None:
        """Disconnects all clients and removes the socket."""
        for client in list(self._clients.values()):
            self._gone(client)
        self._selector.close()
        self._socket.close()
        with suppress(OSError):
            if self.path.stat().st_ino == self._inode:
                self.path.unlink()

    def _accept(self) -> None:
        with suppress(OSError):  # it has gone again
            connection, _ = self._socket.accept()
            connection.setblocking(False)
            peer = peer_of(connection)
            if peer is None or not self._has_room(peer):
                connection.close()
                return
            self._clients[connection.fileno()] = _Client(connection, peer)
            self._selector.register(connection, selectors.EVENT_READ)

    def _has_room(self, peer: PeerProcess) -> bool:
        """Whether one more of that process may come: nobody fills all places, and those who are trusted have some."""
        there = [client.peer for client in self._clients.values()]
        if len(there) >= MOST_CLIENTS or there.count(peer) >= MOST_OF_ONE:
            return False
        users = [other.uid for other in there if not other.trusted]
        return peer.trusted or (len(users) < MOST_OF_OTHERS and users.count(peer.uid) < MOST_OF_USER)

    def _hear(self, client: _Client) -> None:
        try:
            packet, sender = received(client.connection, REQUEST_SIZE + 1)
            question = Question.unpacked(packet)
        except BlockingIOError:
            return
        except (OSError, MessageFault):
            self._gone(client)
            return
        if sender != client.peer.pid or not client.peer.there:  # it has left its connection to somebody else
            self._gone(client)
        elif self._answers.must_wait(question):
            client.waits = question
            self._selector.unregister(client.connection)
        else:
            self._tell(client, question)

    def _tell(self, client: _Client, question: Question) -> None:
        try:
            client.connection.send(self._answers.answer(client.peer, question).packed())
        except OSError:  # gone, or it doesn't read
            self._gone(client)

    def _gone(self, client: _Client) -> None:
        del self._clients[client.connection.fileno()]
        if client.waits is None:
            self._selector.unregister(client.connection)
        client.connection.close()


def _listening(path: Path) -> socket.socket:
    """Returns a listening socket. A socket at which nobody listens any more is replaced."""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise SocketError(f"{path}: a socket's path has at most {_LONGEST_PATH} bytes; this one has {len(str(path))}")
    found = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        _clear(path)
        found.bind(str(path))
        path.chmod(0o666)
        found.listen(64)
        tell_senders(found)
        found.setblocking(False)
    except OSError as error:
        found.close()
        raise SocketError(f"{path}: cannot be listened at: {reason_of(error)}") from None
    except SocketError:
        found.close()
        raise
    return found


def _clear(path: Path) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise SocketError(f"{path}: is there, and no socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
            other.settimeout(1)
            try:
                other.connect(str(path))
            except (ConnectionRefusedError, FileNotFoundError):
                path.unlink()
            else:
                raise SocketError(f"{path}: somebody listens there already")


_SAMPLES = 6  # in a second of a ring that is paced
_LEAST = 1000  # cycles between two


def samples_every(clock: int | None) -> int:
    """Returns the cycles between two samples. `clock`: cycles of the ring in a second; None: as many as it can. A ring
    that can't keep a clock has as many samples as one without."""
    return PERIOD if clock is None else min(PERIOD, max(_LEAST, clock // _SAMPLES))


def nvml_listener(path: Path, server: LiveServer, period: int) -> NvmlListener:
    """Returns a listener for `server`, which has not started yet; `period`: cycles between samples. Raises
    SocketError."""
    views = views_of(server)
    usage = UsageSampler(server, views, period)
    listener = NvmlListener(path, NvmlAnswers(server, views, usage))
    usage.on_sample = listener.sampled
    return listener
