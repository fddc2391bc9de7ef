"""Files for GTKWave: a save file with the signals of the bench, and the filters that put words to their values."""

from collections.abc import Mapping

from ringhil.emulator.trace.waves.viewers.signals import NODE, TOP, Show, Signal, groups
from ringhil.emulator.trace.waves.viewers.texts import controls, events, kinds

SAVE = "ringhil.gtkw"
FILTERS: dict[Show, str] = {"control": "ctl.txt", "event": "event.txt", "kind": "kind.txt"}

# Flags of a trace: radix, right-justified, translated by a filter file, comment line, begin and end of a group.
_HEX, _DECIMAL, _BINARY, _RIGHT, _BLANK, _FILTERED = 0x2, 0x4, 0x8, 0x20, 0x200, 0x2000
_CLOSED, _BEGIN, _END = 0x400000, 0x800000, 0x1000000
_ENUM = 0x1_0000_0000  # names from the wave file go before those of the filter
# GTKWave looks for filters from where it was started, but moves paths along with the save file: they are written as
# if both lay here.
_ELSEWHERE = "/ringhil"
# Names from the wave file are only found for values in binary.
_RADIX: dict[Show, int] = {"bit": _BINARY, "decimal": _DECIMAL, "event": _BINARY, "kind": _BINARY}
_OPEN_GROUPS = ("node", "p1 rx", "p1 tx", "p2 rx", "p2 tx")


def files() -> dict[str, str]:
    """Name -> text. The filters must lie beside the save file."""
    return {
        SAVE: _save(),
        FILTERS["control"]: _filter(controls(), "02X"),
        FILTERS["event"]: _filter(events(), "04b"),
        FILTERS["kind"]: _filter(kinds(), "08b"),
    }


def _filter(texts: Mapping[int, str], shown: str) -> str:
    """A line for each value: as GTKWave shows it, then a colour if it's trouble, then the text."""
    return "".join(f"{value:{shown}} {_colour(text)}{text}\n" for value, text in texts.items())


def _colour(text: str) -> str:
    words = set(text.lower().replace("_", " ").split())
    if words & {"down", "err", "bad", "single", "unknown"}:
        return "?red4?"
    return "?orange4?" if "fault" in words else ""


def _save() -> str:
    lines = ["[*]", "[*] Signals of a node's bench; made by `ringhil rtl viewers`.", "[*]"]
    lines += [
        f'[savefile] "{_ELSEWHERE}/{SAVE}"',
        "[timestart] 0",
        "[size] 1600 1000",
        "[pos] -1 -1",
        f"[treeopen] {TOP}.",
        f"[treeopen] {NODE}.",
    ]
    lines += ["[sst_width] 200", "[signals_width] 300", "[sst_expanded] 1"]
    for title, signals in groups():
        closed = 0 if title in _OPEN_GROUPS else _CLOSED
        lines += [f"@{_BEGIN | _BLANK | closed:x}", f"-{title}"]
        for signal in signals:
            lines += _trace(signal)
        lines += [f"@{_END | _BLANK | closed:x}", f"-{title}"]
    return "\n".join(lines) + "\n"


def _trace(signal: Signal) -> list[str]:
    flags = _RADIX.get(signal.show, _HEX) | _RIGHT
    if signal.show not in FILTERS:
        return [f"@{flags:x}", signal.ranged]
    if signal.show != "control":
        flags |= _ENUM
    return [f"@{flags | _FILTERED:x}", f"^1 {_ELSEWHERE}/{FILTERS[signal.show]}", signal.ranged]
