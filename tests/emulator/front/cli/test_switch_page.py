"""The page of `ringhil switch`: each bar is where its phase was, and memory is as high as what was held."""

import re
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ringhil.emulator.front.cli.switch_page import COLOURS, page
from ringhil.emulator.front.cli.task_tables import show_requests
from ringhil.emulator.judge.switching.outcome import PhaseOutcome, RequestOutcome, SwitchingOutcome, SwitchOutcome
from ringhil.emulator.pages.scale import Scale

from .charts import LEFT, WIDTH, bars, charts, lanes, place, points

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
def shown() -> str:
    return page("name", "what", [], {"pipelined": PIPELINED, "resident": RESIDENT}, PRESET)


def test_each_phase_is_where_it_was_in_each_window_that_it_reaches(shown: str) -> None:
    assert re.findall(r"<h2>(.*)</h2>", shown) == ["pipelined", "pipelined: from one to two", "resident"]
    notes = [f"{begin:.3f} to {end:.3f} ms after" for begin, end in (WINDOW, SWITCH, WINDOW)]
    assert re.findall(r"<p>(.* ms after)", shown) == notes
    for chart, (begin, end) in zip(charts(shown), (WINDOW, SWITCH, WINDOW), strict=True):
        phases = [each for each in PIPELINED.phases if each.ended_ms >= begin and each.began_ms <= end]
        assert lanes(chart).keys() >= {"0: one", "1: two"}
        for bar, phase in zip(bars(chart), phases, strict=True):
            part = "" if phase.part is None else f" {phase.part}"
            assert bar.title == f"{phase.phase}{part} on {phase.gpu}: {phase.began_ms:.3f} to {phase.ended_ms:.3f} ms"
            since, until = max(phase.began_ms, begin), min(phase.ended_ms, end)
            assert bar.x == pytest.approx(place(since, begin, end), abs=0.02)
            assert bar.x + bar.width == pytest.approx(place(until, begin, end), abs=0.52)
            name = f"{phase.request}: {PIPELINED.requests[phase.request].task}"
            below = 0 if phase.phase == "run" else 12
            assert bar.y == lanes(chart)[name] - 12 + below
            assert (bar.colour, bar.lost) == (COLOURS[phase.phase], phase.lost)


def test_the_key_names_each_colour(shown: str) -> None:
    key = re.search(r'<p class="key">.*</p>', shown)
    assert key is not None
    assert {name: colour for colour, name in re.findall(r'fill="(#\w+)"/></svg> (\w+)', key[0])} == COLOURS
    assert len({*COLOURS.values()}) == len(COLOURS)


def test_memory_is_that_of_all_gpus_up_to_the_most_or_to_the_preset_value(shown: str) -> None:
    """Whose line is drawn where it counts."""
    whole, _, resident = charts(shown)
    for chart, most in ((whole, 80), (resident, 40)):
        top = lanes(chart)[f"{most} MiB"] - 12
        (memory,) = chart.iter("path")
        bound = [float(line.attrib["y1"]) for line in chart.iter("line") if line.attrib["class"] == "bound"]
        assert bound == ([top] if most == 80 else [])
        steps = points(memory)[2:-2:2]
        wanted = [
            (place(max(at, WINDOW[0]), *WINDOW), top + 90 * (1 - held / most))
            for at, held in ((95.0, 10), (250.0, 40), (320.0, 30), (500.0, 0))
        ]
        assert steps == [pytest.approx(each, abs=0.02) for each in wanted]


def test_a_preset_value_below_what_was_held_is_a_line_in_it() -> None:
    (whole, _) = charts(page("name", "what", [], {"pipelined": PIPELINED}, 10 * MIB))
    (bound,) = [float(line.attrib["y1"]) for line in whole.iter("line") if line.attrib["class"] == "bound"]
    assert bound == lanes(whole)["40 MiB"] - 12 + 90 * 0.75


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
    _, close = charts(page("name", "what", [], {"pipelined": outcome}, None))
    before, after = bars(close)
    assert before.width >= 50
    assert after.width >= 50
    assert after.x - before.x - before.width >= (250 if startup else 0)
    assert after.x - LEFT <= WIDTH - LEFT - 50


@given(st.floats(0, 1e7), st.floats(1e-3, 1e7))
def test_ticks_are_round_and_in_one_unit(begin: float, lasts: float) -> None:
    """And where they say: seconds for what is long, never more words than there is room for."""
    scale = Scale(begin, begin + lasts)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 9
    (unit,) = {str(tick["text"]).split()[1] for tick in ticks}
    assert unit == ("s" if scale.end >= 10_000 else "ms" if scale.end >= 1 else "us")
    each = {"s": 1000.0, "ms": 1.0, "us": 0.001}[unit]
    words = [str(tick["text"]).split()[0].replace(",", "") for tick in ticks]
    for word, tick in zip(words, ticks, strict=True):
        assert scale.x(float(word) * each) == pytest.approx(tick["x"], abs=0.05)
    steps = {Decimal(after) - Decimal(before) for before, after in pairwise(words)}
    assert len(steps) <= 1
    assert all("".join(map(str, step.normalize().as_tuple().digits)) in ("1", "2", "5") for step in steps)
    assert len(set(words)) == len(words)
