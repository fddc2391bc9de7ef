"""The file of functional coverage: JSON, in one order, so that the same counts are the same bytes.

    {"format": "ringhil functional coverage", "version": 1, "crosses": [
      {"name": ..., "axes": [[AXIS, [BIN, ...]], ...],
       "ignore": [{"when": [[AXIS, [BIN, ...]], ...], "reason": ...}, ...],
       "hits": [[index of the bin on each axis ..., count], ...]}]}

Crosses by name, hits by index, only those that were seen.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ringhil.emulator.coverage.cross import MAX_BINS, Bins, Cross, Ignore
from ringhil.emulator.coverage.errors import CoverageError
from ringhil.emulator.documents import Document, read, wrong
from ringhil.emulator.files import reason_of, write_whole

FORMAT = "ringhil functional coverage"
VERSION = 1
MAX_BYTES = 64 * 2**20
MAX_CROSSES = 256
MAX_COUNT = 2**63 - 1


def save(path: Path, crosses: Iterable[Cross], counts: Mapping[str, Mapping[Bins, int]]) -> None:
    """Write the file; it appears whole or not at all. Raises CoverageError."""
    rows = [_cross(cross, counts[cross.name]) for cross in sorted(crosses, key=lambda cross: cross.name)]
    document = {"format": FORMAT, "version": VERSION, "crosses": rows}
    try:
        write_whole(path, json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n")
    except OSError as error:
        raise CoverageError(f"{path}: cannot be written: {reason_of(error)}") from None


def _cross(cross: Cross, counts: Mapping[Bins, int]) -> dict[str, object]:
    index = [{value: place for place, value in enumerate(bins)} for bins in cross.axes.values()]
    hits = sorted([*(i[v] for i, v in zip(index, bins, strict=True)), count] for bins, count in counts.items())
    return {
        "name": cross.name,
        "axes": [[axis, list(bins)] for axis, bins in cross.axes.items()],
        "ignore": [
            {"when": [[axis, list(bins)] for axis, bins in ignore.when.items()], "reason": ignore.reason}
            for ignore in cross.ignore
        ],
        "hits": hits,
    }


Text = Annotated[str, Field(min_length=1)]
_Axes = list[tuple[Text, tuple[Text, ...]]]


class _Ignore(Document):
    when: _Axes
    reason: Text


class _Cross(Document):
    name: Text
    axes: _Axes
    ignore: list[_Ignore]
    hits: Annotated[list[list[int]], Field(max_length=MAX_BINS)]


class _File(Document):
    format: Literal["ringhil functional coverage"]
    version: Literal[1]
    crosses: Annotated[list[_Cross], Field(max_length=MAX_CROSSES)]


def load(path: Path) -> tuple[list[Cross], dict[str, dict[Bins, int]]]:
    """Crosses and their counts; raises CoverageError with the place in the file."""
    crosses, counts = [], {}
    for number, row in enumerate(read(path, _File, MAX_BYTES, CoverageError).crosses):
        where = f"crosses[{number}]"
        try:
            ignores = [
                Ignore(_bins(ignore.when, f"{where}.ignore[{n}].when"), ignore.reason)
                for n, ignore in enumerate(row.ignore)
            ]
            axes = _bins(row.axes, f"{where}.axes")
            if row.name in counts:
                raise CoverageError(wrong(f"{where}.name", row.name, "each name once"))
            cross = _cross_of(row.name, axes, ignores, where)
            counts[row.name] = _hits(row.hits, f"{where}.hits", cross)
        except CoverageError as error:
            raise CoverageError(f"{path}: {error}") from None
        crosses.append(cross)
    return crosses, counts


def _cross_of(name: str, axes: dict[str, tuple[str, ...]], ignores: list[Ignore], where: str) -> Cross:
    try:
        return Cross(name, axes, tuple(ignores))
    except CoverageError as error:
        raise CoverageError(f"{where}: {error}") from None


def _bins(found: _Axes, where: str) -> dict[str, tuple[str, ...]]:
    axes = dict(found)
    if len(axes) < len(found):
        raise CoverageError(wrong(where, [axis for axis, _ in found], "each axis once"))
    return axes


def _hits(rows: list[list[int]], where: str, cross: Cross) -> dict[Bins, int]:
    axes = list(cross.axes.values())
    counts: dict[Bins, int] = {}
    for number, row in enumerate(rows):
        *places, count = row or [0]
        if len(places) != len(axes):
            allowed = f"{len(axes)} indices of bins and a count"
        elif not all(0 <= place < len(bins) for place, bins in zip(places, axes, strict=True)):
            allowed = f"indices below {', '.join(str(len(bins)) for bins in axes)}"
        elif not 1 <= count <= MAX_COUNT:
            allowed = f"a count of 1 to {MAX_COUNT}"
        elif (combination := tuple(bins[n] for n, bins in zip(places, axes, strict=True))) in counts:
            allowed = "each combination once"
        else:
            counts[combination] = count
            continue
        raise CoverageError(wrong(f"{where}[{number}]", row, allowed))
    return counts
