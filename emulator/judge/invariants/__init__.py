"""What has to hold in every run: a class in a file for each, in the order in which they are told."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.best_holder import BestHolder
from ringhil.emulator.judge.invariants.bounded_recovery import BoundedRecovery
from ringhil.emulator.judge.invariants.evidence import RunEvidence
from ringhil.emulator.judge.invariants.invariant import Invariant
from ringhil.emulator.judge.invariants.lease_terms import LeaseTerms
from ringhil.emulator.judge.invariants.memory_isolated import MemoryIsolated
from ringhil.emulator.judge.invariants.no_early_return import NoEarlyReturn
from ringhil.emulator.judge.invariants.no_orphan import NoOrphan
from ringhil.emulator.judge.invariants.one_grant import OneGrant
from ringhil.emulator.judge.invariants.only_holder import OnlyHolder
from ringhil.emulator.judge.invariants.rightly_counted import RightlyCounted
from ringhil.emulator.judge.invariants.rightly_named import RightlyNamed
from ringhil.emulator.judge.invariants.rightly_resent import RightlyResent
from ringhil.emulator.judge.invariants.rightly_switched import RightlySwitched
from ringhil.emulator.judge.invariants.rightly_told import RightlyTold
from ringhil.emulator.judge.invariants.slice_kept import SliceKept
from ringhil.emulator.judge.invariants.steady_pace import SteadyPace
from ringhil.emulator.judge.invariants.work_once import WorkOnce
from ringhil.emulator.judge.invariants.wrong_count import WrongCount
from ringhil.emulator.judge.outcome import Violation

ALL: tuple[type[Invariant], ...] = (
    WrongCount,
    OneGrant,
    OnlyHolder,
    LeaseTerms,
    BestHolder,
    NoOrphan,
    BoundedRecovery,
    NoEarlyReturn,
    SteadyPace,
    RightlyNamed,
    WorkOnce,
    MemoryIsolated,
    SliceKept,
    RightlySwitched,
    RightlyResent,
    RightlyCounted,
    RightlyTold,
)


def violations(evidence: RunEvidence, judged: frozenset[str]) -> Iterator[Violation]:
    """The violations of the invariants with these names."""
    for kind in ALL:
        if kind.name in judged:
            for text, at in kind(evidence).broken():
                yield Violation(kind.name, text, at)
