"""Campaigns and results as they are kept in a store."""

import json
from dataclasses import dataclass
from typing import Any

from ringhil.emulator.campaign.explore.case import Case
from ringhil.emulator.campaign.explore.result import Result

COLUMNS = (
    "number, key, class, place, phase, depth, schedule, verdict, failures, violated, detected, located, recovered, "
    "detection, recovery, bound, transits, slowest, cycles, until"
)


@dataclass(frozen=True)
class Campaign:
    """What was played. `scenario`: text of a scenario file, `arguments`: what the cases follow from, both exact;
    `space`: number of cases by part."""

    name: str
    scenario_hash: str
    scenario: str
    rtl: str
    version: str
    seed: int
    arguments: dict[str, Any]
    space: dict[str, int]


@dataclass(frozen=True)
class Row:
    """A case and its result, as kept; `schedule` is the `timeline` of a scenario file as JSON."""

    number: int
    key: str
    cls: str
    place: str
    phase: int
    depth: int
    schedule: str
    result: Result


def row_values(number: int, case: Case, result: Result) -> tuple[object, ...]:
    r = result
    where = (number, case.key, case.cls, case.place, case.phase, case.depth, case.schedule.to_json())
    flags = (r.detected, r.located, r.recovered)
    times = (r.detection, r.recovery, r.bound, r.transits, r.slowest, r.cycles, r.until)
    return (*where, r.verdict, json.dumps(r.failures), r.violated, *flags, *times)


def row_of(row: tuple[Any, ...]) -> Row:
    number, key, cls, place, phase, depth, schedule, verdict, failures, violated, *rest = row
    detected, located, recovered = (None if flag is None else bool(flag) for flag in rest[:3])
    result = Result(verdict, tuple(json.loads(failures)), violated, detected, located, recovered, *rest[3:])
    return Row(number, key, cls, place, phase, depth, schedule, result)
