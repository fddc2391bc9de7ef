"""Server and scenario files: YAML in, frozen and checked objects out. The format: docs/reference/scenarios.md."""

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
from ringhil.emulator.scenario.expect.check import Expectation, When
from ringhil.emulator.scenario.file.check import longest_delay
from ringhil.emulator.scenario.file.faults import (
    FAULTS,
    LINE_FAULTS,
    PARAMETERS,
    EventAction,
    Fault,
    FaultTarget,
    LineEvent,
    Parameter,
    PartKind,
    Trait,
    having,
)
from ringhil.emulator.scenario.file.model import INVARIANTS
from ringhil.emulator.scenario.file.policies import SwitchPolicyName
from ringhil.emulator.scenario.file.scenario import Scenario, TimelineEvent
from ringhil.emulator.scenario.file.schema import json_schema
from ringhil.emulator.scenario.file.settings import BABBLED, GpuPower, Settings, power_of
from ringhil.emulator.scenario.file.sharing import Application, ApplicationGroup, Sharing
from ringhil.emulator.scenario.file.switching import TaskSwitching
from ringhil.emulator.scenario.file.topology import BoundaryLink, Card, CrossRef, GpuRef, LinkRef, Server, Workload
from ringhil.emulator.scenario.loader import load, load_variants, loads, loads_variants
from ringhil.emulator.scenario.sweep.variants import Variant, Variants
from ringhil.emulator.scenario.writer import dumps
from ringhil.emulator.scenario.yaml.errors import ScenarioError
from ringhil.emulator.scenario.yaml.events import read_text

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
