"""Helpful ends of messages: the closest name, and the list of names that are allowed."""

import difflib
from collections.abc import Iterable

from ringhil.emulator.scenario.yaml.errors import printable, quoted

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
