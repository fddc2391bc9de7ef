"""What the screen says of a message or event."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ringhil.emulator.debug.items import RecordedItem, decoded, said
from ringhil.emulator.errors import printable
from ringhil.emulator.trace.recording import RecordedMessage
from ringhil.emulator.trace.recording.tables import WAYS

_WAY = {"to_firmware": "→ fw", "from_firmware": "← fw", "to_cpu": "→ cpu", "from_cpu": "← cpu"}
_EVENT = "•"
_MARK = "^"  # under the place of an error


class ShownLine(NamedTuple):
    """Of the list. `bad`: the frame has come damaged."""

    cycle: int
    way: str
    gpu: str
    kind: str
    said: str
    bad: bool

    @property
    def text(self) -> str:
        """As it is searched."""
        return f"{self.cycle} {self.way} {self.gpu} {self.kind} {self.said}"


def line(item: RecordedItem, gpus: list[str]) -> ShownLine:
    """Of a message or event."""
    gpu = "" if item.cell is None else gpus[item.cell]
    if isinstance(item, RecordedMessage):
        kind, found = decoded(item.frame)
        return ShownLine(item.cycle, _WAY[WAYS[item.way]], gpu, kind, said(found), bool(item.bad))
    found = item.said
    where = [printable(f"{name} {found[name]}") for name in ("gpu", "link", "card") if name in found]
    return ShownLine(item.cycle, _EVENT, gpu, item.kind, ", ".join(filter(None, (said(found), *where))), False)


def in_line(value: Any) -> str:
    """A field's value, short: of records how many there are."""
    if isinstance(value, bytes):
        return value.hex() if len(value) <= 8 else f"{len(value)} bytes"
    if isinstance(value, tuple | list) and value and not isinstance(value[0], int):
        return str(len(value))
    return printable("".join(str(value).split()) if isinstance(value, tuple | list) else str(value))


def flow(pieces: Iterable[str], width: int) -> list[list[str]]:
    """Pieces side by side, two spaces between them, in lines of this width."""
    lines: list[list[str]] = [[]]
    for piece in pieces:
        if lines[-1] and sum(map(len, lines[-1])) + 2 * len(lines[-1]) + len(piece) > width:
            lines.append([])
        lines[-1].append(piece)
    return lines


def mark_first(lines: Sequence[str]) -> list[str]:
    """Of an error with a mark under its place the line with the mark comes first: what is wanted there may be long."""
    marked = len(lines) > 2 and lines[-1].strip() == _MARK
    return [*lines[-2:], *lines[:-2]] if marked else [*lines]


def folded(lines: Sequence[str], width: int) -> list[str]:
    """Lines of this width: long ones go on below, further to the right. Of one that has a mark under it that part is
    left in which the mark is."""
    found, lines = list[str](), [*map(printable, lines)]
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below.strip() == _MARK:
            start = max(0, len(below) + width // 4 - width)
            found += [line[start : start + width], below[start:]]
        elif line.strip() != _MARK:
            further = " " * (len(line) - len(line.lstrip()) + 4)
            found += textwrap.wrap(
                line, width, subsequent_indent=further, replace_whitespace=False, break_on_hyphens=False
            ) or [""]
    return found
