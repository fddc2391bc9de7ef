"""What other threads ask about loans, done by the thread that plays the run, between two steps of it."""

import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from ringhil.emulator.errors import RinghilError

MOST_WAITING = 1000


class DeskClosedError(RinghilError):
    """There is no run any more, or too many wait for it."""


class LoanDesk:
    """It has a descriptor (`fileno`): when something can be read there, have `attend` called."""

    def __init__(self) -> None:
        self._asked: deque[tuple[Callable[[Future[Any]], None], Future[Any]]] = deque()
        self._lock = threading.Lock()
        self._closed = False
        self._bell, self._rope = socket.socketpair()
        self._bell.setblocking(False)
        self._rope.setblocking(False)

    def fileno(self) -> int:
        """To be waited for."""
        return self._bell.fileno()

    def ask(self, what: Callable[[Future[Any]], None]) -> "Future[Any]":
        """From another thread: have `what` called with what is returned here; it sets the result, then or later. What
        it raises is raised for who waits. Raises DeskClosedError."""
        future: Future[Any] = Future()
        with self._lock:
            if self._closed or len(self._asked) >= MOST_WAITING:
                raise DeskClosedError("the server is about to end" if self._closed else "too many requests wait")
            self._asked.append((what, future))
            with suppress(BlockingIOError):  # it rings already
                self._rope.send(b"!")
        return future

    def attend(self) -> None:
        """Do all that was asked."""
        with suppress(BlockingIOError):
            self._bell.recv(4096)
        while self._asked:
            what, future = self._asked.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                what(future)
            except Exception as error:
                future.set_exception(error)

    def close(self) -> None:
        """Whoever waits hears that it is over; a second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for _, future in self._asked:
            future.set_exception(DeskClosedError("the server is about to end"))
        self._asked.clear()
        self._bell.close()
        self._rope.close()
