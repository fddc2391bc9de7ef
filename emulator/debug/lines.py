"""Lines of firmware in Python, as they are run while a recorded run is played again.

Python traces only while it is in a method of firmware that the kernel has called: all else is played as fast as ever.
Firmware in C, and boards, have no lines here.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, NamedTuple

from ringhil.emulator.debug.condition import Condition, parse
from ringhil.emulator.debug.memory import NOTHING, inside, plain
from ringhil.emulator.events.firmware import FirmwareCalled
from ringhil.emulator.judge.run import Run

MOST_LINES = 100_000  # that are listed of a cycle

_Trace = Callable[[FrameType, str, Any], Any]


class FirmwareCall(NamedTuple):
    """`number`: of the last message or event before it; `line`: where the method begins, 0: it isn't in Python."""

    cycle: int
    number: int
    gpu: str
    method: str
    frame: bytes
    file: str
    line: int
    function: str


class FirmwareLine(NamedTuple):
    """A line that is run next. `call`: which call of its cycle it is in, from 0; `depth`: how many functions deep, the
    method itself is 1; `hit`: a breakpoint on it holds."""

    number: int
    gpu: str
    call: int
    depth: int
    file: str
    line: int
    function: str
    hit: bool


class StackedFunction(NamedTuple):
    """A function that is being run, and what its names stand for, as JSON has it."""

    function: str
    file: str
    line: int
    names: dict[str, Any]


class LineHits(NamedTuple):
    """The first and the last cycle in which a line with a breakpoint was run."""

    first: int
    last: int


class StoppedLine(NamedTuple):
    """What was there when a line was run next, as JSON has it."""

    gpu: str
    stack: list[StackedFunction]
    registers: dict[str, int]
    firmware: Any
    card: Any


class TracedLines(NamedTuple):
    """What LineTracer has found."""

    calls: list[FirmwareCall]
    lines: list[FirmwareLine]
    hits: LineHits | None
    stopped: StoppedLine | None


class _AnyName(frozenset[str]):
    """What a function's names are nobody knows before it runs."""

    def __contains__(self, name: object) -> bool:
        return True


Breakpoints = Mapping[str, Mapping[int, str]]
"""By file, lines and the condition on each; empty: always."""


def line_condition(text: str) -> Condition:
    """Of a breakpoint on a line: on `gpu`, `cycle`, and the names that the function has there, also `message.sequence`.
    Raises ConditionError."""
    return parse(text, _AnyName()) if text.strip() else lambda fields: True


class LineTracer:
    """From now on. `listing`: it lists all calls and lines, else it looks for breakpoints only, which is faster. `at`:
    the line of that place in the list, at which `look` is called with its GPU and the functions that are being run
    there, the innermost first. Raises ConditionError."""

    def __init__(
        self,
        run: Run,
        number: Callable[[], int],
        is_firmware: Callable[[str], bool],
        breaks: Breakpoints,
        *,
        listing: bool = False,
        at: int | None = None,
        look: Callable[[str, list[StackedFunction]], None] = lambda gpu, stack: None,
    ) -> None:
        self._gpus, self._number, self._is_firmware = run.server.wiring.places.gpus, number, is_firmware
        self._breaks = {
            file: {line: line_condition(text) for line, text in lines.items()} for file, lines in breaks.items()
        }
        self._listing, self._at, self._look = listing, at, look
        self._files = dict[str, str]()  # as code has them, and as they are
        self._now: FirmwareCalled | None = None
        self._top: FrameType | None = None
        self._depth = 0
        self.calls, self.lines = list[FirmwareCall](), list[FirmwareLine]()
        self.hits: LineHits | None = None
        run.observations.listen(FirmwareCalled, self._called)

    def _called(self, call: FirmwareCalled) -> None:
        self._now, self._top, self._depth = call, None, 0
        if self._listing:
            where = call.cycle, self._number(), self._gpus[call.cell]
            self.calls.append(FirmwareCall(*where, call.method, call.frame, "", 0, ""))
        sys.settrace(self._enter)

    def _enter(self, frame: FrameType, what: str, _: Any) -> _Trace | None:
        assert self._now is not None
        code = frame.f_code
        if self._top is None:
            if code.co_name != self._now.method:
                return None  # what the method is given is being looked up
            self._top = frame
        inside = self._is_firmware(frame.f_globals.get("__name__", ""))
        self._depth += inside
        if inside and self._listing and not self.calls[-1].line:
            file, line = self._file(code.co_filename), code.co_firstlineno
            self.calls[-1] = self.calls[-1]._replace(file=file, line=line, function=code.co_qualname)
        wanted = inside and (self._listing or self._file(code.co_filename) in self._breaks)
        frame.f_trace_lines = wanted
        return self._inside if inside or frame is self._top else None

    def _file(self, name: str) -> str:
        if name not in self._files:
            self._files[name] = os.path.realpath(name)
        return self._files[name]

    def _inside(self, frame: FrameType, what: str, _: Any) -> _Trace:
        if what == "line":
            self._line(frame)
        elif what == "return":
            self._depth -= self._is_firmware(frame.f_globals.get("__name__", ""))
            if frame is self._top:
                sys.settrace(None)
                self._top = None
        return self._inside

    def _line(self, frame: FrameType) -> None:
        assert self._now is not None
        file, gpu = self._file(frame.f_code.co_filename), self._gpus[self._now.cell]
        condition = self._breaks.get(file, {}).get(frame.f_lineno)
        hit = condition is not None and condition(_Names({"gpu": gpu, "cycle": self._now.cycle}, frame.f_locals))
        if hit:
            self.hits = LineHits(self._now.cycle if self.hits is None else self.hits.first, self._now.cycle)
        if not self._listing or len(self.lines) == MOST_LINES:
            return
        if len(self.lines) == self._at:
            self._look(gpu, self._stack(frame))
        call, name = len(self.calls) - 1, frame.f_code.co_qualname
        self.lines.append(FirmwareLine(self._number(), gpu, call, self._depth, file, frame.f_lineno, name, hit))

    def _stack(self, frame: FrameType | None) -> list[StackedFunction]:
        found = list[StackedFunction]()
        while frame is not None:
            if self._is_firmware(frame.f_globals.get("__name__", "")):
                code, values = frame.f_code, frame.f_locals
                names = {name: plain(value) for name, value in values.items() if name != "__class__"}  # super() has it
                found.append(StackedFunction(code.co_qualname, self._file(code.co_filename), frame.f_lineno, names))
            frame = None if frame is self._top else frame.f_back
        return found


class _Names(Mapping[str, Any]):
    """What a condition on a line is about. Values inside of others are read, no code of theirs is run."""

    def __init__(self, about: Mapping[str, Any], names: Mapping[str, Any]) -> None:
        self._about, self._names = about, names

    def __getitem__(self, name: str) -> Any:
        if name in self._about:
            return self._about[name]
        first, *parts = name.split(".")
        if first not in self._names:
            raise KeyError(name)
        found = inside(self._names[first], parts)
        if found is NOTHING:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter({**self._about, **self._names})

    def __len__(self) -> int:
        return len({**self._about, **self._names})
