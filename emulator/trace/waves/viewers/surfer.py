"""Files for Surfer: a command file that adds the signals of the bench, and mappings that put words to their values.

Surfer finds mappings in `.surfer/mappings` of the directory in which it is started, so the command file goes beside
that: `cd DIR && surfer --command-file ringhil.sucl dump.fst`.
"""

from collections.abc import Mapping

from ringhil.emulator.trace.waves.viewers.signals import Show, groups
from ringhil.emulator.trace.waves.viewers.texts import controls, events, kinds

COMMANDS = "ringhil.sucl"
MAPPINGS: dict[Show, str] = {"control": "ringhil_ctl", "event": "ringhil_event", "kind": "ringhil_kind"}

_FORMATS: dict[Show, str] = {"hex": "Hexadecimal", "decimal": "Unsigned", **MAPPINGS}
_TROUBLE = {"down", "err", "bad", "single", "unknown", "fault"}


def files() -> dict[str, str]:
    """Name, below the directory that Surfer is started in -> text."""
    tables: dict[Show, tuple[Mapping[int, str], int]] = {
        "control": (controls(), 8),
        "event": (events(), 4),
        "kind": (kinds(), 8),
    }
    found = {COMMANDS: _commands()}
    for show, (texts, width) in tables.items():
        found[f".surfer/mappings/{MAPPINGS[show]}.txt"] = _mapping(MAPPINGS[show], texts, width)
    return found


def _mapping(name: str, texts: Mapping[int, str], width: int) -> str:
    lines = [f"Name = {name}", f"Bits = {width}"]
    for value, text in texts.items():
        kind = "[error]" if set(text.lower().replace("_", " ").split()) & _TROUBLE else ""
        lines.append(f"0x{value:02x}{kind} {text}")
    return "\n".join(lines) + "\n"


def _commands() -> str:
    """All items are added first: a number that an item has then, it keeps."""
    lines = ["# Signals of a node's bench, made by `ringhil rtl viewers`."]
    formats: list[str] = []
    number = 0
    for title, signals in groups():
        lines.append(f"divider_add {title}")
        number += 1
        for signal in signals:
            lines.append(f"variable_add {signal.path}")
            if signal.show in _FORMATS:
                formats += [f"item_focus {_letters(number)}_{signal.path}", f"item_set_format {_FORMATS[signal.show]}"]
            number += 1
    return "\n".join([*lines, *formats, "item_unfocus", "zoom_fit"]) + "\n"


def _letters(number: int) -> str:
    """An item's number as Surfer writes it: hexadecimal, with a to p for the digits."""
    return "".join("abcdefghijklmnop"[int(digit, 16)] for digit in f"{number:x}")
