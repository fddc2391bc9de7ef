"""What is kept of a case."""

from dataclasses import dataclass
from typing import Self

from ringhil.emulator.campaign.explore.play import Played
from ringhil.emulator.judge.outcome import Outcome, Recovery, VerdictWord
from ringhil.emulator.scenario import INVARIANTS, EventAction

MOST_FAILURES = 20  # kept of a case


@dataclass(frozen=True)
class CaseResult:
    """`detected`, `located`, `recovered`: None when nothing of the kind is demanded of the case. Of its events,
    `detection` is the slowest to be detected (cycles); `recovery`, `bound` (cycles), `transits` and `slowest` are of
    the one that took most of its bound. `until`: of the scenario that gives the same outcome. `sort`: the same for
    cases that show the same mistake, most likely; "" in a store of version 1. `lasts`: whether it was still so at the
    end; None: it has not failed, or nobody knows."""

    verdict: VerdictWord
    failures: tuple[str, ...] = ()
    violated: str | None = None
    detected: bool | None = None
    located: bool | None = None
    recovered: bool | None = None
    detection: int | None = None
    recovery: int | None = None
    bound: int | None = None
    transits: float | None = None
    slowest: str | None = None
    cycles: int | None = None
    until: int | None = None
    sort: str = ""
    lasts: bool | None = None

    @property
    def measured(self) -> bool:
        """Whether `recovery` says how long the case took: not when another of its events was never seen to be over."""
        if self.recovery is None or self.bound is None:
            return False
        return self.recovered is not False or self.recovery > self.bound

    @classmethod
    def unplayed(cls, why: str, *, hung: bool = False) -> Self:
        """The result of a case that was not played to its end."""
        word = VerdictWord.HUNG if hung else VerdictWord.ERROR
        return cls(word, (why,), word, sort=f"{word}: {why}")


def summed_up(played: Played) -> CaseResult:
    """The result of a case that was played to its end."""
    outcome = played.outcome
    judged = [r for r in outcome.recoveries if not r.superseded]
    faults = [r for r in judged if r.action == EventAction.FAULT]
    took = [r.detected - r.at for r in faults if r.detected is not None]
    over = [r for r in judged if r.recounted is not None]
    sort, lasts = _main(outcome)
    slowest = max(over, key=_share, default=None)
    located = [found for found in played.located if found is not None]
    return CaseResult(
        verdict=outcome.verdict,
        failures=outcome.failures[:MOST_FAILURES],
        violated=violated(outcome),
        detected=all(r.detected is not None for r in faults) if faults else None,
        located=all(located) if located else None,
        recovered=all(r.recounted is not None and r.ok for r in judged) if judged else None,
        detection=max(took, default=None),
        recovery=None if slowest is None else _took(slowest),
        bound=None if slowest is None else slowest.bound,
        transits=None if slowest is None else slowest.transits,
        slowest=None if slowest is None else f"{slowest.told_as} {slowest.where}",
        cycles=outcome.cycles,
        until=played.until,
        sort=sort,
        lasts=lasts,
    )


def violated(outcome: Outcome) -> str | None:
    """The class of a failed outcome: the invariant that it breaks, the first one in the order of `INVARIANTS`."""
    return min((violation.promise for violation in outcome.violations), key=INVARIANTS.index, default=None)


def _main(outcome: Outcome) -> tuple[str, bool | None]:
    """Sort of the failure that stands for all, and whether it lasts: the first that does, else the first."""
    first = min(outcome.violations, key=lambda each: (not each.lasts, INVARIANTS.index(each.promise)), default=None)
    failed = next((each for each in outcome.expect if not each.ok), None)
    found = first or failed
    return ("", None) if found is None else (found.sort, found.lasts)


def _took(recovery: Recovery) -> int:
    return (recovery.recounted or 0) - recovery.at


def _share(recovery: Recovery) -> float:
    return _took(recovery) / max(1, recovery.bound)
