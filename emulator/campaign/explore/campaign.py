"""Gives cases out to a pool, in batches of neighbouring phases, and hands on their results as they come."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice

from ringhil.emulator.campaign.explore.player import CasePlayer, Numbered, start_of
from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.campaign.explore.space import Case
from ringhil.emulator.campaign.explore.warm import PATIENCE, Warm
from ringhil.emulator.campaign.pool import Heard, LocalPool, Lost, Pool

_BATCH_TIME = 1.0  # seconds of work for a process: enough to be worth a fork, little to wait for at the end
_FIRST_BATCH, _MOST_BATCH = 4, 128  # cases
_GRACE = 2.0  # seconds for batches under way when the time is up

CasePool = Pool[Numbered, CaseResult]
Results = Generator[tuple[int, Case, CaseResult], None, None]


def local(
    warm: Warm,
    *,
    jobs: int = 1,
    limit: float = PATIENCE,
    rounds: int | None = 1,
    started: Callable[[int], None] = lambda pid: None,
) -> CasePool:
    """Processes of this machine that play from `warm`. `limit`: seconds for a case; `rounds`: see play.py; `started`
    is told the process id of each."""
    player = CasePlayer(warm, limit, rounds)
    once, longest = player.goes_on, patience(limit)
    return LocalPool(player, jobs, once=once, patience=longest, started=started, ended=player.close)


def patience(limit: float) -> float:
    """Seconds for a case with the way to it; `limit` is for the case alone."""
    return 2 * limit + 60


def run(pool: CasePool, cases: Iterable[Numbered], until: float | None = None) -> Results:
    """Results as they come; the pool is closed at the end. `until`: time.monotonic() from which on no case is begun."""
    waiting, pace = iter(cases), _Pace(pool.room)
    with pool:
        while True:
            late = until is not None and time.monotonic() >= until
            while not late and pool.room > 0 and (batch := sorted(islice(waiting, pace.batch), key=start_of)):
                pool.give(batch)
            if not pool.busy or (until is not None and time.monotonic() >= until + _GRACE):
                return
            heard = pool.hear(1.0 if until is None else min(1.0, max(0.0, until + _GRACE - time.monotonic())))
            pace.heard(len(heard))
            yield from _results(heard)


def _results(heard: Iterable[Heard[Numbered, CaseResult]]) -> Iterator[tuple[int, Case, CaseResult]]:
    for one in heard:
        result = CaseResult.unplayed(one.why) if isinstance(one, Lost) else one.answer
        yield *one.task, result


class _Pace:
    """How large a batch is: as many cases as one of `processes` plays in a second or so."""

    def __init__(self, processes: int) -> None:
        self._processes, self._began, self._done = processes, time.monotonic(), 0
        self.batch = _FIRST_BATCH

    def heard(self, results: int) -> None:
        """This number of further answers has come."""
        if results:
            self._done += results
            rate = self._done / max(1e-3, time.monotonic() - self._began) / self._processes
            self.batch = max(1, min(int(_BATCH_TIME * rate), 2 * self.batch, _MOST_BATCH))
