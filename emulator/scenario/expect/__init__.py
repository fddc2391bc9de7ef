"""What a scenario can expect: a class in a file for each kind of check, in the order in which they are told."""

from ringhil.emulator.scenario.expect.boundary import BoundaryIs
from ringhil.emulator.scenario.expect.broken import BreakIs
from ringhil.emulator.scenario.expect.check import Check
from ringhil.emulator.scenario.expect.count import CountIs
from ringhil.emulator.scenario.expect.entry import EntryIs
from ringhil.emulator.scenario.expect.epoch import EpochIs
from ringhil.emulator.scenario.expect.isolated import IsolatedAre
from ringhil.emulator.scenario.expect.members import MembersAre
from ringhil.emulator.scenario.expect.reachable import ReachableIs
from ringhil.emulator.scenario.expect.stranded import StrandedAre
from ringhil.emulator.scenario.expect.truth import TruthIs
from ringhil.emulator.scenario.expect.work import WorkIs

CHECKS: tuple[type[Check], ...] = (
    CountIs,
    MembersAre,
    EntryIs,
    BoundaryIs,
    EpochIs,
    BreakIs,
    StrandedAre,
    IsolatedAre,
    WorkIs,
    ReachableIs,
    TruthIs,
)

__all__ = [
    "CHECKS",
    "BoundaryIs",
    "BreakIs",
    "Check",
    "CountIs",
    "EntryIs",
    "EpochIs",
    "IsolatedAre",
    "MembersAre",
    "ReachableIs",
    "StrandedAre",
    "TruthIs",
    "WorkIs",
]
