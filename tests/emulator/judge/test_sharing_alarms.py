"""No run of a valid file with tasks on GPUs fails, whatever they ask for and whatever breaks."""

from collections.abc import Callable

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.scenario import loads

from . import any_sharing
from .playing import play

KINDS = (
    any_sharing.sharing,
    any_sharing.trouble,
    any_sharing.switching,
    any_sharing.interrupted,
    any_sharing.unreached,
)


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


def assert_passes(text: str, library: Library) -> None:
    outcome = play(loads(text), library)
    assert outcome.failures == (), text


@pytest.mark.rest(but_one_in=7)
@pytest.mark.parametrize("seed", sampled(range(8), "alarms", 2))
@pytest.mark.parametrize("kind", KINDS)
def test_some_files(library: Library, kind: Callable[[int], str], seed: int) -> None:
    assert_passes(kind(seed), library)


# Each was an alarm once: commands of applications keep the link busy, and units of work behind them have more time.
@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("seed", [41, 134, 238, 331, 359, 417])
def test_what_has_failed_once(library: Library, seed: int) -> None:
    assert_passes(any_sharing.sharing(seed), library)


# So was each of these: of two tasks beside each other the one that had begun later was over first; or both had begun
# before the next one came.
@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("seed", [5243, 5477, 41_001])
def test_what_has_failed_once_of_switching(library: Library, seed: int) -> None:
    assert_passes(any_sharing.switching(seed), library)


# After faults: nobody reaches the card any more; a context goes and nobody tells its task; so does a launch with it.
@pytest.mark.parametrize("seed", [3031, 3313, 3733, 6653])
def test_what_has_failed_once_after_a_fault(library: Library, seed: int) -> None:
    assert_passes(any_sharing.trouble(seed), library)


# What was lost before nobody could reach the card any more is asked for when somebody can.
def test_what_has_failed_once_of_a_card_out_of_reach(library: Library) -> None:
    assert_passes(any_sharing.unreached(33), library)


LONG = """
server: {cards: {a: {gpus: 4}}, settings: {device_memory: 16000, default_slice: 2000, context_switch: 20}}
switching:
  gpu: a.2
  policy: pipelined
  first_preset: 16000
  second_preset: 9000
  left: 5
  tasks:
    short: {layers: [{name: a, weights: 1000000, operations: 20000000000}], subtasks: 1, environment: 20}
    long: {layers: [{name: a, weights: 1000000, operations: 900000000000}], subtasks: 1, environment: 20}
  requests: [{task: short}, {task: long}, {task: short, after: 60000}]
"""


def test_the_engine_is_not_idle_while_a_task_works_that_began_beside_another(library: Library) -> None:
    """132 ms, from the start-up of the first task to the end of all; the third one comes and goes meanwhile."""
    outcome = play(loads(LONG), library)
    assert outcome.failures == ()
    assert outcome.switching is not None
    assert [0 <= switch.overhead_ms < 1 for switch in outcome.switching.switches] == [True, True]


CROWDED = """
server:
  cards: {a: {gpus: 3}}
  settings: {device_memory: 100}
switching:
  gpu: a.1
  policy: pipeswitch
  workers: 5
  tasks: {x: {layers: [{name: l, weights: 5000000, operations: 1000000}], environment: 20}}
  requests: [{task: x}, {task: x}]
"""


def test_what_was_made_before_a_refusal_is_destroyed(library: Library) -> None:
    outcome = play(loads(CROWDED), library)
    assert outcome.failures == ()
    assert outcome.switching is not None
    assert [request.why for request in outcome.switching.requests] == ["the GPU has no room for it"] * 2
    assert [changes[-1][1] for changes in outcome.switching.held.values()] == [0]
