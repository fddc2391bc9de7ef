"""The benchmark measures what it says, checks what it measures, and prints one document."""

import json
import os
import subprocess
import sys

import pytest
from tests.forked import published

from ringhil.emulator.bench import bare, census, cocotb_peer
from ringhil.emulator.engine.library import cells_library


@pytest.mark.slow(part="benches")
def test_bench_prints_one_document_with_every_figure() -> None:
    command = [sys.executable, "-m", "ringhil.emulator", "bench", "--json", "--no-peers", "--gpus", "4"]
    done = subprocess.run([*command, "--seconds", "0.1"], capture_output=True, text=True, timeout=300, check=True)
    document = json.loads(done.stdout)
    assert published("bench", document) == document
    (row,) = document["census"]
    assert row["gpus"] == 4
    assert row["messages_per_second"] > 0
    assert row["cycles_per_second"] > row["messages_per_second"]
    assert document["data"]["bytes_per_second"] > 0
    assert document["start_up"]["cold_seconds"] > document["start_up"]["warm_seconds"]
    assert document["peak_memory_bytes"] > 0


@pytest.mark.slow(part="benches")
def test_management_ports_are_measured_beside_an_echo() -> None:
    command = [sys.executable, "-m", "ringhil.emulator", "bench", "--json", "--only", "lines", "--seconds", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    document = json.loads(done.stdout)
    assert published("bench", document) == document
    lines = document["lines"]
    assert [row["name"] for row in lines["transports"]] == ["pty", "tcp", "rfc2217"]
    for row in lines["transports"]:
        assert 0 < row["p50"] <= row["p99"]
        assert row["per_second"] < 1e6 / row["p50"] * 2
    assert all(row["ratio"] == row["per_second"] / row["echo"]["per_second"] for row in lines["transports"][:2])
    assert [row["baud"] for row in lines["pacing"]] == [115_200, 3_000_000]
    assert all(row["found_baud"] < 1.2 * row["baud"] for row in lines["pacing"])  # never faster, however busy it is


@pytest.mark.slow(part="benches")
def test_the_bare_loop_carries_the_same_messages() -> None:
    rate = census.measure(cells_library(), 3, records=False, seconds=0.05)
    peer = bare.measure(3, rate.round_cycles, seconds=0.05)  # raises when a message does not come home
    assert peer.cycles_per_second > 0
    assert peer.extrapolated(6).cycles_per_second == pytest.approx(peer.cycles_per_second / 2)


@pytest.mark.slow(part="benches")
def test_cocotb_runs_the_same_messages() -> None:
    before = dict(os.environ)
    assert cocotb_peer.measure(3, 2000, cycles=500) > 0
    assert dict(os.environ) == before
