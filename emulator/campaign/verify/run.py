"""Gives the variants out to processes and gathers their verdicts.

Whatever the number of processes, the verdicts are the same and in the same order. When to stop at the first failure,
everything before it in that order has been played and nothing after it is reported. A process that dies costs the
verdict of the variant that it was playing; another takes its place.
"""

import heapq
import logging
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import wait

from ringhil.emulator.campaign.verify.discover import VerifyError
from ringhil.emulator.campaign.verify.player import Player
from ringhil.emulator.campaign.verify.report import Report
from ringhil.emulator.campaign.verify.verdict import Failure, Verdict
from ringhil.emulator.campaign.verify.worker import SIGNALS, Loaded, Task, Worker

Progress = Callable[[int, int], None]

_log = logging.getLogger(__name__)
_LOAD = -1
_TOO_MANY = 20  # processes that end by themselves
_AHEAD = 4  # tasks for each process that must wait before one is given a second task in advance


@dataclass(frozen=True)
class Plan:
    """`player`: plays them; `jobs`: processes, 1 or more."""

    player: Player
    jobs: int
    fail_fast: bool
    version: str


def run_all(plan: Plan, on_progress: Progress = lambda done, total: None) -> Report:
    """Play everything. An interrupt (KeyboardInterrupt, SystemExit) ends it early and is in the report."""
    began = time.perf_counter()
    run = _Run(plan, on_progress)
    stopped: BaseException | None = None
    try:
        run.play()
    except (KeyboardInterrupt, SystemExit) as interrupt:
        stopped = interrupt
    finally:
        run.end()
    results = run.reported()
    return Report(results, plan.player.library.rtl, plan.version, time.perf_counter() - began, stopped)


@dataclass
class _Run:
    plan: Plan
    on_progress: Progress
    workers: list[Worker] = field(default_factory=list)
    waiting: list[Task] = field(default_factory=list)  # a heap
    verdicts: dict[Task, Verdict] = field(default_factory=dict)
    loaded: int = 0  # files
    known: int = 0  # variants of the files that have been loaded
    first_bad: Task | None = None
    idle_deaths: int = 0

    def play(self) -> None:
        files = self.plan.player.files
        self.waiting = [Task(number, _LOAD) for number in range(len(files))]
        while self.waiting or any(worker.hand for worker in self.workers):
            self._fill()
            busy: dict[object, Worker] = {worker.connection: worker for worker in self.workers if worker.hand}
            for ready in wait([worker.connection for worker in busy.values()]) if busy else ():
                if busy[ready] in self.workers:
                    self._hear(busy[ready])
            self.on_progress(len(self.verdicts), self.known + len(files) - self.loaded)

    def end(self) -> None:
        """No process is left, nor what one of them had begun to write."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # not even a second interrupt leaves one
        try:
            for worker in self.workers:
                worker.end()
            self.workers.clear()
            if self.plan.player.evidence is not None:
                self.plan.player.evidence.sweep()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def reported(self) -> tuple[Verdict, ...]:
        """In order; what lies behind the first failure isn't there when that was to be the end."""
        if self.plan.fail_fast and self.first_bad is not None:
            for task in [t for t in self.verdicts if t > self.first_bad]:
                left = self.verdicts.pop(task).left
                if left is not None:
                    shutil.rmtree(left, ignore_errors=True)
        return tuple(self.verdicts[task] for task in sorted(self.verdicts))

    # -------------------------------------------------------------------------------------------- giving out

    def _fill(self) -> None:
        """Give tasks to whoever has none; one in advance while there are many, so that nobody waits for us."""
        idle = sum(not worker.hand for worker in self.workers)
        while len(self.workers) < self.plan.jobs and len(self.waiting) > idle:
            worker = Worker.start(self.plan.player, self.workers)
            _log.info("process %d started", worker.pid)
            self.workers.append(worker)
            idle += 1
        for depth in (0, 1):
            for worker in list(self.workers):
                if len(worker.hand) == depth and len(self.waiting) > depth * _AHEAD * len(self.workers):
                    task = heapq.heappop(self.waiting)
                    if not worker.give(task):
                        heapq.heappush(self.waiting, task)
                        self._bury(worker)

    def _drop_late(self) -> None:
        if self.plan.fail_fast and self.first_bad is not None:
            for worker in [w for w in self.workers if w.hand and w.hand[0] > self.first_bad]:
                self.workers.remove(worker)
                worker.end()
                self.waiting += list(worker.hand)[1:]
            self.waiting = [task for task in self.waiting if task < self.first_bad]
            heapq.heapify(self.waiting)

    # ----------------------------------------------------------------------------------------------- hearing

    def _hear(self, worker: Worker) -> None:
        try:
            answer = worker.connection.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        if isinstance(answer, Loaded):
            self._loaded(worker, answer)
        else:
            self._answered(worker.hand.popleft(), answer)

    def _loaded(self, worker: Worker, answer: Loaded) -> None:
        self._known(answer.variants)
        worker.hand.popleft()
        if answer.variants:
            worker.hand.appendleft(Task(answer.file, 0))  # it goes on with the first
        for place in range(1, answer.variants):
            heapq.heappush(self.waiting, Task(answer.file, place))
        self._drop_late()

    def _known(self, variants: int) -> None:
        self.loaded += 1
        self.known += variants

    def _answered(self, task: Task, verdict: Verdict) -> None:
        _log.debug("%s: %s", verdict.id, verdict.state)
        self.verdicts[task] = verdict
        if verdict.state != "pass" and (self.first_bad is None or task < self.first_bad):
            self.first_bad = task
            self._drop_late()

    def _bury(self, worker: Worker) -> None:
        """It died: say so of what it was playing, give the rest to others."""
        self.workers.remove(worker)
        code = worker.reap()
        _log.info("process %d %s", worker.pid, _how(code))
        hand = list(worker.hand)
        if hand:
            task = hand[0]
            if task.place == _LOAD:
                self._known(1)
            failure = Failure("process", f"the process that played it {_how(code)}")
            verdict = self.plan.player.broken(task.file, task.place, failure)
            self._answered(Task(task.file, max(task.place, 0)), verdict)
        else:
            self.idle_deaths += 1
            if self.idle_deaths == _TOO_MANY:
                raise VerifyError(f"processes end before they play anything: {_how(code)}")
        for task in hand[1:]:
            heapq.heappush(self.waiting, task)
        self._drop_late()


def _how(code: int) -> str:
    return f"was killed by signal {-code} (out of memory?)" if code < 0 else f"ended with code {code}"
