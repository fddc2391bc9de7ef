"""Line and toggle coverage of each file of the RTL, from the points of Verilator, with waivers applied.

Lines are judged as `verilator_coverage --annotate` marks them:

| a line | when | mark there |
|---|---|---|
| is covered | every line and branch point on it was reached | blank |
| is partly covered | some were; it doesn't count as covered | ~ |
| is missed | none was | % |
| is waived | of the points on it, all that were not reached are waived; it isn't counted at all | |

A line without points isn't counted. A point is on its own line and on those that it stands for. A toggle is one bit
going one way, in any instance of its module.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from ringhil.emulator.coverage import waivers as waiving
from ringhil.emulator.coverage.errors import CoverageError
from ringhil.emulator.coverage.verilator_dat import Hits, Point, Points
from ringhil.emulator.coverage.waivers import Waiver
from ringhil.emulator.files import reason_of

_TOGGLE = re.compile(r"(.*):(0->1|1->0)")
_BIT = re.compile(r"(.*)\[\d+\]")


@dataclass(frozen=True)
class Line:
    """Points on one line; `most` is the highest count of them."""

    number: int
    text: str
    points: int
    reached: int
    waived: int
    most: int

    @property
    def state(self) -> str:
        """covered, partly, missed or waived."""
        if self.reached == self.points:
            return "covered"
        if self.reached + self.waived == self.points:
            return "waived"
        return "partly" if self.reached else "missed"


@dataclass(frozen=True)
class SignalToggles:
    """Toggles of a signal or port, all its bits and both ways, declared on `line`."""

    line: int
    name: str
    toggles: int
    reached: int
    waived: int


@dataclass(frozen=True)
class Tally:
    """`wanted` doesn't include what is waived."""

    reached: int
    wanted: int
    waived: int

    @property
    def percentage(self) -> float:
        """0 to 100; 0 when nothing is wanted: of nothing nothing was shown."""
        return 100 * self.reached / self.wanted if self.wanted else 0.0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.reached + other.reached, self.wanted + other.wanted, self.waived + other.waived)


@dataclass(frozen=True)
class SourceFile:
    """One file of the RTL; `lines` are those with points."""

    name: str
    lines: tuple[Line, ...]
    signals: tuple[SignalToggles, ...]

    @property
    def open_lines(self) -> list[Line]:
        """Lines that weren't covered, waived ones included."""
        return [line for line in self.lines if line.state != "covered"]

    @property
    def open_signals(self) -> list[SignalToggles]:
        """Signals of which a toggle is missing that isn't waived."""
        return [signal for signal in self.signals if signal.reached + signal.waived < signal.toggles]

    @property
    def line_tally(self) -> Tally:
        """Lines."""
        states = [line.state for line in self.lines]
        waived = states.count("waived")
        return Tally(states.count("covered"), len(states) - waived, waived)

    @property
    def toggle_tally(self) -> Tally:
        """Toggles."""
        waived = sum(signal.waived for signal in self.signals)
        toggles = sum(signal.toggles for signal in self.signals)
        return Tally(sum(signal.reached for signal in self.signals), toggles - waived, waived)


@dataclass(frozen=True)
class Hdl:
    """`absent` are files of the RTL without any point; `outside` are files with points that aren't of the RTL."""

    sources: tuple[SourceFile, ...]
    absent: tuple[str, ...]
    outside: tuple[str, ...]
    waived: tuple[tuple[Waiver, int], ...] = ()  # with the number of points that it waives

    @property
    def line_tally(self) -> Tally:
        """Lines of all files."""
        return sum((source.line_tally for source in self.sources), Tally(0, 0, 0))

    @property
    def toggle_tally(self) -> Tally:
        """Toggles of all files."""
        return sum((source.toggle_tally for source in self.sources), Tally(0, 0, 0))


