"""Reads and merges the coverage files of Verilator ("SystemC::Coverage-3").

Each line is one point and its count: `C '^Aname^Bvalue ...' count`, where ^A and ^B are the bytes 1 and 2 and
characters that aren't printable are written as %XX.

| name | value |
|---|---|
| f, l, n | file, line, column |
| page | v_line/MODULE, v_branch/MODULE, v_toggle/MODULE ...: the kind of point |
| o | comment: which part of the statement, or which bit and direction of a toggle |
| S | lines that the point stands for: 31-35,37 |
| h | instances |

A point of the source is one point here, whatever instances and parameters of its module there are: counts add.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from ringhil.emulator.coverage.errors import CoverageError
from ringhil.emulator.documents import shown, size
from ringhil.emulator.files import open_input, reason_of

HEADER = "# SystemC::Coverage-3"
MAX_BYTES = 512 * 2**20
MAX_LINE_BYTES = 64 * 2**10
MAX_NUMBER = 10_000_000  # of a line or column of source text
MAX_COUNT = 2**64 - 1

_POINT = re.compile(r"C '(\x01[^\n]*)' (\d{1,20})")
_FIELD = re.compile(r"\x01([^\x01\x02]*)\x02([^\x01\x02]*)")
_PAGE = re.compile(r"v_(\w+)/.*")
_RANGES = re.compile(r"\d{1,8}(-\d{1,8})?(,\d{1,8}(-\d{1,8})?)*")


class Point(NamedTuple):
    """A place in the source; `kind` is line, branch, toggle, or another one that Verilator knows."""

    file: str
    line: int
    column: int
    kind: str
    comment: str


@dataclass
class Hits:
    """`ranges` are the first and last of the lines that the point stands for, beside its own."""

    count: int
    ranges: frozenset[tuple[int, int]] = frozenset()

    def lines(self, point: Point) -> set[int]:
        """All lines of a point."""
        return {point.line}.union(*(range(first, last + 1) for first, last in self.ranges))


Points = dict[Point, Hits]


def merge(parts: Iterable[Points]) -> Points:
    """One set of points; counts of the same point add."""
    merged: Points = {}
    for part in parts:
        for point, hits in part.items():
            _add(merged, point, hits.count, hits.ranges)
    return merged


def read(path: Path) -> Points:
    """The points of one file; raises CoverageError with the line of the file."""
    size(path, MAX_BYTES, CoverageError)
    points: Points = {}
    try:
        with open_input(path) as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                try:
                    _line(points, line, number)
                except ValueError as error:
                    raise CoverageError(f"{path}:{number}: {error}") from None
            if number == 0:
                raise CoverageError(f"{path}: empty; the first line must be {HEADER!r}")
    except OSError as error:
        raise CoverageError(f"{path}: cannot be read: {reason_of(error)}") from None
    return points


def _line(points: Points, line: bytes, number: int) -> None:
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a line of more than {MAX_LINE_BYTES:,} bytes")
    try:
        text = line.decode("ascii").rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValueError(f"found {shown(line)}; allowed are ASCII characters") from None
    if number == 1:
        if text != HEADER:
            raise ValueError(f"found {shown(text)}; the first line must be {HEADER!r}")
        return
    if not text or text.startswith("#"):
        return
    match = _POINT.fullmatch(text)
    if match is None or int(match[2]) > MAX_COUNT:
        raise ValueError(f"found {shown(text)}; allowed are comments (#) and C 'NAMES AND VALUES' COUNT")
    fields = {name: unquote(value) if "%" in value else value for name, value in _FIELD.findall(match[1])}
    kind = _PAGE.fullmatch(fields.get("page", ""))
    if kind is None or not fields.get("f"):
        raise ValueError(f"found {shown(match[1])}; a point needs a file (f) and a page of v_KIND/MODULE")
    place = (_number(fields, "l"), _number(fields, "n"))
    point = Point(fields["f"], *place, kind[1], fields.get("o", ""))
    _add(points, point, int(match[2]), _ranges(fields.get("S", "")))


def _number(fields: dict[str, str], name: str) -> int:
    found = fields.get(name, "0")
    if not (found.isascii() and found.isdigit()) or len(found) > 8 or int(found) > MAX_NUMBER:
        raise ValueError(f"{name} is {shown(found)}; allowed are 0 to {MAX_NUMBER:,}")
    return int(found)


def _ranges(text: str) -> frozenset[tuple[int, int]]:
    if not text:
        return frozenset()
    if _RANGES.fullmatch(text) is None:
        raise ValueError(f"S is {shown(text)}; allowed are numbers of lines such as '31-35,37'")
    ranges = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        ranges.add((int(first), int(last or first)))
        if not int(first) <= int(last or first) <= MAX_NUMBER:
            raise ValueError(f"S is {shown(text)}; allowed are ranges that go up, to {MAX_NUMBER:,}")
    return frozenset(ranges)


def _add(points: Points, point: Point, count: int, ranges: frozenset[tuple[int, int]]) -> None:
    hits = points.get(point)
    if hits is None:
        points[point] = Hits(count, ranges)
    else:
        hits.count += count
        hits.ranges |= ranges
