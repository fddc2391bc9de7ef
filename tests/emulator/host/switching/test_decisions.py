"""W3 and W4 on the hardware: a current task of four parts, a next one, and when its first part gets ready and runs."""

from collections.abc import Sequence

import pytest

from ringhil.emulator.host.switching.report import SwitchPhase

from .played import Playing, scenario, task

CYCLES = 3000


def after(sizes: Sequence[int], next_size: int, second: int, left: int) -> tuple[int, int]:
    """How many parts of the current task were done when the next one's first part began its second stage, and when
    it ran."""
    current = task("current", [(size, CYCLES) for size in sizes])
    following = task("next", [(next_size, CYCLES), (10, CYCLES)])
    playing = Playing(
        scenario([current, following], ["current", "next"], [f"second_preset: {second}", f"left: {left}"])
    )
    assert playing.outcome.failures == ()
    ends = [span.ended for span in playing.spans(0, SwitchPhase.RUN)]
    (ready, run) = (playing.spans(1, phase)[0].began for phase in (SwitchPhase.PREPARE, SwitchPhase.RUN))
    assert playing.spans(1, SwitchPhase.RUN)[1].began >= ends[-1]  # only the first part runs beside
    return sum(end <= ready for end in ends), sum(end <= run for end in ends)


EQUAL = (10, 10, 10, 10)


@pytest.mark.rest(but_one_in=8)
@pytest.mark.parametrize(
    ("sizes", "second", "left", "prepared"),
    [
        (EQUAL, 20, 0, 4),  # never early
        (EQUAL, 20, 1, 4),  # none left
        (EQUAL, 20, 2, 3),  # one left
        (EQUAL, 20, 3, 2),
        (EQUAL, 20, 4, 1),
        (EQUAL, 20, 5, 0),
        (EQUAL, 10, 5, 0),  # not above the second preset value
        (EQUAL, 9, 5, 4),  # all are
        ((30, 10, 10, 10), 20, 5, 1),  # waits for the marked one
        ((10, 30, 10, 10), 20, 5, 2),
        ((30, 10, 30, 10), 20, 5, 3),  # for the last of them
        ((10, 10, 10, 30), 20, 5, 4),
        ((30, 10, 10, 10), 20, 3, 2),  # it is done already
        ((10, 10, 30, 10), 20, 3, 3),
    ],
)
def test_the_next_tasks_second_stage_begins(sizes: tuple[int, ...], second: int, left: int, prepared: int) -> None:
    """W3."""
    assert after(sizes, 10, second, left)[0] == prepared


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("next_size", "second", "left", "runs"),
    [
        (20, 30, 3, 2),  # with the running one's 10 it is just as much as may run together
        (21, 30, 3, 4),  # one more: it waits for the end of the execution, not for that of the running part
        (20, 30, 2, 3),
        (21, 30, 2, 4),
        (20, 10, 3, 4),
        (20, 30, 0, 4),  # the execution is over: at once
        (40, 30, 0, 4),
    ],
)
def test_the_next_tasks_first_part_runs(next_size: int, second: int, left: int, runs: int) -> None:
    """W4."""
    assert after(EQUAL, next_size, second, left)[1] == runs
