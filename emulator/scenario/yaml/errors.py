"""The one error that leaves this package, how values are shown in it, and helpful ends of messages."""

import difflib
from collections.abc import Iterable

from ringhil.emulator.errors import RinghilError, printable

_SHOWN_CHARACTERS = 60


class ScenarioError(RinghilError, ValueError):
    """A scenario file that can't be used; `str()` is one line: `path:line:column: where, found; allowed`.

    `line` and `column` count from 1 and point at the key or value to blame; both are None when the file
    couldn't be read at all, and then the line has no position either.
    """

    def __init__(self, path: str, line: int | None, column: int | None, problem: str) -> None:
        super().__init__(path, line, column, problem)  # all of them, so that it survives pickling
        self.path = path
        self.line = line
        self.column = column
        self.problem = problem

    def __str__(self) -> str:
        position = "" if self.line is None else f":{self.line}:{self.column}"
        return f"{printable(self.path)}{position}: {printable(self.problem)}"


def quoted(text: str) -> str:
    """`text` in quotes, escaped and cut to a length that a line can bear."""
    cut = text[:_SHOWN_CHARACTERS]
    return f"'{printable(cut)}{'...' if cut != text else ''}'"


def shown(value: object) -> str:
    """A value of the file in words of the file."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case list():
            return f"a list of length {len(value)}" if value else "an empty list"
        case dict():
            return f"a mapping of size {len(value)}" if value else "an empty mapping"
        case _:
            return str(value)


_LISTED = 24
_COMPARED_CHARACTERS = 40  # comparing takes quadratic time


def listing(names: Iterable[str]) -> str:
    """`a, b, c`, cut when there are too many for a line."""
    names = list(names)
    return printable(", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else ""))


def hint(found: str, names: Iterable[str]) -> str:
    """`did you mean 'gpus'? ` or nothing."""
    close = difflib.get_close_matches(found[:_COMPARED_CHARACTERS], list(names), n=1)
    return f"did you mean {quoted(close[0])}? " if close else ""


def unknown(what: str, found: str, names: Iterable[str]) -> str:
    """`unknown key 'gpu'; did you mean 'gpus'? allowed: gpus, types`."""
    names = list(names)
    return f"unknown {what} {quoted(found)}; {hint(found, names)}allowed: {listing(names)}"
