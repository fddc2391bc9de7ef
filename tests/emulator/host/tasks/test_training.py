"""Tasks that share a GPU: each step is done once, whatever happens on the way, and what can't be done is said."""

import pytest

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.host.tasks.training import TaskReport
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

COMPUTE, STEPS = 3_000, 12
SERVER = """
seed: {seed}
server:
  cards: {{a: {{gpus: 5, host_links: [0, 1]}}}}
  settings: {{device_memory: 1000}}
sharing:
  applications:
    x: {{gpu: a.3, memory: 400, slice: 500, steps: {steps}, host: 900, compute: {compute}, input: 700, {more}}}
    y: {{gpu: a.3, memory: 400, slice: 900, steps: {steps}, host: 700, compute: {compute}, input: 90}}
    z: {{gpu: a.2, steps: {steps}, host: 100, compute: {compute}}}
timeline:
{timeline}
"""


@pytest.fixture(scope="module")
def cells() -> Library:
    return cells_library()


def played(
    cells: Library, timeline: str = "", more: str = "", seed: int = 1
) -> tuple[Outcome, dict[str, TaskReport], Run]:
    text = SERVER.format(seed=seed, steps=STEPS, compute=COMPUTE, more=more, timeline=timeline)
    run = Run(loads(text if timeline else text.replace("timeline:\n", "")), cells)
    outcome = run.run()
    return outcome, run.server.applications.reports, run


def all_once(reports: dict[str, TaskReport], *names: str) -> None:
    """What the GPU says that it has worked is what was asked of it, no more and no less."""
    for name in names:
        report = reports[name]
        assert (report.failed, report.steps, report.run) == (None, STEPS, STEPS * COMPUTE), name


def test_all_do_their_steps_and_give_their_memory_back(cells: Library) -> None:
    outcome, reports, run = played(cells)
    all_once(reports, "x", "y", "z")
    assert (reports["x"].memory, reports["x"].told, reports["z"].told) == (360, 400, 1000)
    assert [run.engine.peek(cell, "memory_held") for cell in range(5)] == [0] * 5
    assert not outcome.applications["x"].failed
    assert outcome.failures == ()


def test_the_entry_gpu_may_fail_under_them(cells: Library) -> None:
    outcome, reports, run = played(cells, "  - {at: 20000, fault: dead, gpu: a.0}\n")
    all_once(reports, "x", "y", "z")
    assert run.cpu.cards[0].entry == 1
    assert outcome.failures == ()


@pytest.mark.parametrize("seed", [1, 2])
def test_noise_on_a_link_costs_time_only(cells: Library, seed: int) -> None:
    """Commands and answers are lost on their way, and come again."""
    noise = "  - {at: 9000, fault: link_bit_errors, link: a.3-a.4, rate: 600}\n"
    outcome, reports, run = played(cells, noise, seed=seed)
    assert outcome.failures == ()
    all_once(reports, "x", "y", "z")
    assert run.cpu.driver.resent > 1


@pytest.mark.parametrize("at", range(16_000, 20_000, 800))
def test_a_gpu_that_fails_is_said_to_be_lost(cells: Library, at: int) -> None:
    """To those that used it, and to nobody else."""
    outcome, reports, _ = played(cells, f"  - {{at: {at}, fault: dead, gpu: a.3}}\n")
    all_once(reports, "z")
    for name in ("x", "y"):
        assert str(reports[name].failed).endswith("the GPU was lost")
        assert outcome.applications[name].failed
        assert reports[name].steps < STEPS
    assert outcome.failures == ()


def test_one_that_wants_too_much_fails_alone(cells: Library) -> None:
    """Memory that others hold is theirs: x may have 900, and there are 1,000, of which y has 360."""
    _, reports, run = played(cells, more="memory: 900, start: 3000".replace("memory: 900", "wants: 100"))
    all_once(reports, "x", "y", "z")
    text = SERVER.format(seed=1, steps=STEPS, compute=COMPUTE, more="start: 3000", timeline="").replace("timeline:", "")
    run = Run(loads(text.replace("memory: 400, slice: 500", "memory: 900, slice: 500")), cells)
    outcome = run.run()
    reports = run.server.applications.reports
    assert reports["x"].failed == "out of memory at initialisation: the GPU has no more"
    assert not outcome.applications["y"].failed
    all_once(reports, "y", "z")


def test_who_goes_on_again_ends_with_the_last_of_the_others(cells: Library) -> None:
    _, reports, _ = played(cells, more="again: true, host: 10".replace(", host: 10", ""))
    assert reports["x"].steps >= STEPS
    assert reports["x"].run == reports["x"].steps * COMPUTE
    all_once(reports, "y", "z")
