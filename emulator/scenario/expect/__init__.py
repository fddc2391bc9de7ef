"""What a scenario can expect: a class in a file for each kind of check, in the order in which they are told."""

from ringhil.emulator.scenario.expect.applications import ApplicationIs
from ringhil.emulator.scenario.expect.boundary import BoundaryIs
from ringhil.emulator.scenario.expect.broken import BreakIs, Gap
from ringhil.emulator.scenario.expect.check import Check
from ringhil.emulator.scenario.expect.count import CountIs
from ringhil.emulator.scenario.expect.entry import EntryIs
from ringhil.emulator.scenario.expect.epoch import EpochIs
from ringhil.emulator.scenario.expect.fencing import FencingIs
from ringhil.emulator.scenario.expect.isolated import IsolatedAre
from ringhil.emulator.scenario.expect.links import LinkIs
from ringhil.emulator.scenario.expect.members import MembersAre
from ringhil.emulator.scenario.expect.reachable import ReachableIs
from ringhil.emulator.scenario.expect.shares import ShareIs
from ringhil.emulator.scenario.expect.stranded import StrandedAre
from ringhil.emulator.scenario.expect.suspects import SuspectsAre
from ringhil.emulator.scenario.expect.switching import SwitchingIs
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
    SuspectsAre,
    LinkIs,
    ShareIs,
    WorkIs,
    ApplicationIs,
    SwitchingIs,
    FencingIs,
    ReachableIs,
    TruthIs,
)

__all__ = [
    "CHECKS",
    "ApplicationIs",
    "BoundaryIs",
    "BreakIs",
    "Check",
    "CountIs",
    "EntryIs",
    "EpochIs",
    "FencingIs",
    "Gap",
    "IsolatedAre",
    "LinkIs",
    "MembersAre",
    "ReachableIs",
    "ShareIs",
    "StrandedAre",
    "SuspectsAre",
    "SwitchingIs",
    "TruthIs",
    "WorkIs",
]
