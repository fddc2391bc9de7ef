"""Gives the variants out to processes and gathers their verdicts.

Whatever the number of processes, the verdicts are the same and in the same order. When to stop at the first failure,
everything before it in that order has been played and nothing after it is reported.
"""

import heapq
import logging
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ringhil.emulator.campaign.pool import Heard, LocalPool, Lost, Pool
from ringhil.emulator.campaign.verify.evidence import Evidence
from ringhil.emulator.campaign.verify.excused import excused
from ringhil.emulator.campaign.verify.kept import KeptVerdicts
from ringhil.emulator.campaign.verify.player import Player
from ringhil.emulator.campaign.verify.report import Unplayed, VerifyReport
from ringhil.emulator.campaign.verify.tasks import LOAD, Loaded, Task, TaskPlayer
from ringhil.emulator.campaign.verify.verdict import Failure, Verdict
from ringhil.emulator.forks import SIGNALS, ForkedError, forked
from ringhil.emulator.judge.known import KnownFailures

Progress = Callable[[int, int], None]

LIMIT = 600.0  # seconds for a variant
_log = logging.getLogger(__name__)
_MOST_BATCH = 8  # tasks: nobody waits for us between them
_LOAD_LIMIT = 60.0  # seconds
_BATCHES = 4  # for each process, of what waits: towards the end they are small, so that all end together


@dataclass(frozen=True)
class VerifyPlan:
    """`player`: plays them; `jobs`: processes, 1 or more; `limit`: seconds for a variant; `known`: failures;
    `kept`: verdicts on what has not changed since."""

    player: Player
    jobs: int
    fail_fast: bool
    version: str
    limit: float = LIMIT
    known: KnownFailures = field(default_factory=KnownFailures)
    kept: KeptVerdicts = field(default_factory=KeptVerdicts)


def run_all(
    plan: VerifyPlan,
    on_progress: Progress = lambda done, total: None,
    pool: Pool[Task, Loaded | Verdict] | None = None,
) -> VerifyReport:
    """Play everything. An interrupt (KeyboardInterrupt, SystemExit) ends it early and is in the report.

    `pool` plays, and is closed in the end; None: processes of this machine.
    """
    began = time.perf_counter()
    run = _Run(plan, pool or LocalPool(TaskPlayer(plan.player), plan.jobs, patience=plan.limit), on_progress)
    stopped: BaseException | None = None
    try:
        run.play()
    except (KeyboardInterrupt, SystemExit) as interrupt:
        stopped = interrupt
    finally:
        results = run.end()
    unplayed = run.unplayed() if stopped is not None else ()
    seconds = time.perf_counter() - began
    return VerifyReport(
        results, plan.player.library.rtl, plan.version, seconds, stopped, unplayed, whole=run.whole(results)
    )


