"""Tasks are prepared and computed beside one another as the preset values allow; else it is told."""

from collections.abc import Callable, Sequence

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.switching import pipelined as rules
from ringhil.emulator.host.switching.pipelined import Pipelined, _Job
from ringhil.emulator.host.switching.policy import Slot
from ringhil.emulator.host.switching.strands import Strand, Until
from ringhil.emulator.scenario import loads

from .playing import play

LAYER = "{{name: l{}, weights: {}000000, operations: {}000000000}}"
FILE = """
server: {{cards: {{a: {{gpus: 4}}}}, settings: {{device_memory: 8000, context_switch: 14, default_slice: 500}}}}
switching:
  gpu: a.2
  second_preset: {second}
  left: {left}
  tasks:
    one: {{layers: [{one}], subtasks: 4, kind: training, steps: 2}}
    two: {{layers: [{two}], subtasks: 2}}
  requests: [{{task: one}}, {{task: two}}, {{task: one}}]
"""


# Pages of the subtasks: 573, 191, 382 and 191; 144 and 96. The first one of the second task is ready while one of 573
# is computed.
ONE = ", ".join(LAYER.format(n, weights, 200) for n, weights in enumerate((300, 100, 200, 100)))
TWO = ", ".join(LAYER.format(n, weights, 900) for n, weights in enumerate((150, 100)))


def failures(second: int) -> tuple[str, ...]:
    text = FILE.format(left=5, second=second, one=ONE, two=TWO)
    return play(loads(text), cells_library()).failures


def always(*of: object) -> bool:
    return True


def never(*of: object) -> bool:
    return False


def larger(request: int, running: int, second: int) -> bool:
    """Takes the first preset value for the second one."""
    return request + running <= 8000


def none(*of: object) -> tuple[int, ...]:
    return ()


def the_last(requests: Sequence[int], second: int) -> tuple[int, ...]:
    return (len(requests) - 1,)


WRONG: list[tuple[int, str, Callable[..., object], str]] = [
    (600, "may_run_beside", larger, "beside one with which it asks for 717 pages; the second preset value is 600"),
    (2000, "may_run_beside", never, "it could at cycle"),
    (500, "marked", none, "before one of 573 pages was over; the second preset value is 500"),
    (2000, "is_near_its_end", always, "were left; it is to be fewer than 5"),
    (2000, "is_near_its_end", never, "it could at cycle"),
    (2000, "marked", the_last, "it could at cycle"),
]


@pytest.mark.rest
@pytest.mark.parametrize(("second", "rule", "mistake", "says"), sampled(WRONG, "bugs", 2))
def test_a_wrong_step_is_named(
    monkeypatch: pytest.MonkeyPatch, second: int, rule: str, mistake: Callable[..., object], says: str
) -> None:
    assert failures(second) == ()
    monkeypatch.setattr(rules, rule, mistake)
    found = failures(second)
    assert any(says in each for each in found), found


@pytest.mark.rest
def test_a_subtask_that_is_prepared_too_late_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the one before it is over, not while it runs."""

    def late(self: Pipelined, job: _Job, slot: Slot) -> Strand:
        for part in range(1, job.parts):
            yield Until(lambda part=part: job.done >= part)  # type: ignore[misc]
            yield from self._second_stage(job, slot, part)

    monkeypatch.setattr(Pipelined, "_prepare", late)
    assert any("subtask 1 of request 0 was prepared at cycle" in each for each in failures(2000))


def test_the_task_behind_the_next_one_is_not_prepared_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    def any_before(self: Pipelined, job: _Job, before: _Job) -> Strand:
        yield Until(lambda: before.over or rules.is_near_its_end(before.left, self.plan.left))

    monkeypatch.setattr(Pipelined, "_await_progress", any_before)
    found = failures(2000)
    assert any("and those before request 1 were not over before" in each for each in found), found
