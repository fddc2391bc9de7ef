"""Server and scenario files: YAML in, frozen and checked objects out. The format: docs/reference/scenarios.md."""

from ringhil.emulator.scenario.check import longest_delay
from ringhil.emulator.scenario.errors import ScenarioError
from ringhil.emulator.scenario.expect import (
    BoundaryIs,
    BreakIs,
    Check,
    CountIs,
    EntryIs,
    EpochIs,
    Gap,
    IsolatedAre,
    MembersAre,
    ReachableIs,
    StrandedAre,
    TruthIs,
    WorkIs,
)
from ringhil.emulator.scenario.expectation import Expectation, When
from ringhil.emulator.scenario.faults import (
    FAULTS,
    PARAMETERS,
    EventAction,
    Fault,
    FaultTarget,
    Parameter,
    PartKind,
    Trait,
    having,
)
from ringhil.emulator.scenario.invariants import INVARIANTS
from ringhil.emulator.scenario.line_faults import LINE_FAULTS, LineEvent
from ringhil.emulator.scenario.loader import load, load_variants, loads, loads_variants
from ringhil.emulator.scenario.power import GpuPower, power_of
from ringhil.emulator.scenario.reading import read_text
from ringhil.emulator.scenario.scenario import Scenario, TimelineEvent
from ringhil.emulator.scenario.schema import json_schema
from ringhil.emulator.scenario.settings import BABBLED, Settings
from ringhil.emulator.scenario.sharing import Application, ApplicationGroup, Sharing
from ringhil.emulator.scenario.switching import SwitchPolicyName, TaskSwitching
from ringhil.emulator.scenario.topology import BoundaryLink, Card, CrossRef, GpuRef, LinkRef, Server
from ringhil.emulator.scenario.variants import Variant, Variants
from ringhil.emulator.scenario.workload import Workload
from ringhil.emulator.scenario.writer import dumps

__all__ = [
    "BABBLED",
    "FAULTS",
    "INVARIANTS",
    "LINE_FAULTS",
    "PARAMETERS",
    "Application",
    "ApplicationGroup",
    "BoundaryIs",
    "BoundaryLink",
    "BreakIs",
    "Card",
    "Check",
    "CountIs",
    "CrossRef",
    "EntryIs",
    "EpochIs",
    "EventAction",
    "Expectation",
    "Fault",
    "FaultTarget",
    "Gap",
    "GpuPower",
    "GpuRef",
    "IsolatedAre",
    "LineEvent",
    "LinkRef",
    "MembersAre",
    "Parameter",
    "PartKind",
    "ReachableIs",
    "Scenario",
    "ScenarioError",
    "Server",
    "Settings",
    "Sharing",
    "StrandedAre",
    "SwitchPolicyName",
    "TaskSwitching",
    "TimelineEvent",
    "Trait",
    "TruthIs",
    "Variant",
    "Variants",
    "When",
    "WorkIs",
    "Workload",
    "dumps",
    "having",
    "json_schema",
    "load",
    "load_variants",
    "loads",
    "loads_variants",
    "longest_delay",
    "power_of",
    "read_text",
]
