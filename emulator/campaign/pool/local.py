"""A pool of processes of this machine, which survives the death of any of them.

When a process dies, the task that it was doing is done once more, by another one, and alone: a task that kills its
process takes no other with it. When that one dies too, the task is lost; the rest of the batch is done all the same.
One that takes too long is lost at once: it would do so again.
"""

import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import wait

from ringhil.emulator.campaign.pool.pool import A, Answered, Heard, Lost, Pool, T
from ringhil.emulator.campaign.pool.worker import Raised, Worker
from ringhil.emulator.forks import SIGNALS, describe

_log = logging.getLogger(__name__)


class LocalPool(Pool[T, A]):
    """Does `work` in `jobs` processes. It raises what costs a task its answer; what it leaves behind in the process is
    there for the next task. `once`: a process does one batch. `patience`: seconds that a task may take, None: for
    ever. `started` is told the process id of every process. `apart`: each is a process group of its own, so that what
    ends its own group ends one task (on Linux, where a process ends with its parent whatever its group). `ended` is
    called in each process that comes to its end by itself."""

    def __init__(
        self,
        work: Callable[[T], A],
        jobs: int,
        *,
        once: bool = False,
        patience: float | None = None,
        started: Callable[[int], None] = lambda pid: None,
        apart: bool = False,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._work, self._jobs, self._once, self._patience, self._started = work, jobs, once, patience, started
        self._ended = ended
        self._apart = apart and sys.platform == "linux"
        self._workers: list[Worker[T]] = []
        self._again: deque[T] = deque()
        self._died: set[T] = set()

    @property
    def room(self) -> int:
        """See Pool. Tasks whose process has died go first."""
        return self._jobs - sum(bool(worker.hand) for worker in self._workers) - len(self._again)

    @property
    def busy(self) -> bool:
        """See Pool."""
        return bool(self._again) or any(worker.hand for worker in self._workers)

    def give(self, batch: Sequence[T]) -> None:
        """See Pool."""
        idle = [] if self._once else [worker for worker in self._workers if not worker.hand]
        if idle:
            worker = idle[0]
        else:
            worker = Worker.start(
                self._work, once=self._once, others=self._workers, apart=self._apart, ended=self._ended
            )
            self._workers.append(worker)
            _log.info("process %d started", worker.pid)
        _log.debug("process %d does %d tasks from %s on", worker.pid, len(batch), batch[0])
        worker.give(batch)
        self._started(worker.pid)

    def hear(self, timeout: float = 1.0) -> list[Heard[T, A]]:
        """See Pool."""
        heard: list[Heard[T, A]] = []
        busy = {worker.connection: worker for worker in self._workers if worker.hand or self._once}
        ready = wait(list(busy), timeout) if busy else []
        for connection, worker in busy.items():
            if connection in ready:
                heard += self._hear(worker)
            elif self._patience is not None and time.monotonic() - worker.heard > self._patience:
                worker.late = True
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL)
        while self._again and self._jobs > sum(bool(worker.hand) for worker in self._workers):
            self.give([self._again.popleft()])
        return heard

    def drop(self, unwanted: Callable[[T], bool]) -> None:
        """See Pool. The process ends that does such a task, or as soon as it comes to one."""
        self._again = deque(task for task in self._again if not unwanted(task))
        for worker in list(self._workers):
            worker.dropped.update(task for task in worker.hand if unwanted(task))
            self._end_unwanted(worker)

    def close(self) -> None:
        """See Pool."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # not even a second interrupt leaves one
        try:
            for worker in self._workers:
                worker.end()
            self._workers.clear()
            self._again.clear()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _hear(self, worker: Worker[T]) -> list[Heard[T, A]]:
        try:
            answer = worker.connection.recv()
        except (EOFError, OSError):
            return self._gone(worker)
        task, worker.heard = worker.hand.popleft(), time.monotonic()
        self._end_unwanted(worker)
        return [Lost(task, answer.text) if isinstance(answer, Raised) else Answered(task, answer)]

    def _end_unwanted(self, worker: Worker[T]) -> None:
        if worker.hand and worker.hand[0] in worker.dropped:
            self._workers.remove(worker)
            worker.end()
            self._again.extend(task for task in worker.hand if task not in worker.dropped)

    def _gone(self, worker: Worker[T]) -> list[Heard[T, A]]:
        """A process has ended, its batch done or not."""
        self._workers.remove(worker)
        how = describe(worker.reap())
        _log.info("process %d %s", worker.pid, how)
        if not worker.hand:
            return []
        task = worker.hand[0]
        again = task in self._died or worker.late
        self._died.add(task)
        self._again.extend(left for left in list(worker.hand)[again:] if left not in worker.dropped)
        if worker.late:
            return [Lost(task, f"it took more than {self._patience:g} s")]
        return [Lost(task, f"the process that played it {how}, twice")] if again else []
