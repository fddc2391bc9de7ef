"""Server and scenario files: YAML in, frozen and checked objects out. The format: docs/scenarios.md."""

from ringhil.emulator.scenario.errors import ScenarioError
from ringhil.emulator.scenario.expectation import (
    BoundaryIs,
    BreakIs,
    Check,
    CountIs,
    EntryIs,
    EpochIs,
    Expectation,
    IsolatedAre,
    MembersAre,
    ReachableIs,
    StrandedAre,
    WorkIs,
)
from ringhil.emulator.scenario.faults import FAULTS, PARAMETERS, Fault, Parameter
from ringhil.emulator.scenario.loader import load, loads
from ringhil.emulator.scenario.scenario import Scenario, TimelineEvent, Workload
from ringhil.emulator.scenario.schema import json_schema
from ringhil.emulator.scenario.topology import BoundaryLink, Card, CrossRef, GpuRef, LinkRef, Server, Settings

__all__ = [
    "FAULTS",
    "PARAMETERS",
    "BoundaryIs",
    "BoundaryLink",
    "BreakIs",
    "Card",
    "Check",
    "CountIs",
    "CrossRef",
    "EntryIs",
    "EpochIs",
    "Expectation",
    "Fault",
    "GpuRef",
    "IsolatedAre",
    "LinkRef",
    "MembersAre",
    "Parameter",
    "ReachableIs",
    "Scenario",
    "ScenarioError",
    "Server",
    "Settings",
    "StrandedAre",
    "TimelineEvent",
    "WorkIs",
    "Workload",
    "json_schema",
    "load",
    "loads",
]
