"""Requests from other threads to a group tree, carried out by the thread that lets time pass, between two cycles.

What is asked and what comes of it can be written down, each a row with its cycle, so that a run with the same requests
in the same cycles is the same run:

| key | |
|---|---|
| `request` | its number, from 1; `does`: mkdir, rmdir, read or write; `path`; `text` that is written |
| `reply` | to the request of this number; `error`: name of an errno, or null; `text` that was read |
"""

import errno
import os
import socket
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from ringhil.emulator.host.groups.tree import GroupTree
from ringhil.emulator.judge.run import Run
from ringhil.emulator.serial.server.clients import Cycle, Note, SessionRow

Does = Literal["mkdir", "rmdir", "read", "write"]
_Number = Annotated[int, Field(ge=1, lt=1 << 31)]
_Text = Annotated[str, Field(max_length=1 << 20)]


class GroupAsked(SessionRow):
    """Somebody asks for something."""

    cycle: Cycle
    request: _Number
    does: Does
    path: _Text
    text: _Text = ""


class GroupReplied(SessionRow):
    """It was done, or refused."""

    cycle: Cycle
    reply: _Number
    error: str | None
    text: _Text


@dataclass(eq=False)
class _Waiting:
    does: Does
    path: str
    text: str
    ready: threading.Event = field(default_factory=threading.Event)
    error: int | None = None
    found: str = ""

    def end(self, error: int | None, found: str) -> None:
        self.error, self.found = error, found
        self.ready.set()


Replied = Callable[[int | None, str], None]  # errno and text


def carry_out(tree: GroupTree, does: Does, path: str, text: str, then: Replied) -> None:
    """One request, now; `then` may be called later."""
    try:
        match does:
            case "mkdir":
                tree.mkdir(path)
                then(None, "")
            case "rmdir":
                tree.rmdir(path)
                then(None, "")
            case "read":
                tree.read(path, lambda found: then(None, found))
            case "write":
                tree.write(path, text, lambda: then(None, ""))
    except OSError as error:
        then(error.errno or errno.EIO, "")


class GroupDesk:
    """Of one run. `note` writes down what is asked and answered. It has a descriptor (`fileno`): when something can be
    read there, have `attend` called, between two cycles."""

    def __init__(self, run: Run, note: Note | None = None) -> None:
        self._run, self._note = run, note
        self._asked: deque[_Waiting] = deque()
        self._open: set[_Waiting] = set()
        self._number = 0
        self._lock = threading.Lock()
        self._closed = False
        self._bell, self._rope = socket.socketpair()
        self._bell.setblocking(False)

    def fileno(self) -> int:
        """To be waited for."""
        return self._bell.fileno()

    def ask(self, does: Does, path: str, text: str = "") -> str:
        """From another thread: waits until it is done, which takes as long as the GPUs take to answer. Raises OSError;
        ENODEV: there is no run any more."""
        waiting = _Waiting(does, path, text)
        with self._lock:
            if self._closed:
                raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
            self._asked.append(waiting)
            self._rope.send(b"!")
        waiting.ready.wait()
        if waiting.error is not None:
            raise OSError(waiting.error, os.strerror(waiting.error))
        return waiting.found

    def attend(self) -> None:
        """Begin with all that has been asked."""
        try:
            self._bell.recv(4096)
        except BlockingIOError:
            return
        while self._asked:
            self._begin(self._asked.popleft())

    def close(self) -> None:
        """Nobody plays any more: whoever waits is told so. Once or twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for waiting in (*self._asked, *self._open):
            waiting.end(errno.ENODEV, "")
        self._bell.close()
        self._rope.close()

    def _begin(self, waiting: _Waiting) -> None:
        self._number += 1
        number = self._number
        self._open.add(waiting)
        row = {"request": number, "does": waiting.does, "path": waiting.path}
        self._write(row | ({"text": waiting.text} if waiting.does == "write" else {}))

        def replied(error: int | None, found: str) -> None:
            self._open.discard(waiting)
            self._write({"reply": number, "error": name_of(error), "text": found})
            waiting.end(error, found)

        carry_out(self._run.server.process_groups, waiting.does, waiting.path, waiting.text, replied)

    def _write(self, row: dict[str, Any]) -> None:
        if self._note is not None and not self._closed:
            self._note({"cycle": self._run.kernel.now, **row})


def name_of(error: int | None) -> str | None:
    """EINVAL, say: numbers differ from system to system."""
    return None if error is None else errno.errorcode.get(error, str(error))
