"""Server and scenario files: YAML in, frozen and checked objects out. The format: docs/scenarios.md."""

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
from ringhil.emulator.scenario.expect.expectation import Expectation, When
from ringhil.emulator.scenario.file.check import longest_delay
from ringhil.emulator.scenario.file.faults import (
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
from ringhil.emulator.scenario.file.invariants import INVARIANTS
from ringhil.emulator.scenario.file.line_faults import LINE_FAULTS, LineEvent
from ringhil.emulator.scenario.file.power import GpuPower, power_of
from ringhil.emulator.scenario.file.scenario import Scenario, TimelineEvent
from ringhil.emulator.scenario.file.schema import json_schema
from ringhil.emulator.scenario.file.settings import BABBLED, Settings
from ringhil.emulator.scenario.file.sharing import Application, ApplicationGroup, Sharing
from ringhil.emulator.scenario.file.switching import SwitchPolicyName, TaskSwitching
from ringhil.emulator.scenario.file.topology import BoundaryLink, Card, CrossRef, GpuRef, LinkRef, Server
from ringhil.emulator.scenario.file.workload import Workload
from ringhil.emulator.scenario.loader import load, load_variants, loads, loads_variants
from ringhil.emulator.scenario.sweep.variants import Variant, Variants
from ringhil.emulator.scenario.write.writer import dumps
from ringhil.emulator.scenario.yaml.errors import ScenarioError
from ringhil.emulator.scenario.yaml.reading import read_text

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
