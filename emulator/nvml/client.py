"""A client of the socket in Python, for what only ringhil asks: to enter an application."""

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

from ringhil.emulator.files import reason_of
from ringhil.emulator.nvml.messages import (
    LONGEST_TEXT,
    VERSION,
    MessageFault,
    NvmlAnswer,
    NvmlTopic,
    Question,
    SocketError,
    Status,
)

_PATIENCE = 20.0  # seconds
_LONGEST = 4096
_WHY = {
    Status.NOT_FOUND: "there is no such application; allowed are those of the served file",
    Status.NO_PERMISSION: "not for a process of another user, or one that is in another application or group",
    Status.LIB_RM_VERSION_MISMATCH: "the server is of another version",
}


def unheard(path: Path) -> str | None:
    """Returns why nobody listens there; None when somebody does. Raises SocketError where nobody ever can."""
    _check(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        try:
            line.connect(str(path))
        except OSError as error:
            return reason_of(error)
    return None


class NvmlClient:
    """One connection. Raises SocketError when nobody answers."""

    def __init__(self, path: Path) -> None:
        _check(path)
        self._path, self._socket = path, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_PATIENCE)
        try:
            self._socket.connect(str(path))
            self._done(self.ask(Question(NvmlTopic.HELLO, number=VERSION)))
        except OSError as error:
            self.close()
            raise SocketError(f"{path}: cannot be connected to: {reason_of(error)}") from None
        except SocketError:
            self.close()
            raise

    def enter(self, name: str) -> None:
        """This process, and its children from now on, see what the application `name` was given."""
        if len(os.fsencode(name)) > LONGEST_TEXT:
            raise SocketError(f"{self._path}: {name[:20]}...: {_WHY[Status.NOT_FOUND]}")
        self._done(self.ask(Question(NvmlTopic.ENTER, text=name)), f"{name}: ")

    def ask(self, question: Question) -> NvmlAnswer:
        """Asks one question, and returns its answer."""
        try:
            self._socket.send(question.packed())
            return NvmlAnswer.unpacked(self._socket.recv(_LONGEST))
        except TimeoutError:
            raise SocketError(f"{self._path}: no answer for {_PATIENCE:.0f} seconds") from None
        except MessageFault:
            raise SocketError(f"{self._path}: whoever listens there is no server of ours") from None

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()

    def _done(self, told: NvmlAnswer, what: str = "") -> None:
        if told.status is not Status.SUCCESS:
            raise SocketError(f"{self._path}: {what}{_WHY.get(told.status, told.status.name)}")


def _check(path: Path) -> None:
    with suppress(OSError):
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise SocketError(f"{path}: is there, and no socket")
