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
from typing import Any

from ringhil.emulator.coverage.cross import Bins, Cross, Ignore
from ringhil.emulator.coverage.errors import CoverageError, shown, size
from ringhil.emulator.files import write_whole

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
        raise CoverageError(f"{path}: cannot be written: {error.strerror}") from None


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


def load(path: Path) -> tuple[list[Cross], dict[str, dict[Bins, int]]]:
    """Crosses and their counts; raises CoverageError with the place in the file."""
    size(path, MAX_BYTES)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CoverageError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        # A syntax error has its line and column in the message; anything else isn't text, or nests without end.
        raise CoverageError(f"{path}: not JSON: {str(error).splitlines()[0]}") from None
    reader = _Reader(path)
    reader.keys(document, "the file", {"format", "version", "crosses"})
    reader.equal(document["format"], "format", FORMAT)
    reader.equal(document["version"], "version", VERSION)
    rows = reader.list(document["crosses"], "crosses", MAX_CROSSES)
    crosses, counts = [], {}
    for number, row in enumerate(rows):
        cross = reader.cross(row, f"crosses[{number}]")
        if cross.name in counts:
            raise reader.error(f"crosses[{number}].name", cross.name, "each name once")
        crosses.append(cross)
        counts[cross.name] = reader.hits(row["hits"], f"crosses[{number}].hits", cross)
    return crosses, counts


class _Reader:
    """Checks of one file; every complaint names the path of the value."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def error(self, where: str, found: object, allowed: str) -> CoverageError:
        return CoverageError(f"{self._path}: {where}: found {shown(found)}; allowed is {allowed}")

    def keys(self, found: Any, where: str, names: set[str]) -> None:
        if not isinstance(found, dict) or found.keys() != names:
            raise self.error(
                where, sorted(found) if isinstance(found, dict) else found, f"an object with {', '.join(sorted(names))}"
            )

    def equal(self, found: Any, where: str, wanted: str | int) -> None:
        if type(found) is not type(wanted) or found != wanted:
            raise self.error(where, found, repr(wanted))

    def list(self, found: Any, where: str, most: int | None = None) -> list[Any]:
        if not isinstance(found, list) or (most is not None and len(found) > most):
            raise self.error(where, found, f"a list of at most {most:,}" if most is not None else "a list")
        return found

    def text(self, found: Any, where: str) -> str:
        if not isinstance(found, str) or not found:
            raise self.error(where, found, "a text")
        return found

    def bins(self, found: Any, where: str) -> dict[str, tuple[str, ...]]:
        axes: dict[str, tuple[str, ...]] = {}
        for number, pair in enumerate(self.list(found, where)):
            here = f"{where}[{number}]"
            if len(self.list(pair, here)) != 2 or not isinstance(pair[0], str) or pair[0] in axes:
                raise self.error(here, pair, "an axis, each once, and its bins")
            axes[pair[0]] = tuple(self.text(value, f"{here}[1]") for value in self.list(pair[1], f"{here}[1]"))
        return axes

    def cross(self, row: Any, where: str) -> Cross:
        self.keys(row, where, {"name", "axes", "ignore", "hits"})
        ignores = []
        for number, ignore in enumerate(self.list(row["ignore"], f"{where}.ignore")):
            here = f"{where}.ignore[{number}]"
            self.keys(ignore, here, {"when", "reason"})
            reason = self.text(ignore["reason"], f"{here}.reason")
            ignores.append(Ignore(self.bins(ignore["when"], f"{here}.when"), reason))
        name, axes = self.text(row["name"], f"{where}.name"), self.bins(row["axes"], f"{where}.axes")
        try:
            return Cross(name, axes, tuple(ignores))
        except CoverageError as error:
            raise CoverageError(f"{self._path}: {where}: {error}") from None

    def hits(self, rows: Any, where: str, cross: Cross) -> dict[Bins, int]:
        axes = list(cross.axes.values())
        counts: dict[Bins, int] = {}
        for number, row in enumerate(self.list(rows, where, cross.size)):
            if len(self.list(row, f"{where}[{number}]")) != len(axes) + 1 or not all(type(n) is int for n in row):
                raise self.error(f"{where}[{number}]", row, f"{len(axes)} indices of bins and a count")
            *places, count = row
            if not all(0 <= place < len(bins) for place, bins in zip(places, axes, strict=True)):
                raise self.error(f"{where}[{number}]", row, f"indices below {', '.join(str(len(b)) for b in axes)}")
            if not 1 <= count <= MAX_COUNT:
                raise self.error(f"{where}[{number}]", count, f"a count of 1 to {MAX_COUNT}")
            combination = tuple(bins[place] for place, bins in zip(places, axes, strict=True))
            if combination in counts:
                raise self.error(f"{where}[{number}]", row, "each combination once")
            counts[combination] = count
        return counts
