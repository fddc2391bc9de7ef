"""Campaigns and results as they are kept in a store."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from pydantic import TypeAdapter

from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.campaign.explore.space import Case

COLUMNS = (
    "number, key, class, place, phase, depth, schedule, verdict, failures, violated, detected, located, recovered, "
    "detection, recovery, bound, transits, slowest, cycles, until, sort, lasts"
)


@dataclass(frozen=True)
class StoredCampaign:
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

    @property
    def hashes(self) -> dict[str, str]:
        """Of scenario, RTL and firmware."""
        return {"scenario": self.scenario_hash, "rtl": self.rtl, **self.arguments.get("hashes", {})}

    @property
    def firmware(self) -> str:
        """Options that give `run` the firmware that was played with, as a shell takes them, each with a space before
        it. At which port a board was isn't kept: URL stands for that."""
        given = (text if "=" in text else f"{text}=URL" for text in self.arguments.get("firmware", ()))
        return "".join(f" --firmware {shlex.quote(text)}" for text in given)


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
    result: CaseResult


def row_values(number: int, case: Case, result: CaseResult) -> tuple[object, ...]:
    where = (number, case.key, case.cls, case.place, case.phase, case.depth, case.schedule.to_json())
    return (*where, *_result_values(result))


def _result_values(r: CaseResult) -> tuple[object, ...]:
    flags = (r.detected, r.located, r.recovered)
    times = (r.detection, r.recovery, r.bound, r.transits, r.slowest, r.cycles, r.until, r.sort, r.lasts)
    return (r.verdict, json.dumps(r.failures), r.violated, *flags, *times)


def values_of(row: Row) -> tuple[object, ...]:
    """As `row_values` gives them."""
    where = (row.number, row.key, row.cls, row.place, row.phase, row.depth, row.schedule)
    return (*where, *_result_values(row.result))


_WHERE = ("number", "key", "cls", "place", "phase", "depth", "schedule")
_OUTCOME = tuple(field.name for field in fields(CaseResult))  # in the order of COLUMNS
_ROW, _CAMPAIGN = TypeAdapter(Row), TypeAdapter(StoredCampaign)
_EVENTS, _TEXTS = TypeAdapter(list[dict[str, Any]]), TypeAdapter(tuple[str, ...])
_ARGUMENTS, _SPACE = TypeAdapter(dict[str, Any]), TypeAdapter(dict[str, int])


def row_of(values: tuple[Any, ...]) -> Row:
    """What COLUMNS hold; raises pydantic's ValidationError where that isn't what `row_values` writes."""
    result = dict(zip(_OUTCOME, values[len(_WHERE) :], strict=True))
    result["failures"] = _TEXTS.validate_json(result["failures"])
    row = _ROW.validate_python({**dict(zip(_WHERE, values, strict=False)), "result": result})
    _EVENTS.validate_json(row.schedule)
    return row


def campaign_of(values: Sequence[Any]) -> StoredCampaign:
    """The fields of a campaign; raises as `row_of`."""
    row = dict(zip((field.name for field in fields(StoredCampaign)), values, strict=True))
    row["arguments"], row["space"] = _ARGUMENTS.validate_json(row["arguments"]), _SPACE.validate_json(row["space"])
    return _CAMPAIGN.validate_python(row)
