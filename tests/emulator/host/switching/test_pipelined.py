"""Preparation in a pipeline: first stages (W2), what runs beside what (W5), memory, and each cycle of work once."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.switching.report import SwitchPhase
from ringhil.emulator.judge.run import Run
from ringhil.protocol.wire import CONTEXTS

from .played import PAGES, Playing, scenario, task

START = SwitchPhase.START
PREPARE = SwitchPhase.PREPARE
RUN = SwitchPhase.RUN
CLEAN = SwitchPhase.CLEAN
BUSY = ", start: 2000, clean: 500, environment: 20"


def all_once(playing: Playing) -> None:
    """Each request is done once, and what the GPU says that it has worked is what was asked of it."""
    plan = playing.run.server.switching.plan
    assert plan is not None
    for wanted, report in zip(plan.requests, playing.reports, strict=True):
        assert (report.failed, report.times) == (None, 1)
        assert report.ran == wanted.task.steps * wanted.task.whole.cycles
    assert playing.outcome.failures == ()
    assert [playing.run.engine.peek(cell, "memory_held") for cell in range(4)] == [0] * 4


def test_a_part_gets_ready_while_the_one_before_it_runs_and_frees_beside_the_next() -> None:
    """W5, and W2: the next task starts at once."""
    parts = [(30, 3000)] * 3
    more = BUSY.replace("clean: 500", "clean: 5000")
    playing = Playing(scenario([task("x", parts, more), task("y", parts, more)], ["x", "y"]))
    all_once(playing)
    ready, runs = playing.spans(0, PREPARE), playing.spans(0, RUN)
    for before, after in zip(runs, ready[1:], strict=False):
        assert before.began <= after.began < after.ended < before.ended
    assert playing.spans(1, START)[0].began == playing.spans(0, START)[0].began
    # While the second part runs, the first one's memory is free again: two parts and two environments at most.
    assert playing.switching.memory == (2 * 30 + 2 * 20) << 20
    # The next task's parts run while the first one is cleaned up.
    (cleaned,) = playing.spans(0, CLEAN)
    assert cleaned.began < playing.spans(1, RUN)[0].began < cleaned.ended


@pytest.mark.parametrize(("first", "together"), [(140, True), (120, True), (119, False), (100, False)])
def test_first_stages_wait_for_a_cleanup_at_the_first_preset_value(first: int, together: bool) -> None:
    """W2: a task needs 20 and 80 at most; two environments and 80 are 120."""
    tasks = [task(name, [(40, 1000)] * 3, BUSY) for name in ("x", "y")]
    playing = Playing(scenario(tasks, ["x", "y"], [f"first_preset: {first}"]))
    all_once(playing)
    (started,) = playing.spans(1, START)
    (cleaned,) = playing.spans(0, CLEAN)
    assert (started.began < playing.spans(0, RUN)[0].began) is together
    assert together or started.began >= cleaned.ended
    assert playing.switching.memory <= first << 20


def test_a_second_stage_waits_for_memory_that_the_current_task_may_need() -> None:
    """The next task's first part may be prepared at any time (W3), and there is room for two parts only."""
    parts = [(50, 6000)] * 3
    presets = ["first_preset: 100", "second_preset: 100", "left: 9"]
    playing = Playing(scenario([task("x", parts), task("y", parts)], ["x", "y"], presets))
    all_once(playing)
    assert playing.switching.memory == 100 << 20
    # Two of x's parts are held until its last one runs alone.
    assert playing.spans(0, RUN)[2].began < playing.spans(1, PREPARE)[0].began < playing.spans(0, RUN)[2].ended


def test_only_the_next_task_is_prepared_early() -> None:
    """Not the one behind it (W3)."""
    presets = ["second_preset: 100", "left: 9"]
    playing = Playing(scenario([task("x", [(20, 3000)] * 3)], ["x"] * 3, presets))
    all_once(playing)
    first_over = playing.spans(0, RUN)[-1].ended
    assert playing.spans(1, PREPARE)[0].began < first_over <= playing.spans(2, PREPARE)[0].began


def test_a_task_of_several_steps_keeps_its_parts_until_the_last_one() -> None:
    playing = Playing(scenario([task("x", [(30, 500)] * 3, ", steps: 4"), task("y", [(9, 500)])], ["x", "y", "x"]))
    all_once(playing)
    assert len(playing.spans(0, RUN)) == 12
    assert len(playing.spans(0, PREPARE)) == 3
    assert playing.reports[2].launches == 12


def test_more_requests_than_contexts() -> None:
    """A GPU has 15 for tasks: further ones begin when one is free."""
    tasks = [task("x", [(2, 400), (1, 100)], ", start: 300, clean: 900, environment: 1")]
    playing = Playing(scenario(tasks, ["x"] * 20))
    all_once(playing)
    first_gone = min(playing.spans(number, CLEAN)[0].ended for number in range(20))
    assert sum(playing.spans(number, START)[0].began < first_gone for number in range(20)) == CONTEXTS - 1 == 15
    assert [report.ended for report in playing.reports] == sorted(report.ended or 0 for report in playing.reports)


def test_an_environment_that_is_still_to_come_has_its_room() -> None:
    """A task that is in its first stage holds nothing yet; the next one's second stage mustn't take its place."""
    busy = task("x", [(48, 681)], ", environment: 28, start: 331, clean: 331")
    playing = Playing(scenario([busy], ["x"] * 4, ["first_preset: 154", "second_preset: 80"]))
    all_once(playing)
    assert playing.switching.memory <= 154 << 20


def test_a_task_that_is_ready_sooner_leaves_the_current_one_its_memory() -> None:
    """The next task has no environment to wait for, so that its first stage is over first."""
    tasks = [task("x", [(57, 1134), (0, 0)], ", environment: 19"), task("y", [(36, 385)], ", steps: 2")]
    presets = ["first_preset: 76", "second_preset: 81", "left: 6"]
    run = Run(scenario(tasks, ["x", "y"], presets), cells_library())
    run.start()
    run.run_to(50_000)  # not to its end: two tasks that wait for each other have none
    assert run.server.switching.finished


_PARTS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 1500)), min_size=1, max_size=4)
_TASKS = st.lists(st.tuples(_PARTS, st.integers(1, 3), st.integers(0, 30), st.integers(0, 800)), min_size=1, max_size=4)


@pytest.mark.rest
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(_TASKS, st.data())
def test_no_more_is_held_than_the_first_preset_value(
    tasks: list[tuple[list[tuple[int, int]], int, int, int]], data: st.DataObject
) -> None:
    """Whatever the tasks and presets: at every change of the register, and all of them are done once."""
    names = [f"t{n}" for n in range(len(tasks))]
    texts, most = [], 1
    for name, (parts, steps, environment, busy) in zip(names, tasks, strict=True):
        texts.append(task(name, parts, f", steps: {steps}, environment: {environment}, start: {busy}, clean: {busy}"))
        sizes = [size for size, _ in parts]
        pairs = [a + b for a, b in zip(sizes, [*sizes[1:], 0], strict=True)]
        most = max(most, environment + (sum(sizes) if steps > 1 else max(pairs)))
    first = data.draw(st.integers(most, most + 80))
    requests = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=6))
    presets = [
        f"first_preset: {min(first, PAGES)}",
        f"second_preset: {data.draw(st.integers(0, 100))}",
        f"left: {data.draw(st.integers(0, 6))}",
    ]
    playing = Playing(scenario(texts, requests, presets))
    all_once(playing)
    levels = [held for points in playing.switching.held.values() for _, held in points]
    assert max(levels, default=0) <= min(first, PAGES) << 20
