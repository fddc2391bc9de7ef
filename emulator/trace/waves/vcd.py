"""Turns a VCD file into FST, which is a hundredth of its size and opens at once.

Verilator writes FST itself only where the headers of two compression libraries are installed; VCD it writes
everywhere. The file is read as a stream: memory holds the hierarchy and the last values, not the waves.

| of VCD | becomes |
|---|---|
| scopes, variables with their ranges, several names of one wire | the same |
| values 0, 1, x, z of scalars and vectors, reals | the same; short vectors are extended as the standard says |
| date, version, comments, attributes | left out: the same VCD gives the same file |

A variable may get names for its values (`ValueNames`), which viewers show instead of numbers; VCD has none.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

from pylibfst import ffi, lib

from ringhil.emulator.files import AtomicFile, open_input, reason_of
from ringhil.emulator.trace.waves.disk import check_room, check_whole
from ringhil.emulator.trace.waves.fst import BESIDE, WaveError
from ringhil.emulator.trace.waves.transactions import CHANNELS, LinkTransactions, ShownText, emit_text, text_variable

MAX_WIDTH = 2**20  # bits of one variable
MAX_DEPTH = 1000  # scopes in each other
MAX_NAME = 500  # bytes of one name; readers of FST have room for 512

_TYPES = {
    *("event", "integer", "parameter", "real", "realtime", "reg", "supply0", "supply1", "time", "tri", "triand"),
    *("trior", "trireg", "tri0", "tri1", "wand", "wire", "wor"),
}
_NEWER_TYPES = {"logic": "LOGIC", "bit": "BIT", "int": "INT", "shortint": "SHORTINT", "longint": "LONGINT"}
_SCOPES = {
    "module",
    "task",
    "function",
    "begin",
    "fork",
    "generate",
    "struct",
    "union",
    "class",
    "interface",
    "package",
}
_NODE = "u_node"
_PIN = re.compile(r"(?P<name>(?:p1|p2|host|boundary)_(?:rx|tx))_(?P<part>data|ctl)_[io]")
CYCLE = 1000  # time units of a bench's VCD, picoseconds
_REALS = ("real", "realtime")
_STATES = b"01xzuwlh-"


@dataclass(frozen=True)
class ValueNames:
    """Names of the values of the variables called `variable`, in scopes that fit the pattern `scope` (`u_view_*`)."""

    scope: str
    variable: str
    names: Mapping[int, str]


@dataclass(frozen=True)
class Converted:
    """What is in the file: variables, value changes written, its last time in the units of the VCD, and nodes by their
    scope, with the paths of the texts that say which frame is passing on each of their links."""

    variables: int
    changes: int
    end: int
    frames: tuple[tuple[str, list[ShownText]], ...] = ()


def convert(
    vcd: Path,
    fst: Path,
    *,
    start: int = 0,
    end: int | None = None,
    names: Sequence[ValueNames] = (),
    shell: str = "TOP",
    rebase: bool = False,
) -> Converted:
    """Write `fst`, which appears whole or not at all; raises WaveError with the line of the VCD.

    With `start` or `end` (in time units of the VCD, both included) only this window is written; it begins with the
    values that held then. With `rebase` time counts from `start` on. An outermost scope called `shell` isn't written,
    nor are the variables right in it: Verilator puts one around the top module and shows its pins twice. A last line
    without its end is left out: whoever wrote it was stopped. In scopes called `u_node`, links get texts that say which
    frame is passing.
    """
    if end is not None and end < start:
        raise WaveError(f"the window ends at {end:,}; allowed is its start, {start:,}, or later")
    try:
        target = AtomicFile(fst, binary=True, beside=BESIDE)
    except OSError as error:
        raise WaveError(f"{fst}: cannot be written: {reason_of(error)}") from None
    try:
        source = open_input(vcd)
    except OSError as error:
        raise WaveError(f"{vcd}: cannot be read: {reason_of(error)}") from None
    with source, target as file:
        context = lib.fstWriterCreate(os.fsencode(file.partial), 1)
        try:
            if not context or not file.partial.exists():
                raise WaveError(f"{fst}: cannot be written")
            converter = _Converter(_Words(source), context, names, shell, start, end, start if rebase else 0)
            try:
                converter.header()
                try:
                    check_room(*converter.room)
                except OSError as error:
                    context = None  # closed, it would need that room, too
                    raise WaveError(f"{fst}: cannot be written: {reason_of(error)}") from None
                converter.changes()
            except WaveError:
                raise
            except ValueError as error:
                raise WaveError(f"{vcd}:{converter.words.line}: {error}") from None
            except OSError as error:
                raise WaveError(f"{vcd}: cannot be read: {reason_of(error)}") from None
            if converter.now < start:
                raise WaveError(f"{vcd}: ends at {converter.now:,}; allowed are starts up to there, not {start:,}")
            if not converter.written:
                raise WaveError(f"{vcd}: no values in it, so there is nothing to show")
        finally:
            if context:
                lib.fstWriterClose(context)
        try:
            check_whole(file.partial)
            file.commit()
        except OSError as error:
            raise WaveError(f"{fst}: cannot be written: {reason_of(error)}") from None
    return Converted(converter.variables, converter.written, converter.now, converter.shown())


class _Words:
    """The words of a file, and the number of the line that they are on."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self.line = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._source:
            if not line.endswith(b"\n"):
                return
            self.line += 1
            yield from line.split()


