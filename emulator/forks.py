"""Something done in a forked process: everything is there as it was in memory, and nothing of it comes back but the
answer, through a pipe.

An answer is pickled by the child that this process has forked itself, from its own memory; nothing else is read.
"""

import ctypes
import os
import pickle
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, NoReturn, TypeVar

from ringhil.emulator.errors import RinghilError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux

MOST_BYTES = 64 << 20  # of an answer

T = TypeVar("T")


class ForkedError(RinghilError):
    """The process came to no answer. `hung`: it took longer than it may."""

    def __init__(self, text: str, *, hung: bool = False) -> None:
        super().__init__(text)
        self.hung = hung


def forked(act: Callable[[], T], limit: float) -> T:
    """What `act` returns in a process of its own, within `limit` seconds. Raises ForkedError."""
    reading, writing = os.pipe()
    pid = fork()
    if pid == 0:
        os.close(reading)
        # Should the parent be killed, nobody else would end it where a process doesn't end with its parent.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit + 5)
        _answer(act, writing)
    os.close(writing)
    data, hung = bytearray(), False
    deadline = time.monotonic() + limit
    try:
        while not hung:
            ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
            hung = not ready
            if ready:
                chunk = os.read(reading, 1 << 16)
                data += chunk
                if not chunk or len(data) > MOST_BYTES:
                    break
        if hung or len(data) > MOST_BYTES:
            os.kill(pid, signal.SIGKILL)
        ended = _wait(pid)
    except BaseException:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _wait(pid)
        raise
    finally:
        os.close(reading)
    if hung:
        raise ForkedError(f"no end after {limit:g} seconds", hung=True)
    if ended or len(data) > MOST_BYTES:
        raise ForkedError(f"the process that played it {describe(ended)}")
    good, answer = pickle.loads(data)
    if not good:
        raise ForkedError(answer)
    return answer  # type: ignore[no-any-return]


def forked_again(act: Callable[[], T], limit: float) -> T:
    """Like `forked`; what came to no answer, and did not hang, is done once more."""
    try:
        return forked(act, limit)
    except ForkedError as error:
        if error.hung:
            raise
        return forked(act, limit)


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fork() -> int:
    """Fork, like os.fork. The child ends with its parent (on Linux) and at SIGTERM, without cleaning up. Ctrl-C and the
    end of a terminal reach the whole group: they leave it to the parent what becomes of it."""
    # What is buffered would be written twice.
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    prctl = _prctl()
    # A signal in between would run the parent's handlers, and its cleaning up, in the child.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        pid = os.fork()
        if pid == 0:
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
            if prctl is not None:
                # Nobody waits for the end of a long run when who wanted it was killed.
                prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != parent:  # already
                os._exit(1)
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@cache
def _prctl() -> Any:
    """The system call by that name, which only Linux has."""
    return ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def describe(ended: int) -> str:
    """How a process ended, by its exit code or the number of the signal below 0."""
    if ended >= 0:
        return f"ended with exit code {ended}"
    try:
        name = signal.Signals(-ended).name
    except ValueError:
        name = f"signal {-ended}"
    return f"was ended by {name}" + (" (out of memory?)" if -ended == signal.SIGKILL else "")


def answered(act: Callable[[], T]) -> tuple[bool, T | str]:
    """Whether `act` has come to an end, and what it has returned, or what is wrong in one line."""
    try:
        return True, act()
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return False, f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"


def _answer(act: Callable[[], object], writing: int) -> NoReturn:
    """Run in the child. What is the parent's isn't cleaned up here: it is still in use there."""
    code = 1
    try:
        _write_all(writing, pickle.dumps(answered(act)))
        code = 0
    finally:
        os._exit(code)


def _write_all(descriptor: int, data: bytes) -> None:
    """All of it. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _wait(pid: int) -> int:
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)
