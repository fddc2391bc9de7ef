"""Files for GTKWave: a save file with signals of the bench, and the filters that put words to their values."""

import textwrap
from collections.abc import Mapping
from math import log2

from ringhil.emulator.trace.waves.viewers.signals import NODE, TOP, Show, Signal, WaveView, groups
from ringhil.emulator.trace.waves.viewers.texts import controls, events, faults, flags, kinds, register_names

SAVE = "ringhil.gtkw"
FILTERS: dict[Show, str] = {
    "control": "ctl.txt",
    "event": "event.txt",
    "kind": "kind.txt",
    "flags": "flags.txt",
    "fault": "fault.txt",
    "register": "register.txt",
}
CYCLE = 1000  # time units of a wave file, picoseconds

# Flags of a trace: radix, right-justified, translated by a filter file, comment line, begin and end of a group.
_HEX, _DECIMAL, _BINARY, _RIGHT, _BLANK, _FILTERED = 0x2, 0x4, 0x8, 0x20, 0x200, 0x2000
_CLOSED, _BEGIN, _END = 0x400000, 0x800000, 0x1000000
_ENUM = 0x1_0000_0000  # names from the wave file go before those of the filter
# GTKWave looks for filters from where it was started, but moves paths along with the save file: they are written as
# if both lay here.
_ELSEWHERE = "/ringhil"
# Names from the wave file are only found for values in binary.
_RADIX: dict[Show, int] = {"bit": _BINARY, "decimal": _DECIMAL, "event": _BINARY, "kind": _BINARY}
_NAMED = ("event", "kind")  # in the wave file
_OPEN_GROUPS = ("node", "p1 rx", "p1 tx", "p2 rx", "p2 tx")
_PIXELS = 950  # of the waves, in a window of 1,600
_FRAME = 200  # pixels
_NOTE = 42  # characters of a line
_LETTERS = 26  # marks that have names


def files(view: WaveView | None = None, save: str = SAVE) -> dict[str, str]:
    """Name -> text; the filters must lie beside the save file. Without a view all of the bench is shown."""
    return {
        save: _save(view if view is not None else WaveView(groups()), save),
        FILTERS["control"]: _filter(controls(), "02X", coloured=True),
        FILTERS["event"]: _filter(events(), "04b", coloured=True),
        FILTERS["kind"]: _filter(kinds(), "08b", coloured=True),
        FILTERS["flags"]: _filter(flags(), "04X"),
        FILTERS["fault"]: _filter(faults(), "04X"),
        FILTERS["register"]: _filter(register_names(), "02X"),
    }


def _filter(texts: Mapping[int, str], shown: str, *, coloured: bool = False) -> str:
    """A line for each value: as GTKWave shows it, then a colour if it's trouble on a link, then the text."""
    return "".join(f"{value:{shown}} {_colour(text) if coloured else ''}{text}\n" for value, text in texts.items())


def _colour(text: str) -> str:
    words = set(text.lower().replace("_", " ").split())
    if words & {"down", "err", "bad", "single", "unknown"}:
        return "?red4?"
    return "?orange4?" if "fault" in words else ""


def _save(view: WaveView, save: str) -> str:
    lines = ["[*]", "[*] Signals of a node's bench; made by `ringhil rtl`.", "[*]"]
    lines += [f'[savefile] "{_ELSEWHERE}/{save}"', *_place(view), f"[treeopen] {TOP}.", f"[treeopen] {NODE}."]
    whole = not view.marks
    lines += [f"[sst_width] {200 if whole else 30}", f"[signals_width] {300 if whole else 520}"]
    lines += [f"[sst_expanded] {int(whole)}"]
    for line in textwrap.wrap(view.note, _NOTE):  # the names are as wide as the longest line
        lines += [f"@{_BLANK:x}", f"-{line}"]
    for title, signals in view.groups:
        closed = 0 if not whole or title in _OPEN_GROUPS else _CLOSED
        lines += [f"@{_BEGIN | _BLANK | closed:x}", f"-{title}"]
        for signal in signals:
            lines += _trace(signal)
        lines += [f"@{_END | _BLANK | closed:x}", f"-{title}"]
    lines += [f"[markername] {_letter(i)}{name}" for i, (name, _) in enumerate(view.marks)]
    return "\n".join(lines) + "\n"


def _place(view: WaveView) -> list[str]:
    """Where in time it begins, and how much of it is in sight: GTKWave counts that in powers of two, of time units a
    frame. Then the primary marker, which decides the values beside the names, and the named ones."""
    lines = ["[timestart] 0", "[size] 1600 1000", "[pos] -1 -1"]
    if view.window is not None:
        first, last = view.window
        lines[0] = f"[timestart] {first * CYCLE}"
        zoom = -log2((last - first) * CYCLE * _FRAME / _PIXELS)
        times = [cycle * CYCLE for _, cycle in view.marks[:_LETTERS]]
        primary = times[0] if times else -1
        lines.append(" ".join([f"*{zoom:f}", *map(str, [primary, *times, *[-1] * (_LETTERS - len(times))])]))
    return lines


def _letter(place: int) -> str:
    return chr(ord("A") + place)


def _trace(signal: Signal) -> list[str]:
    radix = _RADIX.get(signal.show, _HEX) | _RIGHT
    if signal.show not in FILTERS:
        return [f"@{radix:x}", signal.ranged]
    if signal.show in _NAMED:
        radix |= _ENUM
    return [f"@{radix | _FILTERED:x}", f"^1 {_ELSEWHERE}/{FILTERS[signal.show]}", signal.ranged]
