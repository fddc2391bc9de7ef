"""Fault schedules beside cocotb: every way to play them plays the same, and whoever finds something else is told."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.command import ringhil

from ringhil.emulator.bench import scenarios, scenarios_peer
from ringhil.emulator.bench.schedules import KINDS, Schedules, prepare
from ringhil.emulator.engine.library import cells_library

GPUS = 3


@pytest.fixture(scope="module")
def schedules() -> Iterator[Schedules]:
    prepared = prepare(cells_library(), GPUS, 12, time.perf_counter)
    yield prepared
    prepared.warm.close()


def test_schedules_are_single_faults_of_many_kinds_and_one_without(schedules: Schedules) -> None:
    kinds = [tuple(event.kind for event in s.case.schedule.events) for s in schedules.played]
    assert kinds[0] == ()
    assert all(len(kind) == 1 and kind[0] in KINDS for kind in kinds[1:])
    assert len(set(kinds)) > 6
    assert len(kinds) <= 12


def test_what_is_found_differs_from_schedule_to_schedule(schedules: Schedules) -> None:
    """Or that the parts agree would say nothing."""
    found = {s.case.cls: s.found for s in schedules.played}
    assert found["no fault"].count == GPUS
    assert any(f.count < GPUS for f in found.values())
    assert len({f.members for f in found.values()}) > 2


@pytest.mark.slow(part="benches")
def test_cocotb_finds_what_explore_and_verify_find() -> None:
    """With either kind of monitor: `measure` raises when one finds something else."""
    found = scenarios.measure(cells_library(), GPUS, number=6, seconds=0.05)
    document = found.to_json()
    rates = [*document["explore"].values(), *document["verify"].values(), *document["cocotb"].values()]
    assert set(document["cocotb"]) == {"kit", "naive"}
    for rate in rates:
        assert rate["schedules_per_second"] == pytest.approx(rate["schedules"] / rate["seconds"])
        assert rate["ratio"] > 0
        assert rate["processor_seconds"] > 0
    # From power-up all take the same cycles; from the warm state fewer.
    assert {rate["cycles"] for rate in rates[2:]} == {found.cycles}
    explored = document["explore"]["1"]
    assert explored["cycles"] / explored["schedules"] < found.cycles / found.schedules


@pytest.mark.parametrize("way", ["verify", pytest.param("cocotb", marks=pytest.mark.slow(part="benches"))])
def test_a_schedule_that_is_played_otherwise_is_named(schedules: Schedules, tmp_path: Path, way: str) -> None:
    right = schedules.played[1]
    wrong = replace(right, found=replace(right.found, count=right.found.count + 1))
    other = replace(schedules, played=(schedules.played[0], wrong))
    files = scenarios.written(other, tmp_path)
    ways = {
        "verify": lambda: scenarios.verified(files, cells_library(), 1),
        "cocotb": lambda: scenarios_peer.play(other, files, "kit", tmp_path, lambda text: None),
    }
    with pytest.raises(RuntimeError, match=rf"^{way}: {re.escape(right.case.key)}"):
        ways[way]()


@pytest.mark.rest
def test_bench_prints_only_what_is_asked_for() -> None:
    words = ("bench", "--only", "scenarios", "--no-peers", "--schedules", "4", "--seconds", "0.05")
    document = json.loads(ringhil(*words, "--json").stdout)
    assert document["scenarios"]["cocotb"] == {}
    assert 2 <= document["scenarios"]["schedules"] <= 4
    assert not {"census", "kit", "data", "start_up"} & set(document)
    table = ringhil(*words).stdout
    for way in ("explore, 1 at a time", "explore, 2 at a time", "verify, 1 at a time"):
        assert way in table
