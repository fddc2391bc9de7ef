"""Frames on a link as transactions of a waveform: a text for each channel that says which frame is passing.

A text comes with the first flit and grows with the third (`statistics from GPU 2 of card 0, sequence 7`); it ends in
the cycle after the frame's last flit, or when the link isn't used. Between a frame's flits it stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log2
from typing import Any

from pylibfst import lib

from ringhil.emulator.trace.naming import described
from ringhil.protocol.wire import FLIT_BYTES, LinkBit

CHANNELS = ("control", "data")
_HEAD = 6 * FLIT_BYTES  # bytes: all that the text is made of
# Flags of a trace in GTKWave: shown as text, comment line, begin and end of a group.
_ASCII, _BLANK, _CLOSED, _BEGIN, _END = 0x800, 0x200, 0x400000, 0x800000, 0x1000000
_KNOWN = 3 * FLIT_BYTES  # bytes: who sent it to whom, and its number
_OPEN = 8  # groups
_SIGHT, _ASIDE = 40, 4  # cycles in sight, and of them before the first text, or after the last one
_PIXELS, _FRAME = 1000, 200  # of the waves in a window of 1,600; what GTKWave's zoom is about
_UNUSED = "a frame without a beginning"


@dataclass
class _Passing:
    seen: bytearray = field(default_factory=bytearray)  # of the flits before this cycle's
    whole: bool = False  # with a beginning
    open: bool = False
    text: str = ""
    span: tuple[int, int] | None = None  # cycles of the first text's beginning and of the last change


class LinkTransactions:
    """One way of a link, told of each cycle in which it changes."""

    def __init__(self) -> None:
        self._channels = tuple(_Passing() for _ in CHANNELS)
        self._data, self._control, self._at = 0, 0, 0

    def step(self, cycle: int, data: int, control: int) -> list[tuple[int, str]]:
        """From `cycle` on it carries this. The texts that change then, by the place of their channel."""
        self._passed(cycle - self._at)
        self._data, self._control, self._at = data, control, cycle
        found = []
        for place, passing in enumerate(self._channels):
            text = self._text(place, passing)
            if text != passing.text:
                passing.text = text
                passing.span = (cycle if passing.span is None else passing.span[0], cycle)
                found.append((place, text))
        return found

    def spans(self) -> list[tuple[int, int, int]]:
        """Of each channel that has carried a frame: its place, and the cycles at which the first text came and the last
        one changed."""
        return [(place, *found.span) for place, found in enumerate(self._channels) if found.span is not None]

    @property
    def _used(self) -> bool:
        return bool(self._control & LinkBit.UP) and not self._control & LinkBit.FAULT

    def _carries(self, place: int) -> bool:
        return bool(self._control & LinkBit.VALID) and bool(self._control & LinkBit.DATA) == bool(place)

    def _passed(self, cycles: int) -> None:
        """What it carried until now is over: a flit that stays the same is one more in each cycle."""
        word = self._data.to_bytes(FLIT_BYTES, "big")
        for place, passing in enumerate(self._channels):
            if not self._used:
                passing.open = False
            elif self._carries(place) and cycles:
                if self._control & LinkBit.SOF or not passing.open:
                    passing.seen, passing.whole = bytearray(), bool(self._control & LinkBit.SOF)
                passing.seen = (passing.seen + word * min(cycles, _HEAD))[:_HEAD]
                passing.open = not self._control & LinkBit.EOF

    def _text(self, place: int, passing: _Passing) -> str:
        """With the flit of this cycle."""
        if not self._used:
            return ""
        if not self._carries(place):
            return passing.text if passing.open else ""
        word = self._data.to_bytes(FLIT_BYTES, "big")
        begins = bool(self._control & LinkBit.SOF)
        if not (begins or (passing.open and passing.whole)):
            return _UNUSED
        seen = word if begins else bytes(passing.seen + word)[:_HEAD]
        if len(word) < len(seen) < _KNOWN and not self._control & LinkBit.EOF:
            return passing.text
        text = described(seen)
        return text + (" (bad)" if self._control & LinkBit.ERR else "")


def text_variable(context: Any, name: str) -> int:
    """A variable of the FST writer `context` that holds texts; its handle."""
    return int(lib.fstWriterCreateVar(context, lib.FST_VT_GEN_STRING, lib.FST_VD_OUTPUT, 0, name.encode(), 0))


def emit_text(context: Any, handle: int, text: str) -> None:
    """The variable holds the text from the writer's time on."""
    data = text.encode()
    lib.fstWriterEmitVariableLengthValueChange(context, handle, data, len(data))


@dataclass(frozen=True)
class ShownText:
    """A variable that is text: `path` in its file, `name` in a viewer, and the times at which the first text came and
    the last one ended."""

    path: str
    name: str
    first: int
    last: int


def gtkwave(
    groups: Sequence[tuple[str, Sequence[ShownText]]], cycle: int, *, end: bool, marked: int | None = None
) -> str:
    """A save file of GTKWave that shows texts in groups with titles; only the first groups are open. `cycle` is how
    many units of time one takes. In sight is what came first or, with `end`, last: so much that texts can be read; or
    the time `marked`, with the marker there."""
    shown = [text for _, texts in groups for text in texts]
    begin = max((t.last for t in shown), default=0) if end else min((t.first for t in shown), default=0)
    begin = max(0, begin - (_SIGHT - _ASIDE if end else _ASIDE) * cycle)
    if marked is not None:
        begin = max(0, marked - _SIGHT * cycle // 2)
    zoom = -log2(_SIGHT * cycle * _FRAME / _PIXELS)
    lines = ["[*]", "[*] Frames on links; made by `ringhil`.", "[*]", f"[timestart] {begin}", "[size] 1600 1000"]
    lines += ["[pos] -1 -1", " ".join([f"*{zoom:f}", str(-1 if marked is None else marked), *["-1"] * 26])]
    lines += ["[sst_width] 30", "[signals_width] 250", "[sst_expanded] 0"]
    for number, (title, texts) in enumerate(groups):
        closed = _CLOSED if number >= _OPEN else 0
        lines += [f"@{_BEGIN | _BLANK | closed:x}", f"-{title}"]
        for text in texts:
            lines += [f"@{_ASCII:x}", f"+{{{text.name}}} {text.path}"]
        lines += [f"@{_END | _BLANK | closed:x}", f"-{title}"]
    return "\n".join(lines) + "\n"
