"""Lines that fit on the screen."""

import textwrap
from collections.abc import Iterable, Sequence

from ringhil.emulator.errors import printable

_MARK = "^"  # under the place of an error


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
