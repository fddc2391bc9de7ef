"""Plays single cases: what each process of `ringhil explore` does.

A process is forked from the warm server, advances through the phases of its cases, and forks each of them where it
strikes.
"""

from dataclasses import dataclass

from ringhil.emulator.campaign.explore.play import play
from ringhil.emulator.campaign.explore.result import CaseResult, summed_up
from ringhil.emulator.campaign.explore.space import Case
from ringhil.emulator.campaign.explore.warm import Warm
from ringhil.emulator.forks import ForkedError, forked_again

Numbered = tuple[int, Case]


@dataclass(frozen=True)
class CasePlayer:
    """Plays from `warm`, which goes on with each case: they come in the order of `start_of`. `limit`: seconds for a
    case; `rounds`: see play.py."""

    warm: Warm
    limit: float
    rounds: int | None

    def __call__(self, numbered: Numbered) -> CaseResult:
        """The case's result; that of one which comes to no end, or whose process dies twice, says so."""
        _, case = numbered
        if case.schedule.events:
            self.warm.run_to(case.schedule.start)
        try:
            return forked_again(
                lambda: summed_up(play(self.warm.server, case.schedule.events, rounds=self.rounds)), self.limit
            )
        except ForkedError as error:
            return CaseResult.unplayed(str(error), hung=error.hung)


def start_of(numbered: Numbered) -> int:
    """Cycle at which a case leaves the others' common past."""
    _, case = numbered
    return case.schedule.start if case.schedule.events else 0
