"""What is over gives its memory back: not before, no other amount, and before its context goes; or it is told (W5)."""

from collections.abc import Callable

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.switching.pipelined import Pipelined, _Job
from ringhil.emulator.host.switching.policy import Slot
from ringhil.emulator.host.switching.strands import Strand, Until
from ringhil.emulator.scenario import loads

from .playing import play, violations

TEXT = """
server: {cards: {a: {gpus: 4}}, settings: {device_memory: 8000, context_switch: 14, default_slice: 500}}
switching:
  gpu: [a.2, a.1]
  policy: pipelined
  tasks:
    one: {kind: training, batch: 1, steps: 2, layers: [{name: a, weights: 30000000, operations: 20000000000},
      {name: b, weights: 90000000, operations: 20000000000}], subtasks: 2, clean: 500, environment: 20}
  requests: [{task: one}, {task: one}]
"""
LOST = TEXT + "timeline: [{at: 9000, fault: dead, gpu: a.2}]\n"
Freeing = Callable[[_Job, Slot], Strand]


def when(done: Callable[[_Job, int], bool], amount: Callable[[int], int] = lambda pages: pages) -> Freeing:
    """Gives so much of each part back, when this is so."""

    def freeing(job: _Job, slot: Slot) -> Strand:
        for part, subtask in enumerate(job.task.subtasks):
            yield Until(lambda part=part: done(job, part))  # type: ignore[misc]
            yield from slot.free(amount(subtask.pages))
            job.freed += 1

    return freeing


def in_its_last_step(job: _Job, part: int) -> bool:
    return job.done > job.launches - job.parts + part


def nothing(job: _Job, slot: Slot) -> Strand:
    job.freed = job.parts
    yield from ()


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(
    ("freeing", "says"),
    [
        (when(lambda job, part: job.launched > job.launches - job.parts + part), "gives back a part that still runs"),
        (when(lambda job, part: job.done > part), "gives back a part that still runs"),
        (when(in_its_last_step, lambda pages: pages - 1), "pages of a part that has"),
        (nothing, "gives back 0 of its 2 parts before its context goes"),
    ],
)
def test_memory_that_is_given_back_otherwise_is_told(
    monkeypatch: pytest.MonkeyPatch, freeing: Freeing, says: str
) -> None:
    assert violations(TEXT) == ()
    monkeypatch.setattr(Pipelined, "_free", lambda self, job, slot: freeing(job, slot))
    outcome = play(loads(TEXT), cells_library())
    assert outcome.switching is not None
    assert any(says in each for each in outcome.switching.broken), outcome.switching.broken


def test_what_was_before_its_gpu_was_lost_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    late = LOST.replace("at: 9000", "at: 60000")
    assert violations(late) == ()
    freeing = when(lambda job, part: job.done > part)
    monkeypatch.setattr(Pipelined, "_free", lambda self, job, slot: freeing(job, slot))
    outcome = play(loads(late), cells_library())
    assert outcome.switching is not None
    (found, *_) = [each for each in outcome.switching.broken if "gives back a part that still runs" in each]
    assert int(found.split()[1].rstrip(":")) < 60_000


def test_as_it_is_to_be_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when a GPU is lost, and requests begin again on another one."""
    freeing = when(in_its_last_step)
    monkeypatch.setattr(Pipelined, "_free", lambda self, job, slot: freeing(job, slot))
    for text in (TEXT, LOST):
        assert play(loads(text), cells_library()).violations == ()