@dataclass
class _Run:
    plan: VerifyPlan
    pool: Pool[Task, Loaded | Verdict]
    on_progress: Progress
    waiting: list[Task] = field(default_factory=list)  # a heap
    verdicts: dict[Task, Verdict] = field(default_factory=dict)
    variants: dict[int, int] = field(default_factory=dict)  # of the files that have been read
    known: int = 0  # all of these
    first_bad: Task | None = None

    @property
    def evidence(self) -> Evidence | None:
        return self.plan.player.evidence

    def play(self) -> None:
        files = self.plan.player.files
        for number in range(len(files)):
            self._begin(number)
        while self.waiting or self.pool.busy:
            while self.waiting and self.pool.room > 0:
                self.pool.give(self._batch())
            for heard in self.pool.hear():
                self._hear(heard)
            self.on_progress(len(self.verdicts), self.known + len(files) - len(self.variants))

    def _begin(self, number: int) -> None:
        """Of a file of which verdicts are kept, only the others have to be found."""
        kept = self.plan.kept.of(self.plan.player, number)
        if not kept:
            self._wait(Task(number, LOAD))
            return
        self.variants[number] = len(kept)
        self.known += len(kept)
        for place, verdict in enumerate(kept):
            if verdict is None:
                self._wait(Task(number, place))
            else:
                self.verdicts[Task(number, place)] = verdict

    def end(self) -> tuple[Verdict, ...]:
        """The verdicts in order; what lies behind the first failure isn't there when that was to be the end. No process
        is left, nor what one of them had written for a verdict that isn't there."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # a second interrupt doesn't stop this
        try:
            self.pool.close()
            last = self.first_bad if self.plan.fail_fast else None
            verdicts = [self.verdicts[task] for task in sorted(self.verdicts) if last is None or task <= last]
            if self.evidence is None:
                return tuple(verdicts)
            if self.plan.fail_fast:
                verdicts = [self.evidence.publish(verdict) for verdict in verdicts]
            self.evidence.sweep()
            return tuple(verdicts)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def unplayed(self) -> tuple[Unplayed, ...]:
        """What was left, when nothing more is played; not what lies behind a first failure that was to be the end."""
        end = self.first_bad if self.plan.fail_fast else None
        played = Counter(task.file for task in self.verdicts if end is None or task < end)
        left = []
        for number, file in enumerate(self.plan.player.files):
            variants = self.variants.get(number)
            if end is not None and number >= end.file:
                variants = end.place if number == end.file else 0
            if variants is None or variants > played[number]:
                left.append(Unplayed(file, None if variants is None else variants - played[number]))
        return tuple(left)

    def whole(self, results: Sequence[Verdict]) -> frozenset[int]:
        """Numbers of the files of which these are all verdicts."""
        found = Counter(verdict.file for verdict in results)
        files = self.plan.player.files
        return frozenset(number for number, chosen in self.variants.items() if found[files[number]] == chosen)

    def _batch(self) -> list[Task]:
        """The next, with others of the same file: whoever plays them has read it."""
        size = min(len(self.waiting) // (self.plan.jobs * _BATCHES), _MOST_BATCH)
        batch = [heapq.heappop(self.waiting)]
        while len(batch) < size and self.waiting[0].file == batch[0].file:
            batch.append(heapq.heappop(self.waiting))
        return batch

    def _hear(self, heard: Heard[Task, Loaded | Verdict]) -> None:
        task = heard.task
        answer = self._lost(task, heard.why) if isinstance(heard, Lost) else heard.answer
        if task.place == LOAD:
            self.variants[task.file] = answer.variants if isinstance(answer, Loaded) else 1
            self.known += self.variants[task.file]
        if isinstance(answer, Loaded):
            for place in range(answer.variants):
                self._wait(Task(task.file, place))
        else:
            self._verdict(Task(task.file, max(task.place, 0)), answer)

    def _lost(self, task: Task, why: str) -> Loaded | Verdict:
        """The answer to a task that nobody could do."""
        failure = Failure("process", why)
        if task.place != LOAD:
            return self.plan.player.broken(task.file, task.place, failure)
        try:
            variants = forked(lambda: len(self.plan.player.load(task.file)[1]), _LOAD_LIMIT)
        except ForkedError:
            return self.plan.player.broken(task.file, LOAD, failure)
        return self.plan.player.broken(task.file, 0, failure) if variants == 1 else Loaded(variants)

    def _wait(self, task: Task) -> None:
        if not self.plan.fail_fast or self.first_bad is None or task < self.first_bad:
            heapq.heappush(self.waiting, task)

    def _verdict(self, task: Task, verdict: Verdict) -> None:
        _log.debug("%s: %s", verdict.id, verdict.state)
        if self.evidence is not None and not self.plan.fail_fast:
            verdict = self.evidence.publish(verdict)
        self.verdicts[task] = verdict = excused(verdict, self.plan.known)
        if verdict.bad and (self.first_bad is None or task < self.first_bad):
            self.first_bad = task
            if self.plan.fail_fast:
                self.pool.drop(lambda other: other > task)
                self.waiting = [other for other in self.waiting if other < task]
                heapq.heapify(self.waiting)
