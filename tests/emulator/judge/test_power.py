"""What the meters of a run's GPUs say is what their file says, and work waits for those that slept."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.judge.contexts.applications import TakenByWork
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

SERVER = """
server:
  cards: {{a: {{gpus: 4, types: {{2: H200}}}}}}
  settings: {{compute_setup: 100}}
  power:
    default: {{{power}}}
    H200: {{run_power: 7, idle_power: 3}}
workload: {{units: {units}, size: 512}}
until: {until}
"""
SLEEPS = "run_power: 1000, idle_power: 100, low_power: 10, off_power: 1, low_after: 2000, off_after: 5000"


@pytest.fixture(scope="module")
def cells() -> Library:
    return cells_library()


def played(cells: Library, power: str, units: int, until: int) -> tuple[Outcome, list[int]]:
    """And how many units each GPU has done."""
    run = Run(loads(SERVER.format(power=power, units=units, until=until)), cells)
    outcome = run.run()
    done = [run.engine.peek(cell, "units_done") for cell in range(4)]
    run.close()
    return outcome, done


def test_gpus_that_rest_go_to_sleep(cells: Library) -> None:
    """The settings are written in the first cycles, one after the other."""
    outcome, _ = played(cells, SLEEPS, 0, 20_000)
    rested = 100 * 2000 + 10 * 3000 + 1 * 15_000
    rests = {"state": "idle", "energy": pytest.approx(60_000, abs=30), "busy": 0, "until_done": None}
    assert outcome.power["a.2"].to_json() == rests
    assert {gpu: power.state for gpu, power in outcome.power.items()} == {
        **dict.fromkeys(("a.0", "a.1", "a.3"), "off"),
        "a.2": "idle",
    }
    assert [outcome.power[gpu].energy for gpu in ("a.0", "a.1", "a.3")] == [pytest.approx(rested, abs=1000)] * 3


def test_work_takes_energy_for_its_cycles_and_waits_for_those_that_slept(cells: Library) -> None:
    """A unit of 512 bytes takes 164 cycles; with a GPU that sleeps between two of them, 900 more each."""
    awake, done = played(cells, "run_power: 1000, idle_power: 1", 40, 30_000)
    assert awake.verdict == "pass"
    for units, (gpu, power) in zip(done, awake.power.items(), strict=True):
        assert power.busy == 164 * units
        if gpu != "a.2":
            assert power.energy == pytest.approx(1000 * power.busy + 30_000 - power.busy, abs=9)
    sleepy, done = played(cells, "run_power: 1000, idle_power: 1, low_after: 1, low_wake: 900", 40, 30_000)
    assert sleepy.verdict == "pass"
    assert sleepy.work["resent"] == 0
    for units, (gpu, power) in zip(done, sleepy.power.items(), strict=True):
        waited = power.busy - 164 * units
        assert waited == 0 if gpu == "a.2" else waited in range(900, 900 * units + 1, 900)


def test_a_file_without_power_meters_nothing(cells: Library) -> None:
    run = Run(loads("server: {cards: {a: {gpus: 2}}}\nuntil: 900"), cells)
    document = run.run().to_json()
    run.close()
    assert "power" not in document


WORK = {
    "units": "workload: {units: 40, size: 512}",
    "applications": "sharing: {applications: {x: {gpu: a.1, steps: 3, host: 300, compute: 500}}}",
    "requests": "switching: {gpu: a.1, tasks: {x: {layers: [{name: l, weights: 9000, operations: 3000000000}]}},"
    " requests: [{task: x}, {task: x}]}",
}


def counted(cells: Library, work: str, period: int) -> tuple[Outcome, dict[str, TakenByWork]]:
    """And what each GPU had taken when the work was done."""
    set_to = f"settings: {{compute_setup: 100, census_period: {period}, device_memory: 4096}}"
    power = "power: {default: {run_power: 7, idle_power: 3}}"
    run = Run(loads(f"server: {{cards: {{a: {{gpus: 4}}}}, {set_to}, {power}}}\n{work}"), cells)
    outcome = run.run()
    run.close()
    assert outcome.verdict == "pass"
    return outcome, {gpu: power.until_done for gpu, power in outcome.power.items() if power.until_done is not None}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_what_work_takes_does_not_depend_on_when_cards_are_counted(cells: Library, work: str) -> None:
    """A run ends with a census that finds all well: the totals until then are larger the rarer one is."""
    found = [counted(cells, work, period) for period in (30_000, 41_000, 90_000)]
    first = found[0][1]
    assert len(first) == 4
    assert [taken for _, taken in found] == [first] * 3
    for taken in first.values():
        assert 0 < taken.cycle <= min(outcome.cycles for outcome, _ in found)
        assert taken.energy == pytest.approx(3 * taken.cycle + 4 * taken.busy, abs=30)
    assert sum(taken.busy for taken in first.values()) > 300


@settings(max_examples=8, deadline=None)
@given(st.integers(300, 20_000), st.sampled_from([*WORK.values()]))
def test_a_census_beside_the_work_costs_it_what_it_is_in_its_way(period: int, work: str) -> None:
    """The engines run for the very same cycles; they rest for a little longer."""
    (_, alone), (_, beside) = (counted(cells_library(), work, each) for each in (90_000, period))
    for gpu, taken in beside.items():
        assert taken.busy == alone[gpu].busy
        assert taken.energy == pytest.approx(alone[gpu].energy, rel=0.03)


def test_work_that_is_not_done_has_no_totals_until_then(cells: Library) -> None:
    """The file has fixed where the run ends."""
    outcome, _ = played(cells, "run_power: 7, idle_power: 3", 40, 1500)
    assert outcome.cycles == 1500
    assert {power.until_done for power in outcome.power.values()} == {None}
