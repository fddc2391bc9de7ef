"""A scenario played to its end with its judge."""

import re
from collections.abc import Callable
from functools import cache

import pytest

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario, loads


def play(scenario: Scenario, library: Library) -> Outcome:
    """How it ended; the engine is closed, whatever happens."""
    server = Run(scenario, library)
    try:
        return server.run()
    finally:
        server.engine.close()


@cache
def violations(text: str) -> tuple[object, ...]:
    """What is wrong with a file's run on our hardware; played once for all mistakes that are tried on it. Ask before a
    mistake is made."""
    return play(loads(text), cells_library()).violations


def assert_named(
    mistake: Callable[[pytest.MonkeyPatch], None], text: str, invariant: str, says: str, patch: pytest.MonkeyPatch
) -> None:
    """A run of a file has nothing wrong, and with a mistake breaks an invariant, which says so. No name or number
    makes a sort of failure: the same mistake elsewhere is of the same sort."""
    assert violations(text) == ()
    mistake(patch)
    outcome = play(loads(text), cells_library())
    assert any(says in v.text for v in outcome.broken(invariant)), outcome.violations
    assert [v.sort for v in outcome.violations if re.search(r"[1-9]", v.sort)] == []
