"""The marker `card_can`: what a test needs of its card."""

from collections.abc import Iterable

import pytest

from ringhil.emulator.scenario.yaml.errors import unknown
from ringhil.protocol.line.management import Capability

_MARKER = "card_can"


def needed(item: pytest.Item) -> list[str]:
    """The capabilities that a test's markers name. Raises ValueError for what is none."""
    allowed = [bit.word for bit in Capability]
    found = list[str]()
    for mark in item.iter_markers(_MARKER):
        if not mark.args or mark.kwargs:
            raise ValueError(f"{_MARKER}: takes names of capabilities; allowed: {', '.join(allowed)}")
        for name in mark.args:
            if name not in allowed:
                raise ValueError(f"{_MARKER}: {unknown('capability', str(name), allowed)}")
            found.append(name)
    return found


def lacking(item: pytest.Item, able: Iterable[str]) -> str | None:
    """The first capability that a test needs and a card lacks."""
    return next((name for name in needed(item) if name not in able), None)
