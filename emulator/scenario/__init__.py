"""Server and scenario files: YAML in, frozen and checked objects out. The format: docs/scenarios.md."""

from ringhil.emulator.scenario.errors import ScenarioError
from ringhil.emulator.scenario.expectation import (
    BoundaryIs,
    BreakIs,
    Check,
    CountIs,
    EntryIs,
    Expectation,
    MembersAre,
    ReachableIs,
    WorkIs,
)
from ringhil.emulator.scenario.faults import FAULTS, PLANNED, Fault
from ringhil.emulator.scenario.loader import load, loads
from ringhil.emulator.scenario.scenario import Scenario, TimelineEvent, Workload
from ringhil.emulator.scenario.schema import json_schema
from ringhil.emulator.scenario.topology import BoundaryLink, Card, GpuRef, LinkRef, Server, Settings

__all__ = [
    "FAULTS",
    "PLANNED",
    "BoundaryIs",
    "BoundaryLink",
    "BreakIs",
    "Card",
    "Check",
    "CountIs",
    "EntryIs",
    "Expectation",
    "Fault",
    "GpuRef",
    "LinkRef",
    "MembersAre",
    "ReachableIs",
    "Scenario",
    "ScenarioError",
    "Server",
    "Settings",
    "TimelineEvent",
    "WorkIs",
    "Workload",
    "json_schema",
    "load",
    "loads",
]
