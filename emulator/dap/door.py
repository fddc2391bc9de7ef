"""Between a client and the process that does what it asks for: whatever that is doing, a client that is gone ends it,
and `pause` and `disconnect` are heard.

Requests are handed on one by one. Nothing is left of a session, no process and no file, however it ends.
"""

import os
import select
import shutil
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Protocol

from ringhil.emulator.children import temporary_folder
from ringhil.emulator.dap.wire import Incoming, Message, decoded, write
from ringhil.emulator.debug.desk import Breaks
from ringhil.emulator.debug.processes import DebugError, end_without

_CHUNK = 1 << 16  # bytes
_MOST_WAITING = 256  # requests; what comes then waits outside
_PATIENCE = 2.0  # seconds, for what is being done when the client takes its leave
_LEAVING = ("disconnect", "terminate")

Say = Callable[[Message], None]


class Handler(Protocol):
    """Does what is asked."""

    def take(self, message: Message) -> bool:
        """One message; False: it was the last."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


Make = Callable[[Say, Breaks, str], Handler]
"""Called in the process, with what sends a message, what breaks off, and a folder for files."""


def serve(reading: int, writing: int, make: Make) -> None:
    """One session, until the client takes its leave or is gone. Raises WireError for one that speaks otherwise, and
    DebugError where the process that does it has died."""
    with temporary_folder("ringhil-dap-") as folder:
        door = _Door(reading, writing, make, str(folder))
        try:
            door.run()
        finally:
            door.close()


class _Door:
    def __init__(self, reading: int, writing: int, make: Make, folder: str) -> None:
        context = get_context("fork")
        self._reading, self._writing, self._incoming = reading, writing, Incoming()
        self._line, theirs = context.Pipe()
        self._broken = context.RawValue("Q", 0)
        arguments = (make, theirs, self._line, (reading, writing), Breaks(self._broken), folder)
        self._process: BaseProcess = context.Process(target=_work, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self._waiting = deque[Message]()
        self._given = 0  # requests
        self._busy = True  # until it says that it is ready
        self._deadline: float | None = None
        self._leave: Message | None = None

    def run(self) -> None:
        """See `serve`."""
        while True:
            if not self._busy and self._waiting:
                self._given, self._busy = self._given + 1, True
                with suppress(OSError):  # it is heard below that it has died
                    self._line.send((self._given, self._waiting.popleft()))
            looked = select.poll()
            looked.register(self._line.fileno(), select.POLLIN)
            full = len(self._waiting) >= _MOST_WAITING
            looked.register(self._reading, 0 if full else select.POLLIN)
            wait = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
            ready = dict(looked.poll(None if wait is None else 1000 * wait))
            if self._deadline is not None and not ready:
                self._say_farewell()
                return
            if self._line.fileno() in ready:
                try:
                    self._line.recv()
                except (EOFError, OSError):
                    self._process.join(_PATIENCE)
                    if self._process.exitcode:
                        raise DebugError("the process that played it has died") from None
                    return
                self._busy = False
            if what := ready.get(self._reading):
                if not what & select.POLLIN:
                    return  # the client is gone
                if not self._heard(os.read(self._reading, _CHUNK)):
                    return

    def _heard(self, data: bytes) -> bool:
        for body in self._incoming.feed(data):
            try:
                message = decoded(body)
            except ValueError as error:
                message = {"type": "malformed", "why": str(error)}
            self._waiting.append(message)
            if message.get("command") in (*_LEAVING, "pause"):
                self._break_off()
            if message.get("command") in _LEAVING and self._deadline is None:
                self._leave, self._deadline = message, time.monotonic() + _PATIENCE
        return bool(data)

    def _break_off(self) -> None:
        if self._busy and self._process.pid is not None:
            self._broken.value = self._given
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGINT)

    def _say_farewell(self) -> None:
        """What it is doing takes long: it is ended, and doesn't answer."""
        self._process.kill()
        self._process.join()
        assert self._leave is not None
        answer = {"seq": 0, "type": "response", "request_seq": self._leave.get("seq", 0), "success": True}
        with suppress(OSError):
            write(self._writing, {**answer, "command": str(self._leave.get("command"))})
            write(self._writing, {"seq": 0, "type": "event", "event": "terminated"})

    def close(self) -> None:
        """It ends, whatever it is doing."""
        self._line.close()
        if self._busy:
            self._process.kill()
        self._process.join(_PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def _work(make: Make, line: Connection, other: Connection, ends: tuple[int, int], breaks: Breaks, folder: str) -> None:
    other.close()  # or it would wait for itself
    reading, writing = ends
    if reading != writing:
        os.close(reading)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_without([line], lambda: shutil.rmtree(folder, ignore_errors=True))
    breaks.begin(0)
    handler = make(lambda message: write(writing, message), breaks, folder)
    try:
        with suppress(EOFError, OSError):
            while True:
                line.send(None)
                number, message = line.recv()
                breaks.begin(number)
                if not handler.take(message):
                    break
    finally:
        handler.close()
