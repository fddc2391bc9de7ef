"""No run of a valid file with tasks on GPUs fails, whatever they ask for and whatever breaks."""

from collections.abc import Callable

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.scenario import loads

from . import any_sharing
from .playing import play

KINDS = (any_sharing.sharing, any_sharing.trouble, any_sharing.switching)


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


def assert_passes(text: str, library: Library) -> None:
    outcome = play(loads(text), library)
    assert outcome.failures == (), text


@pytest.mark.parametrize("seed", sampled(range(8), "alarms", 2))
@pytest.mark.parametrize("kind", KINDS)
def test_some_files(library: Library, kind: Callable[[int], str], seed: int) -> None:
    assert_passes(kind(seed), library)


# Each was an alarm once: commands of applications keep the link busy, and units of work behind them have more time.
@pytest.mark.parametrize("seed", [41, 134, 238, 331, 359, 417])
def test_what_has_failed_once(library: Library, seed: int) -> None:
    assert_passes(any_sharing.sharing(seed), library)
