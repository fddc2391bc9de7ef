"""Plays cases in several processes at a time, and survives the death of any of them.

`jobs` stems (stem.py) play a batch of cases each. When a stem dies, the case that it had begun is played once more, by
another one; when that dies too, the case is reported as an error, and the rest of the batch is played all the same.
"""

import logging
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from ringhil.emulator.campaign.explore.case import Case
from ringhil.emulator.campaign.explore.fork import describe
from ringhil.emulator.campaign.explore.result import Result
from ringhil.emulator.campaign.explore.stem import Job, Messages, Numbered, start
from ringhil.emulator.campaign.explore.warm import PATIENCE, Warm

_log = logging.getLogger(__name__)
_BATCH_TIME = 1.0  # seconds of work for a stem: enough to be worth a fork, little to wait for at the end
_MOST_BATCH = 128  # cases
_GRACE = 2.0  # seconds for batches under way when the time is up


@dataclass
class _Stem:
    job: Job
    left: dict[int, Case]
    heard: float
    messages: Messages = field(default_factory=Messages)
    begun: int | None = None


class Campaign:
    """Plays from `warm`. `limit`: seconds for a case; `rounds`: see play.py."""

    def __init__(self, warm: Warm, *, jobs: int = 1, limit: float = PATIENCE, rounds: int | None = 1) -> None:
        self._warm, self._jobs, self._limit, self._rounds = warm, jobs, limit, rounds
        self._stems: list[_Stem] = []
        self._again: deque[Numbered] = deque()
        self._died: set[int] = set()
        self._batch = 4
        self.forks: Callable[[int], None] = lambda pid: None  # is told the process of every stem

    def run(
        self, cases: Iterable[Numbered], until: float | None = None
    ) -> Generator[tuple[int, Case, Result], None, None]:
        """Results as they come. `until`: time.monotonic() from which on no case is begun."""
        waiting = iter(cases)
        over = False
        try:
            while True:
                late = until is not None and time.monotonic() >= until
                while not (over or late) and len(self._stems) < self._jobs:
                    batch = self._next_batch(waiting)
                    over = not batch
                    if batch:
                        self._start(batch)
                if not self._stems:
                    return
                if late and until is not None and time.monotonic() >= until + _GRACE:
                    return
                yield from self._listen(until)
                over = over and not self._again
        finally:
            self._stop()

    def _next_batch(self, waiting: Iterator[Numbered]) -> list[Numbered]:
        # A case that has killed one stem doesn't take others with it.
        if self._again:
            return [self._again.popleft()]
        batch: list[Numbered] = []
        while len(batch) < self._batch and (numbered := next(waiting, None)) is not None:
            batch.append(numbered)
        return batch

    def _start(self, batch: list[Numbered]) -> None:
        job = start(self._warm, batch, self._limit, self._rounds, [stem.job for stem in self._stems])
        _log.info("process %d plays %d cases from number %d on", job.pid, len(batch), batch[0][0])
        self._stems.append(_Stem(job, dict(batch), time.monotonic()))
        self.forks(job.pid)

    def _listen(self, until: float | None) -> Iterator[tuple[int, Case, Result]]:
        """Wait until a stem says something, or there is something else to do."""
        timeout = 1.0 if until is None else min(1.0, max(0.0, until + _GRACE - time.monotonic()))
        ready, _, _ = select.select([stem.job.reading for stem in self._stems], [], [], timeout)
        now = time.monotonic()
        for stem in list(self._stems):
            if stem.job.reading in ready:
                data = os.read(stem.job.reading, 1 << 16)
                yield from self._hear(stem, data, now)
                if not data:
                    yield from self._gone(stem)
            elif now - stem.heard > 2 * self._limit + 60:
                # Between two cases; those have a limit of their own.
                with suppress(ProcessLookupError):
                    os.kill(stem.job.pid, signal.SIGKILL)

    def _hear(self, stem: _Stem, data: bytes, now: float) -> Iterator[tuple[int, Case, Result]]:
        done = 0
        for number, result in stem.messages.feed(data):
            stem.begun = number if result is None else None
            if result is not None:
                done += 1
                yield number, stem.left.pop(number), result
        if done:
            wanted = int(_BATCH_TIME * done / max(1e-3, now - stem.heard))
            self._batch = max(1, min(wanted, 2 * self._batch, _MOST_BATCH))
            stem.heard = now

    def _gone(self, stem: _Stem) -> Iterator[tuple[int, Case, Result]]:
        """A stem has ended, its batch done or not."""
        self._stems.remove(stem)
        stem.job.close()
        _, status = os.waitpid(stem.job.pid, 0)
        if stem.left:
            # On its way to a case it may have died as well.
            case = min(stem.left) if stem.begun is None else stem.begun
            if case in self._died:
                text = f"the process that played it {describe(os.waitstatus_to_exitcode(status))}, twice"
                yield case, stem.left.pop(case), Result("error", (text,), "error")
            self._died.add(case)
        self._again.extend(stem.left.items())

    def _stop(self) -> None:
        """End what is still being played; a stem ends its case and itself when nobody listens any more."""
        for stem in self._stems:
            stem.job.close()
        for stem in self._stems:
            os.waitpid(stem.job.pid, 0)
        self._stems.clear()
