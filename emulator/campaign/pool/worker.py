"""A process of a pool, made by fork: it has all that its parent has loaded. It does batches, and answers task by task.

What it answers is pickled by a process that this one has forked itself; nothing else is read.
"""

import contextlib
import gc
import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from ringhil.emulator.forks import fork

T = TypeVar("T", bound=Hashable)
Work = Callable[[Any], Any]


@dataclass(frozen=True)
class Raised:
    """Instead of an answer: the error, in one line."""

    text: str


@dataclass
class Worker(Generic[T]):
    """`hand`: tasks that were given to it and not answered, in their order, with those that nobody wants any more
    (`dropped`); `heard`: when it began or last answered, by time.monotonic(); `late`: it took too
    long, and was ended."""

    pid: int
    connection: "Connection[Any, Any]"
    hand: deque[T] = field(default_factory=deque)
    dropped: set[T] = field(default_factory=set)
    heard: float = 0.0
    late: bool = False

    @classmethod
    def start(
        cls,
        work: Work,
        *,
        once: bool,
        others: Iterable["Worker[T]"],
        apart: bool = False,
        ended: Callable[[], None] = lambda: None,
    ) -> "Worker[T]":
        """A new process. `once`: it ends after a batch; `others`: those whose connections it must not hold open;
        `apart`: in a process group of its own; `ended`: called there at its end."""
        ours, theirs = Pipe()
        pid = fork()
        if pid == 0:
            if apart:
                os.setpgid(0, 0)
            _child(work, once, ended, theirs, [ours, *(other.connection for other in others)])
        theirs.close()
        return cls(pid, ours)

    def give(self, batch: Sequence[T]) -> None:
        """Hand a batch over. One that has died counts as having begun it: its end is seen at its connection."""
        self.hand, self.heard = deque(batch), time.monotonic()
        with contextlib.suppress(OSError):
            self.connection.send(tuple(batch))

    def end(self) -> None:
        """End it, whatever it does; one that waits for tasks ends by itself, and with what it has begun."""
        with contextlib.suppress(OSError):  # it is gone
            if self.hand:
                os.kill(self.pid, signal.SIGKILL)
            else:
                self.connection.send(())
        self.reap()

    def reap(self) -> int:
        """Wait until it is gone; how it ended: an exit code, or minus a signal's number."""
        self.connection.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _child(
    work: Work,
    once: bool,
    ended: Callable[[], None],
    connection: "Connection[Any, Any]",
    inherited: Iterable["Connection[Any, Any]"],
) -> NoReturn:
    code = 1
    try:
        for other in inherited:
            other.close()
        gc.freeze()  # what is there stays there: it need not be looked through again and again
        with contextlib.suppress(EOFError, OSError):  # the parent is gone
            while batch := connection.recv():
                for task in batch:
                    connection.send(_done(work, task))
                if once:
                    break
        ended()
        code = 0
    finally:
        os._exit(code)


def _done(work: Work, task: Hashable) -> object:
    try:
        return work(task)
    except Exception as error:  # a mistake of ours, or of somebody's RTL: it costs one task, not the campaign
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return Raised(" ".join(text.split()))
