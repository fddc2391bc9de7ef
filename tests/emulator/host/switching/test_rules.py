"""What is decided, as tables: first stages (W2), progress and marks (W3), running beside (W4)."""

import pytest

from ringhil.emulator.host.switching import pipelined as rules


@pytest.mark.parametrize(
    ("environments", "rests", "held", "owed", "first", "may"),
    [
        ([10], [50], 0, 0, 60, True),  # alone: all that it needs is just there
        ([10], [50], 0, 0, 59, False),
        ([10, 10], [50, 20], 10, 50, 70, True),  # the first one still gets its 50
        ([10, 10], [50, 20], 10, 50, 69, False),
        ([10, 10], [20, 50], 10, 20, 69, False),  # the second one would lack room when its turn comes
        ([10, 10], [50, 50], 60, 0, 70, True),  # the first one has all it needs
        ([10, 10], [50, 50], 65, 0, 70, False),  # what is being cleaned up is still held
        ([10, 0], [50, 50], 60, 0, 60, True),
        ([10, 10], [50, 50], 25, 40, 75, True),  # one more is being cleaned up, and the first one still gets its 40
        ([10, 10], [50, 50], 25, 40, 74, False),
    ],
)
def test_a_first_stage_begins_while_there_is_room(
    environments: list[int], rests: list[int], held: int, owed: int, first: int, may: bool
) -> None:
    assert rules.may_initialise(environments, rests, held, owed, first) is may


@pytest.mark.parametrize(
    ("request_", "held", "owed", "may"),
    [(10, 50, 40, True), (11, 50, 40, False), (10, 90, 0, True), (10, 91, 0, False)],
)
def test_memory_is_asked_for_when_the_current_task_keeps_its_own(
    request_: int, held: int, owed: int, may: bool
) -> None:
    assert rules.may_prepare(request_, held, owed, 100) is may


@pytest.mark.parametrize(
    ("left", "preset", "near"), [(2, 2, False), (1, 2, True), (0, 1, True), (1, 1, False), (0, 0, False)]
)
def test_progress_is_near_with_fewer_left_than_the_preset_number(left: int, preset: int, near: bool) -> None:
    assert rules.is_near_its_end(left, preset) is near


@pytest.mark.parametrize(
    ("requests", "second", "marked"),
    [
        ([], 5, ()),
        ([5, 5], 5, ()),
        ([6, 5, 7], 5, (0, 2)),
        ([1, 1], 0, (0, 1)),
    ],
)
def test_those_above_the_second_preset_value_are_marked(
    requests: list[int], second: int, marked: tuple[int, ...]
) -> None:
    assert rules.marked(requests, second) == marked


@pytest.mark.parametrize(("running", "second", "may"), [(20, 40, True), (20, 39, False), (0, 20, True), (0, 19, False)])
def test_a_part_runs_beside_another_when_both_fit(running: int, second: int, may: bool) -> None:
    assert rules.may_run_beside(20, running, second) is may
