"""A whole scenario: a server, its work, what happens to it and what is expected of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ringhil.emulator.scenario.expectation import Expectation
from ringhil.emulator.scenario.topology import GpuRef, LinkRef, Server


@dataclass(frozen=True)
class Workload:
    """`units` work units of `size` bytes each, or the file `data` cut into units of at most `size` bytes.

    Exactly one of `units` and `data` is set.
    """

    units: int | None
    data: Path | None
    size: int


@dataclass(frozen=True)
class TimelineEvent:
    """At cycle `at` after power-up, the fault `kind` begins (`fault`) or ends (`clear`) at `target`.

    `count`: the fault ends by itself after so many frames; None: it stays. `line`: of the file.
    """

    at: int
    action: Literal["fault", "clear"]
    kind: str
    target: GpuRef | LinkRef
    count: int | None
    line: int


@dataclass(frozen=True)
class Scenario:
    """Checked: every name in it exists, every value is in range.

    `timeline` is ordered by cycle, events of one cycle as in the file. `until`: last cycle of the run;
    None: whoever runs it decides.
    """

    name: str
    seed: int
    server: Server
    workload: Workload | None
    timeline: tuple[TimelineEvent, ...]
    until: int | None
    expect: tuple[Expectation, ...]
