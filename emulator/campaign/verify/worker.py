"""A process that plays variants, and its end of the talk with the one that gives them out.

| task | answers, in this order |
|---|---|
| `Task(file, None)` | `Loaded(file, variants)`, then the verdict on the first of them, if there is one |
| `Task(file, place)` | the verdict on the variant at that place |

A file that can't be used has one variant, with the verdict "error".
"""

import contextlib
import ctypes
import gc
import os
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from ringhil.emulator.campaign.verify.player import Player
from ringhil.emulator.campaign.verify.verdict import Failure, Verdict
from ringhil.emulator.scenario import ScenarioError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux


@dataclass(frozen=True, order=True)
class Task:
    """`place` among the chosen variants of the file with this number; -1: load it, and play the first."""

    file: int
    place: int


@dataclass(frozen=True)
class Loaded:
    """The number of variants of a file that are to be played."""

    file: int
    variants: int


@dataclass
class Worker:
    """`hand`: tasks that were given to it and not answered. Made by fork: it has all that its parent has loaded."""

    pid: int
    connection: "Connection[Task, Loaded | Verdict]"
    hand: deque[Task] = field(default_factory=deque)

    @classmethod
    def start(cls, player: Player, others: Iterable["Worker"]) -> "Worker":
        """A new process; `others` are those whose connections it must not hold open."""
        ours, theirs = Pipe()
        # No signal before the child has its own way to deal with it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        parent = os.getpid()
        try:
            pid = os.fork()
            if pid == 0:
                _child(player, theirs, [ours, *(other.connection for other in others)], before, parent)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        return cls(pid, ours)

    def give(self, task: Task) -> bool:
        """Hand a task over; False when the process has died and did not get it."""
        try:
            self.connection.send(task)
        except OSError:
            return False
        self.hand.append(task)
        return True

    def end(self) -> int:
        """End it, whatever it does; how it ended: an exit code, or minus a signal's number."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return self.reap()

    def reap(self) -> int:
        """Wait until it is gone; see `end`."""
        self.connection.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _child(
    player: Player,
    connection: "Connection[Loaded | Verdict, Task]",
    inherited: Iterable["Connection"],
    mask: object,
    parent: int,
) -> None:
    code = 1
    try:
        _end_with(parent)
        for number in SIGNALS:
            # Ctrl-C reaches the whole group; the parent decides what becomes of it.
            signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # type: ignore[arg-type]
        for other in inherited:
            other.close()
        gc.freeze()  # what is there stays there: it need not be looked through again and again
        _serve(player, connection.recv, connection.send)
        code = 0
    except OSError:
        pass  # the parent is gone
    finally:
        os._exit(code)


def _end_with(parent: int) -> None:
    """Whoever waits for the output of a parent that was killed does not wait for the end of a long run."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # already
        os._exit(1)


def _serve(player: Player, receive: Callable[[], Task], send: Callable[[Loaded | Verdict], None]) -> None:
    while True:
        try:
            task = receive()
        except EOFError:
            return
        if task.place >= 0:
            send(_played(player, task.file, task.place))
            continue
        try:
            chosen = len(player.load(task.file)[1])
        except ScenarioError as error:
            send(Loaded(task.file, 1))
            send(player.refused(task.file, error))
            continue
        send(Loaded(task.file, chosen))
        if chosen:
            send(_played(player, task.file, 0))


def _played(player: Player, file: int, place: int) -> Verdict:
    try:
        return player.play(file, place)
    except Exception as error:  # a mistake of ours, or of somebody's RTL: it costs one verdict, not the run
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return player.broken(file, place, Failure("process", " ".join(text.split())))
