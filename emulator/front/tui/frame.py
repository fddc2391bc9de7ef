"""The frame of a message: its fields and bytes, and what each hop has changed of it."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass

from rich.text import Text

from ringhil.emulator.debug.items import RecordedItem, decoded, details
from ringhil.emulator.debug.session import FrameOnLink
from ringhil.emulator.debug.shown import differences, in_line
from ringhil.emulator.errors import printable
from ringhil.emulator.front.tui.words import flow, folded
from ringhil.emulator.trace.recording import RecordedMessage
from ringhil.emulator.trace.recording.tables import WAYS

_CHANGED = "bold reverse"
_FURTHER = "    "  # before what goes on in the next line
_BYTES = (8, 16)  # in a line that is narrow, or wide


def before(message: RecordedMessage, hops: Sequence[FrameOnLink]) -> bytes | None:
    """What it was one hop before: of one that has come, on the link to the GPU that gave it away."""
    if WAYS[message.way].startswith("from") or len(hops) < 2:
        return None
    return hops[-2].frame


def shown(item: RecordedItem, hops: Sequence[FrameOnLink], hop: int | None, width: int) -> Text:
    """`hop`: as it was on that link; None: as it is here."""
    text = Text()
    if not isinstance(item, RecordedMessage):
        for name, value in details(item).items():
            text.append(f"{printable(name)}: {in_line(value)}\n")
        return text
    if hop is None:
        frame, earlier = item.frame, before(item, hops)
    else:
        frame, earlier = hops[hop].frame, hops[hop - 1].frame if hop else None
    _fields(text, frame, earlier, width)
    _bytes(text, frame, earlier, width)
    for number, each in enumerate(hops):
        changed = (
            []
            if not number
            else [f"{name} {was}→{now}" for name, was, now in differences(hops[number - 1].frame, each.frame)]
        )
        sign = "▸" if number == hop else " "
        lines = flow([f"{sign}{each.cycle} {each.gpu} {each.link}", *changed], width - len(_FURTHER))
        text.append(f"\n{_FURTHER}".join("  ".join(line) for line in lines) + "\n")
    _records(text, frame, width)
    return text


def _fields(text: Text, frame: bytes, earlier: bytes | None, width: int) -> None:
    found = decoded(frame)[1]
    was = found if earlier is None else decoded(earlier)[1]
    pieces, changed = list[str](), set[str]()
    for name, value in found.items():
        piece = f"{name} {in_line(value)}"
        if was.get(name) != value:
            piece += "*"
            changed.add(piece)
        pieces.append(piece)
    for line in flow(pieces, width):
        for number, piece in enumerate(line):
            text.append("  " * bool(number))
            text.append(piece, _CHANGED if piece in changed else "")
        text.append("\n")


def _bytes(text: Text, frame: bytes, earlier: bytes | None, width: int) -> None:
    """Changed ones are marked; a frame that has become longer has new ones at its end."""
    each = max((most for most in _BYTES if len("0000 ") + 3 * most <= width), default=_BYTES[0])
    for start in range(0, len(frame), each):
        text.append(f"{start:04x} ", "dim")
        for place in range(start, min(start + each, len(frame))):
            new = earlier is not None and earlier[place : place + 1] != frame[place : place + 1]
            text.append(f" {frame[place]:02x}", _CHANGED if new else "")
        text.append("\n")


def _records(text: Text, frame: bytes, width: int) -> None:
    for value in decoded(frame)[1].values():
        if isinstance(value, tuple) and value and is_dataclass(value[0]):
            for number, record in enumerate(value):
                values = " ".join(f"{each.name} {getattr(record, each.name)}" for each in fields(record))
                lines = folded([f"record {number}: {values}"], width)
                text.append("".join(f"{line}\n" for line in lines))