@dataclass
class _Variable:
    """One handle of the FST, whatever names it has there."""

    handle: int  # 0: only seen in the shell
    width: int  # 0: a real


@dataclass
class _Link:
    """One way of a link of a node: `values` are data and control bits, `handles` of its texts."""

    scope: str
    name: str
    titles: list[str]
    handles: list[int]
    values: list[int] = field(default_factory=lambda: [0, 0])
    moved: bool = False
    frames: LinkTransactions = field(default_factory=LinkTransactions)


@dataclass
class _Converter:
    words: _Words
    context: Any
    names: Sequence[ValueNames]
    shell: str
    start: int
    end: int | None
    origin: int  # time of the VCD that is 0 in the FST
    now: int = 0
    variables: int = 0
    written: int = 0
    _known: dict[bytes, _Variable] = field(default_factory=dict)
    _stamped: bool = False
    _scopes: list[str] = field(default_factory=list)
    _links: list["_Link"] = field(default_factory=list)
    _pins: dict[tuple[str, str], bytes] = field(default_factory=dict)  # of the node whose scope this is
    _waiting: dict[bytes, list[tuple["_Link", int]]] = field(default_factory=dict)  # by the code of a variable
    _moved: list["_Link"] = field(default_factory=list)  # in this time
    _tables: dict[tuple[int, int], int] = field(default_factory=dict)  # number of the names, width -> handle

    # ------------------------------------------------------------------------------------------------- header

    def header(self) -> None:
        """Everything up to $enddefinitions."""
        self._stream = iter(self.words)
        lib.fstWriterSetDate(self.context, b"")
        lib.fstWriterSetVersion(self.context, b"ringhil")
        for word in self._stream:
            body = self._body(word)
            if word == b"$enddefinitions":
                return
            if word == b"$timescale":
                lib.fstWriterSetTimescaleFromString(self.context, b"".join(body))
            elif word == b"$scope":
                self._scope(body)
            elif word == b"$upscope":
                if not self._scopes:
                    raise ValueError("found $upscope; allowed is one for each $scope")
                if self._scopes[-1] == _NODE:
                    self._texts()
                if not self._in_shell:
                    lib.fstWriterSetUpscope(self.context)
                self._scopes.pop()
            elif word == b"$var":
                self._var(body)
        raise ValueError("ends without $enddefinitions; is it VCD?")

    def _body(self, keyword: bytes) -> list[bytes]:
        """The words up to $end."""
        if not keyword.startswith(b"$") or keyword == b"$end":
            raise ValueError(f"found {_shown(keyword)}; allowed are $scope, $var and the like")
        body: list[bytes] = []
        for word in self._stream:
            if word == b"$end":
                return body
            body.append(word)
        raise ValueError(f"{_shown(keyword)} has no $end")

    def _scope(self, body: list[bytes]) -> None:
        if len(body) != 2 or len(self._scopes) == MAX_DEPTH:
            raise ValueError(f"found {_shown(b' '.join(body))}; allowed is $scope TYPE NAME, {MAX_DEPTH} deep")
        kind, name = body[0].decode("ascii", "replace"), body[1]
        code = getattr(lib, f"FST_ST_VCD_{kind.upper()}") if kind in _SCOPES else lib.FST_ST_VCD_MODULE
        name = _name(name)
        self._scopes.append(name.decode())
        if not self._in_shell:
            lib.fstWriterSetScope(self.context, code, name, ffi.NULL)

    @property
    def room(self) -> tuple[int, int]:
        """Variables that are written, and their bits: a real has 64."""
        widths = [variable.width or 64 for variable in self._known.values() if variable.handle]
        return len(widths) + sum(len(link.handles) for link in self._links), sum(widths)

    @property
    def _in_shell(self) -> bool:
        return self._scopes == [self.shell]

    def _var(self, body: list[bytes]) -> None:
        if len(body) < 4 or not body[1].isdigit() or len(body[1]) > 9 or not 0 < int(body[1]) <= MAX_WIDTH:
            raise ValueError(
                f"found {_shown(b' '.join(body))}; allowed is $var TYPE WIDTH CODE NAME, 1 to {MAX_WIDTH:,} bits"
            )
        kind, code, name = body[0].decode("ascii", "replace"), body[2], _name(b" ".join(body[3:]))
        width = 0 if kind in _REALS else int(body[1])
        known = self._known.get(code)
        if known is not None and known.width != width:
            raise ValueError(f"{_shown(code)} has {width} bits; allowed are the {known.width} that it had before")
        if self._in_shell:
            self._known.setdefault(code, _Variable(0, width))
            return
        self._value_names(body[3].decode("utf-8", "replace"), width)
        alias = known.handle if known else 0
        handle = lib.fstWriterCreateVar(self.context, _type(kind), lib.FST_VD_IMPLICIT, int(body[1]), name, alias)
        self.variables += 1
        if not alias:
            self._known[code] = _Variable(int(handle), width)
        pin = _PIN.fullmatch(body[3].decode("ascii", "replace")) if self._scopes[-1:] == [_NODE] else None
        if pin is not None and width == (8 if pin["part"] == "ctl" else 64):
            self._pins[pin["name"], pin["part"]] = code

    def _texts(self) -> None:
        """The scope of a node ends: texts for the frames on its links."""
        path = ".".join(scope for scope in self._scopes if scope != self.shell)
        for name in dict.fromkeys(name for name, _ in self._pins):
            codes = [self._pins.get((name, part)) for part in ("data", "ctl")]
            if None in codes:
                continue
            titles = [f"{name}_{channel}_frame" for channel in CHANNELS]
            link = _Link(path, name, titles, [text_variable(self.context, title) for title in titles])
            self._links.append(link)
            self.variables += len(titles)
            for place, code in enumerate(codes):
                self._waiting.setdefault(code or b"", []).append((link, place))
        self._pins.clear()

    def _frames(self) -> None:
        """All changes of a time have come."""
        for link in self._moved:
            link.moved = False
            for place, text in link.frames.step(self.now // CYCLE, *link.values):
                emit_text(self.context, link.handles[place], text)
        self._moved.clear()

    def shown(self) -> tuple[tuple[str, list[ShownText]], ...]:
        """The texts of each node, by its scope, of links that have carried a frame."""
        found: dict[str, list[ShownText]] = {}
        for link in self._links:
            for place, first, last in link.frames.spans():
                times = (first * CYCLE - self.origin, last * CYCLE - self.origin)
                text = ShownText(f"{link.scope}.{link.titles[place]}", f"{link.name} {CHANNELS[place]}", *times)
                found.setdefault(link.scope, []).append(text)
        return tuple(found.items())

    def _value_names(self, variable: str, width: int) -> None:
        """The names for the next variable's values, if there are any."""
        scope = self._scopes[-1] if self._scopes else ""
        for number, wanted in enumerate(self.names):
            if width and variable == wanted.variable and fnmatchcase(scope, wanted.scope):
                if (number, width) not in self._tables:
                    self._tables[number, width] = self._table(wanted, width)
                lib.fstWriterEmitEnumTableRef(self.context, self._tables[number, width])
                return

    def _table(self, wanted: ValueNames, width: int) -> int:
        fitting = [(value, name) for value, name in wanted.names.items() if value < 1 << width]
        names = [ffi.new("char[]", name.encode()) for _, name in fitting]
        values = [ffi.new("char[]", f"{value:0{width}b}".encode()) for value, _ in fitting]
        title = f"{wanted.variable}_{width}".encode()
        return int(
            lib.fstWriterCreateEnumTable(
                self.context, title, len(names), width, ffi.new("char *[]", names), ffi.new("char *[]", values)
            )
        )

    # ------------------------------------------------------------------------------------------ value changes

    def changes(self) -> None:
        """The rest of the file, or as much of it as is in the window."""
        early: dict[bytes, bytes] | None = {} if self.start > 0 else None  # last values before the window
        for word in self._stream:
            first = word[:1]
            if first == b"#":
                time = self._time(word)
                if self.end is not None and time > self.end:
                    self.now = max(self.now, min(time, self.end))
                    break
                if early is not None and time >= self.start:
                    self._open(early, time)
                    early = None
                elif early is None:
                    self._stamp(time)
                self.now = time
            elif first in b"01xXzZ":
                self._change(word[1:], first, early)
            elif first in b"bBrR":
                code = next(self._stream, None)
                if code is None:
                    break
                self._change(code, word, early)
            elif first == b"$":
                # $dumpvars and the like enclose value changes; a comment encloses words.
                if word == b"$comment":
                    self._body(word)
            else:
                raise ValueError(f"found {_shown(word)}; allowed are times (#) and values (0, 1, x, z, b, r)")
        if early is not None and self.now >= self.start:
            self._open(early, self.now)
        else:
            self._stamp(self.now)

    def _open(self, early: dict[bytes, bytes], time: int) -> None:
        """The window begins: with the values that hold, and then with those of `time`."""
        self._stamp(self.start)
        for code, value in early.items():
            self._emit(code, value)
        if time > self.start:
            self._stamp(time)

    def _stamp(self, time: int) -> None:
        self._frames()
        lib.fstWriterEmitTimeChange(self.context, time - self.origin)
        for handle in () if self._stamped else [handle for link in self._links for handle in link.handles]:
            emit_text(self.context, handle, "")
        self._stamped = True

    def _time(self, word: bytes) -> int:
        digits = word[1:]
        if not digits.isdigit() or len(digits) > 19 or int(digits) < self.now:
            raise ValueError(f"found time {_shown(word)}; allowed are numbers from #{self.now} on")
        return int(digits)

    def _change(self, code: bytes, value: bytes, early: dict[bytes, bytes] | None) -> None:
        variable = self._known.get(code)
        if variable is None:
            raise ValueError(f"found {_shown(value + b' ' + code)}; no variable has the code {_shown(code)}")
        if value[:1] in b"bBrR":
            if (value[:1] in b"rR") != (variable.width == 0):
                raise ValueError(f"found {_shown(value)}; {_shown(code)} is a {'vector' if variable.width else 'real'}")
            value = value[1:]
        elif variable.width == 0:
            raise ValueError(f"found {_shown(value)}; {_shown(code)} is a real")
        value = _checked(value, variable.width)
        if early is not None:
            early[code] = value
        else:
            self._emit(code, value)

    def _emit(self, code: bytes, value: bytes) -> None:
        variable = self._known[code]
        if not variable.handle:
            return
        for link, place in self._waiting.get(code, ()):
            link.values[place] = int(value, 2) if not value.strip(b"01") else 0
            if not link.moved:
                link.moved = True
                self._moved.append(link)
        if not self._stamped:  # values may come before the first time: they hold from the beginning
            self._stamp(self.start)
        self.written += 1
        if variable.width:
            lib.fstWriterEmitValueChange(self.context, variable.handle, value)
        else:
            lib.fstWriterEmitValueChange(self.context, variable.handle, ffi.new("double *", float(value)))


def _checked(value: bytes, width: int) -> bytes:
    """All bits of a vector, lower case; or the digits of a real."""
    if width == 0:
        with suppress(ValueError):
            float(value)
            return value
        raise ValueError(f"found {_shown(value)}; allowed is a real number")
    value = value.lower()
    if not value or value.strip(_STATES) or value[: max(len(value) - width, 0)].strip(b"0"):
        raise ValueError(f"found {_shown(value)}; allowed are {width} bits of 0, 1, x, z")
    if len(value) < width:
        return value.rjust(width, b"0" if value[:1] in b"01" else value[:1])
    return value[len(value) - width :]


def _name(name: bytes) -> bytes:
    """The text as UTF-8, which readers take for granted."""
    name = name.decode("utf-8", "replace").encode().replace(b"\0", b"?")
    if len(name) > MAX_NAME:
        raise ValueError(f"found a name of {len(name):,} bytes; allowed are {MAX_NAME}")
    return name


def _type(kind: str) -> int:
    """The FST's number of a VCD type; a wire for those that it doesn't know."""
    if kind in _TYPES:
        return int(getattr(lib, f"FST_VT_VCD_{kind.upper()}"))
    if kind in _NEWER_TYPES:
        return int(getattr(lib, f"FST_VT_SV_{_NEWER_TYPES[kind]}"))
    return int(lib.FST_VT_VCD_WIRE)


def _shown(word: bytes) -> str:
    text = word.decode("ascii", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")