def measure(points: Points, rtl: Path, waivers: Sequence[Waiver] = ()) -> Hdl:
    """Coverage of the files `*.sv` and `*.v` of a directory; raises CoverageError.

    A point belongs to the file of its name, wherever it lay when it was built: results of several machines merge.
    """
    texts = _texts(rtl)
    here: dict[str, Points] = {}
    outside = set()
    for point, hits in points.items():
        name = PurePath(point.file).name
        if name in texts:
            moved = point._replace(file=name)
            known = here.setdefault(name, {}).setdefault(moved, Hits(0))
            known.count += hits.count
            known.ranges |= hits.ranges
        else:
            outside.add(name)
    for waiver in waivers:
        lines = [text for name, text in texts.items() if waiver.fits_file(name)]
        if not any(waiver.fits_line(line) for text in lines for line in text):
            raise CoverageError(f"{waiver}: no such line in {rtl}")
    used: dict[Waiver, int] = {}
    sources = [_File(name, texts[name], waivers, used).source(here[name]) for name in sorted(here)]
    idle = waiving.unused(waivers, used, here)
    if idle:
        raise CoverageError(f"{idle[0]}: all that it waives was reached; take it out")
    absent = tuple(sorted(texts.keys() - here.keys()))
    counted = tuple(sorted(used.items(), key=lambda item: item[0].number))
    return Hdl(tuple(sources), absent, tuple(sorted(outside)), counted)


def _texts(rtl: Path) -> dict[str, list[str]]:
    try:
        files = sorted(f for f in rtl.iterdir() if f.suffix in (".sv", ".v"))
        texts = {f.name: f.read_text(encoding="utf-8").splitlines() for f in files}
    except OSError as error:
        raise CoverageError(f"{rtl}: cannot be read: {reason_of(error)}") from None
    except UnicodeDecodeError as error:
        raise CoverageError(f"{rtl}: {error.reason}; allowed is UTF-8") from None
    if not texts:
        raise CoverageError(f"{rtl}: no *.sv or *.v there")
    return texts


@dataclass
class _File:
    """`used` counts the points that each waiver waives."""

    name: str
    text: list[str]
    waivers: Sequence[Waiver]
    used: dict[Waiver, int]
    _fitting: dict[int, list[Waiver]] = field(default_factory=dict)

    def source(self, points: Points) -> SourceFile:
        lines: dict[int, list[tuple[Point, Hits]]] = {}
        signals: dict[tuple[int, str], list[tuple[Point, Hits]]] = {}
        for point, hits in sorted(points.items(), key=lambda item: item[0]):
            last = max([point.line, *(last for _, last in hits.ranges)])
            if not 1 <= point.line <= last <= len(self.text):
                raise CoverageError(
                    f"{self.name}: a point on line {last}, but the file has {len(self.text)}: it isn't the one built"
                )
            if point.kind in ("line", "branch"):
                for number in hits.lines(point):
                    lines.setdefault(number, []).append((point, hits))
            elif point.kind == "toggle" and (toggle := _TOGGLE.fullmatch(point.comment)):
                bit = _BIT.fullmatch(toggle[1])
                signals.setdefault((point.line, bit[1] if bit else toggle[1]), []).append((point, hits))
        waived = {point for point, hits in points.items() if not hits.count and self._waived(point)}
        return SourceFile(
            self.name,
            tuple(self._line(number, found, waived) for number, found in sorted(lines.items())),
            tuple(self._signal(*key, found, waived) for key, found in sorted(signals.items())),
        )

    def _line(self, number: int, found: list[tuple[Point, Hits]], waived: set[Point]) -> Line:
        return Line(
            number,
            self.text[number - 1],
            len(found),
            sum(1 for _, hits in found if hits.count),
            sum(1 for point, _ in found if point in waived),
            max(hits.count for _, hits in found),
        )

    def _signal(self, line: int, name: str, found: list[tuple[Point, Hits]], waived: set[Point]) -> SignalToggles:
        reached = sum(1 for _, hits in found if hits.count)
        return SignalToggles(line, name, len(found), reached, sum(1 for point, _ in found if point in waived))

    def _waived(self, point: Point) -> bool:
        """Whether a waiver fits a point that was not reached; it is used then."""
        if point.line not in self._fitting:
            text = self.text[point.line - 1]
            self._fitting[point.line] = [w for w in self.waivers if w.fits_file(self.name) and w.fits_line(text)]
        toggle = _TOGGLE.fullmatch(point.comment) if point.kind == "toggle" else None
        for waiver in self._fitting[point.line]:
            fits = waiver.fits_toggle(toggle[1]) if toggle else waiver.toggle is None and point.kind != "toggle"
            if fits:
                self.used[waiver] = self.used.get(waiver, 0) + 1
                return True
        return False
