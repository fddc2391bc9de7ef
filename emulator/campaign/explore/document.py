"""The document of `ringhil explore --json`."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from ringhil.emulator.campaign.explore.explorer import Explored
from ringhil.emulator.campaign.explore.failing import MOST_FILES, Failing
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
    word = verdict(total)
    if word == VerdictWord.PASS and total.cases < explored.cases:
        word = INCOMPLETE
    failed = list(store.rows(number, "verdict != 'pass'", limit=MOST_FILES))
    return {
        "name": kept.name,
        "campaign": number,
        "verdict": word,
        "scenario": kept.scenario_hash,
        "rtl": kept.rtl,
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
        "sorts": sorts(store.rows(number, "verdict != 'pass'")),
        "failing": [_failing_json(row, written.get(row.key)) for row in failed],
    }


def sorts(failed: Iterable[Row]) -> list[dict[str, Any]]:
    """Failing cases by the sort of their first failure, the most frequent first; `first`: key of one."""
    found: dict[str, dict[str, Any]] = {}
    for row in failed:
        r = row.result
        sort = r.sort or r.violated or r.verdict
        found.setdefault(sort, {"sort": sort, "cases": 0, "first": row.key})["cases"] += 1
    return sorted(found.values(), key=lambda one: -int(one["cases"]))


def verdict(total: ClassSummary) -> str:
    """Of a campaign: PASS, FAIL, or NOT_JUDGED when it has no case."""
    if not total.cases:
        return NOT_JUDGED
    return VerdictWord.FAIL if total.failed or total.errors else VerdictWord.PASS


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
