"""The document of `ringhil explore --json`."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ringhil.emulator.campaign.explore.explorer import Explored
from ringhil.emulator.campaign.explore.failing import Failing
from ringhil.emulator.campaign.explore.sorts import Sort, main_failures, sorts
from ringhil.emulator.campaign.explore.store import Row, Store
from ringhil.emulator.campaign.explore.summary import ClassSummary, by_class, joined
from ringhil.emulator.judge.known import KnownFailure, KnownFailures
from ringhil.emulator.judge.outcome import NOT_JUDGED, VerdictWord

INCOMPLETE = "incomplete"  # none failed, and not all were played


def document(
    store: Store,
    explored: Explored,
    failing: Sequence[Failing],
    known: KnownFailures = KnownFailures(),  # noqa: B008 - it is frozen
    file: str = "",
) -> dict[str, Any]:
    """The whole campaign, with what earlier runs of it have found; only `run` is of this one. `known`: sorts of
    failures that are no news; `file`: of the scenario, by which the list may name it."""
    number = explored.campaign
    kept = store.campaigns()[number]
    classes = by_class(store.rows(number))
    total = joined("all", classes)
    written = {case.row.key: case for case in failing}
    failed, ways = main_failures(store, number), sorts(store, number)
    why = {way.name: str(entry) for way in ways if (entry := _known(way, known.current, file)) is not None}
    over = {
        way.name: str(entry)
        for way in ways
        if way.name not in why and (entry := _known(way, known.expired, file)) is not None
    }
    by_cls = Counter(cls for way in ways if way.name in why for cls in way.classes)
    whole = total.cases >= explored.cases == sum(kept.space.values())  # and no shard
    stale = _stale(known.current, file, [way.name for way in ways]) if whole else []
    return {
        "name": kept.name,
        "campaign": number,
        "verdict": VerdictWord.FAIL if stale else verdict(total, explored.cases, by_cls.total()),
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
        "known": by_cls.total(),
        "stale": stale,
        "classes": [{**c.to_json(), "known": by_cls[c.cls]} for c in classes],
        "total": total.to_json(),
        "sorts": [{**_sort_json(way, written), "known": why.get(way.name), "over": over.get(way.name)} for way in ways],
        "failing": [_failing_json(row, written.get(row.key)) for row in failed],
    }


def _known(way: Sort, known: Sequence[KnownFailure], file: str) -> KnownFailure | None:
    """The entry by which it is. What could not be played is never known."""
    if way.first.result.verdict != VerdictWord.FAIL:
        return None
    return next((entry for entry in _about(known, file) if entry.explains(way.name)), None)


def _about(known: Sequence[KnownFailure], file: str) -> list[KnownFailure]:
    """Entries about sorts of this scenario."""
    return [entry for entry in known if entry.sort is not None and entry.names(file, file)]


def _stale(known: Sequence[KnownFailure], file: str, names: Sequence[str]) -> list[str]:
    """Those of which no case has failed."""
    gone = (entry for entry in _about(known, file) if not any(map(entry.explains, names)))
    return [f"{entry.sort}: no case has failed in this sort, and it is known to: {entry}" for entry in gone]


def _sort_json(sort: Sort, written: Mapping[str, Failing]) -> dict[str, Any]:
    first = written.get(sort.first.key)
    shrunk = None if first is None or first.shrunk is None else str(first.shrunk)
    document = {"sort": sort.name, "lasts": sort.first.result.lasts, "cases": sort.cases, "first": sort.first.key}
    return {**document, "shrunk": shrunk}


def verdict(total: ClassSummary, cases: int, known: int = 0) -> str:
    """Of a campaign of so many cases: FAIL, when more than the `known` have failed; PASS, INCOMPLETE when not all were
    played; or NOT_JUDGED when none was."""
    if not total.cases:
        return NOT_JUDGED
    if total.failed + total.errors > known:
        return VerdictWord.FAIL
    return VerdictWord.PASS if total.cases >= cases else INCOMPLETE


def row_json(row: Row) -> dict[str, Any]:
    """A case and its result."""
    result = asdict(row.result)
    case = {"number": row.number, "key": row.key, "class": row.cls, "place": row.place, "phase": row.phase}
    return {**case, "depth": row.depth, "timeline": json.loads(row.schedule), **result}


def _failing_json(row: Row, written: Failing | None) -> dict[str, Any]:
    files: dict[str, str | None] = {
        "file": None,
        "replay": None,
        "shrunk": None,
        "smallest": None,
        "recording": None,
        "step": None,
        "page": None,
        "no_page": None,
    }
    if written is not None:
        shrunk = None if written.shrunk is None else str(written.shrunk)
        recording = None if written.recording is None else str(written.recording)
        files = {"file": str(written.file), "replay": written.command, "shrunk": shrunk, "recording": recording}
        files["page"] = None if written.page is None else str(written.page)
        files["no_page"] = written.no_page or None
        files |= {"smallest": written.smallest, "step": written.step}
    return {**row_json(row), **files, "doomed": None if written is None else written.doomed}
