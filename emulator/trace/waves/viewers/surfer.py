"""Files for Surfer: a command file that adds the signals of the bench, and mappings that put words to their values.

Surfer finds mappings in `.surfer/mappings` of the directory in which it is started, so the command file goes beside
that: `cd DIR && surfer --command-file ringhil.sucl dump.fst`. Its commands set a cursor and named marks; how much of
the file is in sight they can't say, so it is all of it.
"""

from collections.abc import Mapping

from ringhil.emulator.trace.waves.viewers.gtkwave import CYCLE
from ringhil.emulator.trace.waves.viewers.signals import Show, WaveView, groups
from ringhil.emulator.trace.waves.viewers.texts import controls, events, faults, flags, kinds, register_names

COMMANDS = "ringhil.sucl"
MAPPINGS: dict[Show, str] = {
    "control": "ringhil_ctl",
    "event": "ringhil_event",
    "kind": "ringhil_kind",
    "flags": "ringhil_flags",
    "fault": "ringhil_fault",
    "register": "ringhil_register",
}

_FORMATS: dict[Show, str] = {"hex": "Hexadecimal", "decimal": "Unsigned", **MAPPINGS}
_COLOURED = {MAPPINGS[show] for show in ("control", "event", "kind")}  # what is on a link
_TROUBLE = {"down", "err", "bad", "single", "unknown", "fault"}


def files(view: WaveView | None = None, commands: str = COMMANDS) -> dict[str, str]:
    """Name, below the directory that Surfer is started in -> text. Without a view all of the bench is shown."""
    tables: dict[Show, tuple[Mapping[int, str], int]] = {
        "control": (controls(), 8),
        "event": (events(), 4),
        "kind": (kinds(), 8),
        "flags": (flags(), 16),
        "fault": (faults(), 16),
        "register": (register_names(), 8),
    }
    found = {commands: _commands(view if view is not None else WaveView(groups()))}
    for show, (texts, width) in tables.items():
        found[f".surfer/mappings/{MAPPINGS[show]}.txt"] = _mapping(MAPPINGS[show], texts, width)
    return found


def _mapping(name: str, texts: Mapping[int, str], width: int) -> str:
    lines = [f"Name = {name}", f"Bits = {width}"]
    for value, text in texts.items():
        kind = "[error]" if name in _COLOURED and set(text.lower().replace("_", " ").split()) & _TROUBLE else ""
        lines.append(f"0x{value:02x}{kind} {text}")
    return "\n".join(lines) + "\n"


def _commands(view: WaveView) -> str:
    """All items are added first: a number that an item has then, it keeps."""
    lines = ["# Signals of a node's bench, made by `ringhil rtl`."]
    formats: list[str] = []
    number = 0
    for title, signals in view.groups:
        lines.append(f"divider_add {title}")
        number += 1
        for signal in signals:
            lines.append(f"variable_add {signal.path}")
            if signal.show in _FORMATS:
                formats += [f"item_focus {_letters(number)}_{signal.path}", f"item_set_format {_FORMATS[signal.show]}"]
            number += 1
    lines += [*formats, "item_unfocus", "zoom_fit"]
    lines += [f"cursor_set {cycle * CYCLE}" for _, cycle in view.marks[:1]]
    lines += [f"marker_set {name.replace(' ', '_')} {cycle * CYCLE}" for name, cycle in view.marks]
    return "\n".join(lines) + "\n"


def _letters(number: int) -> str:
    """An item's number as Surfer writes it: hexadecimal, with a to p for the digits."""
    return "".join("abcdefghijklmnop"[int(digit, 16)] for digit in f"{number:x}")
