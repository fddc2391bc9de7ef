"""Server and scenario files: YAML in, frozen and checked objects out. The format: docs/scenarios.md."""

from .errors import ScenarioError
from .expectation import (
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
from .faults import FAULTS, PLANNED, Fault
from .loader import load, loads
from .scenario import Scenario, TimelineEvent, Workload
from .schema import json_schema
from .topology import BoundaryLink, Card, GpuRef, LinkRef, Server, Settings

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
