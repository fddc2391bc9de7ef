"""Plays single cases: what each process of `ringhil explore` does.

A process is forked from the warm server, and plays each case where it strikes: in a process of its own that goes on
from phase to phase and is put back after each case, or, where that can't be, in a fork for each.
"""

from ringhil.emulator.campaign.explore.play import play
from ringhil.emulator.campaign.explore.result import CaseResult, summed_up
from ringhil.emulator.campaign.explore.space import Case
from ringhil.emulator.campaign.explore.warm import Warm
from ringhil.emulator.campaign.rewind import RewindError, Rewound, can_rewind
from ringhil.emulator.forks import ForkedError, forked, forked_again

Numbered = tuple[int, Case]


class CasePlayer:
    """Plays from `warm`. `limit`: seconds for a case; `rounds`: see play.py; `rewinding`: whether a process may do
    several. Where it doesn't (`goes_on`), `warm` goes on with each case: they come in the order of `start_of`."""

    def __init__(self, warm: Warm, limit: float, rounds: int | None, *, rewinding: bool = True) -> None:
        self.warm, self.limit, self._rounds = warm, limit, rounds
        self._may_rewind = rewinding and warm.all_in_memory and can_rewind()
        self.goes_on = not self._may_rewind
        self._rewound: Rewound[Case, CaseResult] | None = None

    def __call__(self, numbered: Numbered) -> CaseResult:
        """The case's result; that of one which comes to no end, or whose process dies twice, says so."""
        _, case = numbered
        try:
            if self._may_rewind:
                return self._in_place(case, start_of(numbered))
            return self._forked(case, again=True)
        except ForkedError as error:
            return CaseResult.unplayed(str(error), hung=error.hung)

    def close(self) -> None:
        """End the process that plays."""
        if self._rewound is not None:
            self._rewound.close()
            self._rewound = None

    def _in_place(self, case: Case, start: int) -> CaseResult:
        """Where it dies, once more in a fork."""
        if self._rewound is not None and max(start, self.warm.now) < self._rewound.reached:
            self.close()
        try:
            if self._rewound is None:
                self._rewound = Rewound(self._result, self.warm.run_to, self.warm.now)
            return self._rewound.ask(case, start, self.limit)
        except RewindError:
            self._rewound, self._may_rewind = None, False
            return self._forked(case, again=True)
        except ForkedError as error:
            if error.hung or self._rewound is None or not self._rewound.gone:
                raise
            return self._forked(case, again=False)
        finally:
            if self._rewound is not None and self._rewound.gone:
                self._rewound = None

    def _forked(self, case: Case, *, again: bool) -> CaseResult:
        if case.schedule.events and self.goes_on:
            self.warm.run_to(case.schedule.start)
        return (forked_again if again else forked)(lambda: self._result(case), self.limit)

    def _result(self, case: Case) -> CaseResult:
        if case.schedule.events:
            self.warm.run_to(case.schedule.start)
        return summed_up(play(self.warm.server, case.schedule.events, rounds=self._rounds))


def start_of(numbered: Numbered) -> int:
    """Cycle at which a case leaves the others' common past."""
    _, case = numbered
    return case.schedule.start if case.schedule.events else 0
