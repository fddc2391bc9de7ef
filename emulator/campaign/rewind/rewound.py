"""A process that does one task after the other, each from the very same memory on: what a fork for each would give, at
a fraction of its price. After a task its memory is put back (csrc/rewind.c), with all that lies in it: models,
firmware, CPU, judge, the interpreter itself.

What isn't memory isn't put back: files that a task leaves open, processes that it has begun.
"""

import gc
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from ringhil.emulator.campaign.rewind.library import library
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.forks import ForkedError, answered, describe, fork, forked

T = TypeVar("T")
A = TypeVar("A")

_COLLECTED = 50_000  # objects more before the collector looks for garbage: most tasks end before, and then all is gone

_PATIENCE = 60.0  # seconds


class RewindError(RinghilError):
    """This system doesn't do it, or not for this process."""


@cache
def can_rewind() -> bool:
    """Whether this system does it. What it needs is made now, if it isn't there: processes that are forked have it."""
    calls = library()
    try:
        return calls is not None and forked(lambda: bool(calls.rewind_ready() == 0), _PATIENCE)  # what it opens ends so
    except ForkedError:
        return False


class Rewound(Generic[T, A]):
    """Does `act` with each task, in a process forked now. Before it does one, it goes on to its place in the common
    past by `advance`: no task's place may lie before `reached`."""

    def __init__(self, act: Callable[[T], A], advance: Callable[[int], None], reached: int) -> None:
        calls = library()
        if calls is None:
            raise RewindError
        self.reached = reached
        self._connection, theirs = Pipe()
        self._pid = fork()
        if self._pid == 0:
            self._connection.close()
            _serve(calls, theirs, act, advance, reached)
        theirs.close()

    def ask(self, task: T, place: int, limit: float) -> A:
        """The answer, within `limit` seconds. Raises ForkedError, and RewindError when no task is done here; then the
        process is gone."""
        deadline = time.monotonic() + limit
        self.reached = max(self.reached, place)
        try:
            self._connection.send((place, task))
            while not self._connection.poll(max(0.0, deadline - time.monotonic())):
                if time.monotonic() >= deadline:
                    self.close()
                    raise ForkedError(f"no end after {limit:g} seconds", hung=True)
            answer = self._connection.recv()
        except (EOFError, OSError):
            raise ForkedError(f"the process that played it {describe(self.close())}") from None
        except BaseException:
            self.close()
            raise
        if answer is None:
            self.close()
            raise RewindError
        good, found = answer
        if not good:
            raise ForkedError(found)
        return found  # type: ignore[no-any-return]

    @property
    def gone(self) -> bool:
        """Whether the process has ended."""
        return not self._pid

    def close(self) -> int:
        """End it; how it has ended: an exit code, or minus a signal's number."""
        self._connection.close()
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            pid, self._pid = self._pid, 0
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return 0


def _serve(
    calls: Any, connection: "Connection[Any, Any]", act: Callable[[T], A], advance: Callable[[int], None], reached: int
) -> NoReturn:
    """What the process does. Each mark is come back to after each task, whatever it has left in memory."""
    try:
        gc.set_threshold(_COLLECTED)
        waiting: tuple[int, T] | None = None
        with suppress(EOFError, OSError):  # the parent is gone
            while True:
                again = calls.rewind_mark() if _alone() else -1
                if again < 0:
                    connection.send(None)
                    break
                place, task = connection.recv() if again or waiting is None else waiting
                if place > reached:
                    advance(place)
                    reached, waiting = place, (place, task)
                    continue
                connection.send(answered(lambda task=task: act(task)))  # type: ignore[misc]
                calls.rewind_back()
    finally:
        os._exit(1)


def _alone() -> bool:
    return len(list(Path("/proc/self/task").iterdir())) == 1
