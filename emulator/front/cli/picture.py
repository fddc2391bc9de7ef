"""A ring as a small picture of characters.

A working GPU is [3], a bypassed one is joined through (-3-); a cut link is an X, the entry GPU has a star, a
boundary GPU an arrow.
Long rings go over several lines, as a snake that closes at its left end.
"""

from collections.abc import Collection

_PER_LINE = 16


def ring(
    size: int, members: Collection[int], entry: int | None, cuts: Collection[int], boundary: Collection[int] = ()
) -> list[str]:
    """Lines of text; `cuts` holds the numbers of links, link i joins GPU i and the next one."""
    rows = [range(start, min(start + _PER_LINE, size)) for start in range(0, size, _PER_LINE)]
    width = len(str(size - 1))
    lines = []
    for number, row in enumerate(rows):
        text = "".join(_gpu(gpu, members, entry, boundary, width) + _link(gpu, gpu in cuts, row, size) for gpu in row)
        left = "┌─" if number == 0 else "│ "
        right = "─┐" if number < len(rows) - 1 else "─┘" if len(rows) > 1 else "─┐"
        lines.append(left + text + right)
    length = max(map(len, lines))
    closing = "X" if size - 1 in cuts else "─"
    lines.append("└" + "─" * (length - 3) + closing + "┘")
    return lines


def _gpu(gpu: int, members: Collection[int], entry: int | None, boundary: Collection[int], width: int) -> str:
    name = f"{gpu:>{width}}"
    if gpu not in members:
        return f"─{name.replace(' ', '─')}─"
    return f"[{name}{'*' if gpu == entry else ''}{'↔' if gpu in boundary else ''}]"


def _link(gpu: int, cut: bool, row: range, size: int) -> str:
    if gpu == row[-1]:
        return "X" if cut and gpu != size - 1 else ""
    return "X" if cut else "─"
