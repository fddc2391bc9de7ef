"""What the meters of a run's GPUs say is what their file says, and work waits for those that slept."""

import pytest

from ringhil.emulator.engine.library import Library, cells_library
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
    assert outcome.power["a.2"].to_json() == {"state": "idle", "energy": pytest.approx(60_000, abs=30), "busy": 0}
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
