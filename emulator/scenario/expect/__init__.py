"""What a scenario can expect: a class in a file for each kind of check, in the order in which they are told."""

from ringhil.emulator.scenario.expect.applications import ApplicationIs
from ringhil.emulator.scenario.expect.card_values import (
    CountIs,
    EpochIs,
    IsolatedAre,
    LentAre,
    MembersAre,
    ReachableIs,
    StrandedAre,
    SuspectsAre,
)
from ringhil.emulator.scenario.expect.check import Check
from ringhil.emulator.scenario.expect.links import BreakIs, Gap, LinkIs
from ringhil.emulator.scenario.expect.roles import BoundaryIs, EntryIs
from ringhil.emulator.scenario.expect.switching import SwitchingIs
from ringhil.emulator.scenario.expect.truth import TruthIs
from ringhil.emulator.scenario.expect.work import FencingIs, ShareIs, WorkIs

CHECKS: tuple[type[Check], ...] = (
    CountIs,
    MembersAre,
    EntryIs,
    BoundaryIs,
    EpochIs,
    BreakIs,
    StrandedAre,
    IsolatedAre,
    LentAre,
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
    "LentAre",
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
