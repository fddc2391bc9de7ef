"""The page of `ringhil switch`: each bar is where its phase was, and memory is as high as what was held."""

from dataclasses import replace

import pytest
from rich.console import Console

from ringhil.emulator.front.cli.switch_page import KINDS, page
from ringhil.emulator.front.cli.task_tables import show_requests
from ringhil.emulator.judge.switching.outcome import PhaseOutcome, RequestOutcome, SwitchingOutcome, SwitchOutcome
from ringhil.emulator.pages.charts import Chart

from .charts import names, shown

MIB = 1 << 20


def request(task: str, began: float, ended: float) -> RequestOutcome:
    return RequestOutcome(task, "a.1", False, None, 0.0, began, ended, ended - began, 1, 0)


PIPELINED = SwitchingOutcome(
    "pipelined",
    3.0,
    1.0,
    0.5,
    None,
    40 * MIB,
    (request("one", 100.0, 300.0), request("two", 305.0, 500.0)),
    (SwitchOutcome("one", "two", 300.0, 500.0, 5.0, 5.0, 305.0, 205.0),),
    (
        PhaseOutcome(0, "start", None, "a.1", 10.0, 95.0, False),
        PhaseOutcome(0, "prepare", 0, "a.1", 95.0, 99.0, False),
        PhaseOutcome(0, "run", 0, "a.1", 100.0, 300.0, False),
        PhaseOutcome(1, "prepare", 1, "a.2", 250.0, 305.0, True),
        PhaseOutcome(0, "clean", None, "a.1", 300.0, 320.0, False),
        PhaseOutcome(1, "run", 1, "a.2", 305.0, 500.0, False),
    ),
    {"a.1": ((95.0, 10 * MIB), (320.0, 0)), "a.2": ((250.0, 30 * MIB), (500.0, 0))},
    (),
)
RESIDENT = replace(PIPELINED, policy="resident", switches=())
PRESET = 80 * MIB
WINDOW = (100.0 - 16.0, 500.0 + 16.0)  # 4 percent around
SWITCH = (300.0 - 2.0, 300.0 + 7.5)


@pytest.fixture(scope="module")
def three() -> list[Chart]:
    outcomes = {"pipelined": PIPELINED, "resident": RESIDENT}
    return shown(page("name", "pass", "what", [], outcomes, PRESET, lambda policy, ms: f"{policy}.html#{ms:.0f}"))


def test_each_phase_is_where_it_was_in_each_window_that_it_reaches(three: list[Chart]) -> None:
    """And leads to its moment in the run of its policy."""
    assert [chart.title for chart in three] == ["pipelined", "pipelined: from one to two", "resident"]
    for chart, (begin, end) in zip(three, (WINDOW, SWITCH, WINDOW), strict=True):
        assert (chart.x.begin, chart.x.end) == (pytest.approx(begin / 1000), pytest.approx(end / 1000))
        assert names(chart.lanes) == ["0: one", "1: two"]
        for number, lane in enumerate(chart.lanes):
            wanted = []
            for phase in PIPELINED.phases:
                if phase.request == number and phase.ended_ms >= begin and phase.began_ms <= end:
                    part = "" if phase.part is None else f" {phase.part}"
                    title = f"{phase.phase}{part} on {phase.gpu}{', lost' if phase.lost else ''}"
                    link = f"{chart.title.partition(':')[0]}.html#{phase.began_ms:.0f}"
                    wanted.append((phase.phase, title, phase.began_ms / 1000, phase.ended_ms / 1000, phase.lost, link))
            found = [
                (chart.kinds[bar.kind].name, bar.title, bar.begin, bar.end, bar.lost, bar.link) for bar in lane.bars
            ]
            assert found == wanted


def test_runs_are_above_what_goes_on_beside_them_each_in_a_colour() -> None:
    assert {kind.name: kind.half for kind in KINDS if kind.half == "upper"} == {"run": "upper"}
    assert len({kind.colour for kind in KINDS}) == len(KINDS) == 4


def test_memory_is_that_of_all_gpus_below_the_preset_value_where_it_counts(three: list[Chart]) -> None:
    whole, _, resident = three
    for chart, most in ((whole, 80), (resident, 40)):
        assert [bound.at for bound in chart.bounds] == ([80 * MIB] if most == 80 else [])
        assert chart.y is not None
        assert chart.y.end == pytest.approx(1.04 * most * MIB)
        (memory,) = chart.curves
        points = [(x, (y or 0) / MIB) for x, y in zip(memory.xs, memory.ys, strict=True)]
        assert points == [(0.0, 0), (0.095, 10), (0.25, 40), (0.32, 30), (0.5, 0)]


def test_a_window_has_the_memory_that_was_held_before_it(three: list[Chart]) -> None:
    (memory,) = three[1].curves
    assert [(x, (y or 0) / MIB) for x, y in zip(memory.xs, memory.ys, strict=True)] == [(0.25, 40)]


def test_a_run_shows_the_first_forty_requests_with_their_attempts() -> None:
    """One that has failed was on a GPU, too."""
    requests = tuple(replace(PIPELINED.requests[0], attempts=n, failed=n == 2) for n in range(1, 44))
    console = Console(width=120)
    with console.capture() as told:
        show_requests(replace(PIPELINED, requests=requests), console)
    _, *rows = told.get().splitlines()
    assert [(row.split()[0], row.split()[-1]) for row in rows[:40]] == [(str(n), str(n + 1)) for n in range(40)]
    assert {row.split()[2] for row in rows[:40]} == {"a.1"}
    assert rows[40] == "and 3 more"


@pytest.mark.parametrize(("runs", "startup", "overhead"), [(1e5, 3.0, 5.0), (40.0, 0.0, 0.2), (3000.0, 7000.0, 7000.0)])
def test_a_switch_can_be_seen_however_long_tasks_run(runs: float, startup: float, overhead: float) -> None:
    """It takes a quarter of its picture at least, and what ran before and runs after is there."""
    began = 1000.0 + runs + startup
    requests = (request("one", 1000.0, 1000.0 + runs), request("two", began, began + runs))
    switch = SwitchOutcome("one", "two", 1000.0 + runs, began + runs, startup, overhead, began, startup)
    spans = [(each.began_ms or 0.0, each.ended_ms or 0.0) for each in requests]
    phases = tuple(PhaseOutcome(n, "run", None, "a.1", *span, False) for n, span in enumerate(spans))
    outcome = replace(PIPELINED, requests=requests, switches=(switch,), phases=phases)
    _, close = shown(page("name", "pass", "what", [], {"pipelined": outcome}, None))
    (before,), (after,) = (lane.bars for lane in close.lanes)
    begin, end = close.x.begin or 0.0, close.x.end or 0.0
    assert before.end - begin >= 0.05 * (end - begin)
    assert end - after.begin >= 0.05 * (end - begin)
    assert after.begin - before.end >= (0.25 * (end - begin) if startup else 0)
