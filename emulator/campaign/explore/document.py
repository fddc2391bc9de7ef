"""The document of `ringhil explore --json`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ringhil.emulator.campaign.explore.explorer import Explored
from ringhil.emulator.campaign.explore.failing import Failing
from ringhil.emulator.campaign.explore.sorts import Sort, main_failures, sorts
from ringhil.emulator.campaign.explore.store import Row, Store
from ringhil.emulator.campaign.explore.summary import ClassSummary, by_class, joined
from ringhil.emulator.judge.outcome import NOT_JUDGED, VerdictWord

INCOMPLETE = "incomplete"  # none failed, and not all were played


def document(store: Store, explored: Explored, failing: Sequence[Failing]) -> dict[str, Any]:
    """The whole campaign, with what earlier runs of it have found; only `run` is of this one."""
    number = explored.campaign
    kept = store.campaigns()[number]
    classes = by_class(store.rows(number))
    total = joined("all", classes)
    written = {case.row.key: case for case in failing}
    failed = main_failures(store, number)
    return {
        "name": kept.name,
        "campaign": number,
        "verdict": verdict(total, explored.cases),
        "scenario": kept.scenario_hash,
        "rtl": kept.rtl,
        "hashes": kept.hashes,
        "version": kept.version,
        "seed": kept.seed,
        "arguments": kept.arguments,
        "space": kept.space,
        "cases": explored.cases,
        "done": total.cases,
        "covered": round(total.cases / explored.cases, 6) if explored.cases else 1.0,
        "run": {
            "played": explored.played,
            "already_done": explored.before,
            "stopped": explored.stopped,
            "seconds": round(explored.seconds, 3),
            "plays_per_second": round(explored.played / explored.seconds, 1) if explored.seconds else None,
        },
        "classes": [c.to_json() for c in classes],
        "total": total.to_json(),
        "sorts": [_sort_json(sort, written) for sort in sorts(store, number)],
        "failing": [_failing_json(row, written.get(row.key)) for row in failed],
    }


def _sort_json(sort: Sort, written: Mapping[str, Failing]) -> dict[str, Any]:
    first = written.get(sort.first.key)
    shrunk = None if first is None or first.shrunk is None else str(first.shrunk)
    document = {"sort": sort.name, "lasts": sort.first.result.lasts, "cases": sort.cases, "first": sort.first.key}
    return {**document, "shrunk": shrunk}


def verdict(total: ClassSummary, cases: int) -> str:
    """Of a campaign of so many cases: FAIL; PASS, INCOMPLETE when not all were played; or NOT_JUDGED when none was."""
    if not total.cases:
        return NOT_JUDGED
    if total.failed or total.errors:
        return VerdictWord.FAIL
    return VerdictWord.PASS if total.cases >= cases else INCOMPLETE


def row_json(row: Row) -> dict[str, Any]:
    """A case and its result."""
    result = asdict(row.result)
    case = {"number": row.number, "key": row.key, "class": row.cls, "place": row.place, "phase": row.phase}
    return {**case, "depth": row.depth, "timeline": json.loads(row.schedule), **result}


def _failing_json(row: Row, written: Failing | None) -> dict[str, Any]:
    files: dict[str, str | None] = {"file": None, "replay": None, "shrunk": None, "recording": None}
    if written is not None:
        shrunk = None if written.shrunk is None else str(written.shrunk)
        recording = None if written.recording is None else str(written.recording)
        files = {"file": str(written.file), "replay": written.command, "shrunk": shrunk, "recording": recording}
    return {**row_json(row), **files}
