"""Runs of a cluster on Dask workers: the same bytes as here, also when workers are killed."""

import os
import random
import signal
import sys
import time
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.emulator.campaign.dask.commands import started
from tests.emulator.campaign.dask.dask_processes import machines, played_by
from tests.emulator.cluster.clusters import cluster, random_servers, server

from ringhil.emulator.campaign.dask.placing import PlaceCodec, played
from ringhil.emulator.campaign.place import PlaceRun, RunPlayer
from ringhil.emulator.cluster.cluster import ClusterFault, ClusterTask, Saturation, TaskNeeds
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.cluster.window import TimeWindow
from ringhil.emulator.engine.library import Library

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
KILLS = 10


def test_a_run_that_has_travelled_is_the_run() -> None:
    """In every figure, to the last digit; of random clusters with faults, by all policies."""
    draw = random.Random(4)
    for number in range(40):
        servers = random_servers(draw)
        tasks = [
            ClusterTask(f"t{n}", TaskNeeds(draw.randint(0, 3), 1000, 0, 0, ()), draw.random() * 9, draw.random() * 99)
            for n in range(9)
        ]
        given = replace(cluster(servers, tasks), until=70.0, faults=(ClusterFault(draw.random() * 60, inf, 0),))
        if number % 4 == 0:
            given = replace(given, saturation=Saturation(1.3, "", None, None))
        player = RunPlayer(given, POLICIES)
        run = PlaceRun(draw.choice((None, 0.7)), draw.choice([*POLICIES]), number, 70.0)
        assert repr(PlaceCodec().decode(played(player, PlaceCodec().encode(run)))) == repr(player(run))


def test_a_window_that_has_travelled_is_the_window(library: Library) -> None:
    servers = [server("a", [10, 20]), server("b", [10, 20, 20])]
    tasks = [ClusterTask(f"t{n}", TaskNeeds(n, 1000, 0, 0, ()), 3.0 * n, 20.0) for n in range(4)]
    player = RunPlayer(replace(cluster(servers, tasks), until=50.0), POLICIES, library)
    run = PlaceRun(None, "pack-first", 0, 50.0, "emulated", TimeWindow(4.0, 25.0))
    assert repr(PlaceCodec().decode(played(player, PlaceCodec().encode(run)))) == repr(player(run))


@pytest.mark.rest
def test_workers_place_what_processes_place(tmp_path: Path) -> None:
    words = ("place", EXAMPLES / "cluster.yaml", "--policy", "random", "--policy", "fgd", "--load", 1, "--load", 2)
    words = (*words, "--fleet", "table", "--seeds", 2, "--json", "--csv")
    empty = {**os.environ, "RINGHIL_CACHE": str(tmp_path / "cache")}
    here = ringhil(*words, tmp_path / "1")
    there = ringhil(*words, tmp_path / "2", "--cluster", "local", "-j", 2, env=empty)
    assert (there.returncode, there.stderr, there.stdout) == (0, "", here.stdout)
    assert not (tmp_path / "cache").exists(), "no engine is built for a table"
    assert [p.read_bytes() for p in sorted((tmp_path / "1").iterdir())] == [
        p.read_bytes() for p in sorted((tmp_path / "2").iterdir())
    ]


def test_code_of_your_own_stays_here(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from ringhil.emulator.cluster import PlacementPolicy\n"
        "class Last(PlacementPolicy):\n    def keys(self, servers, needs): return [-servers.place]\n"
    )
    words = ("place", EXAMPLES / "cluster.yaml", "--policy", "own:Last", "--cluster", "local")
    assert "--policy own:Last: your own code isn't sent to workers; leave --cluster out" in refusal(
        *words, cwd=tmp_path
    )
    assert "--cluster: found 'udp://x'" in refusal("place", EXAMPLES / "cluster.yaml", "--cluster", "udp://x")


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc, which only Linux has")
@pytest.mark.slow(part="benches")
def test_a_sweep_outlives_ten_kills_of_workers(tmp_path: Path) -> None:
    """None of its runs is lost, and none is counted twice."""
    words = ("place", EXAMPLES / "openb" / "cluster.yaml", "--policy", "random", "--policy", "pwr", "--fleet", "table")
    words = (*words, "--load", 0.5, "--load", 1, "--load", 1.3, "--seeds", 60, "--json", "--csv")
    here, draw = ringhil(*words, tmp_path / "here"), random.Random(1)
    with machines(tmp_path) as two:
        nannies = [two.worker("one"), two.worker("two")]
        sweep = started(*words, tmp_path / "there", "--cluster", two.address)
        killed = 0
        time.sleep(8)  # until they play
        while killed < KILLS and sweep.poll() is None:
            time.sleep(draw.uniform(1.5, 3))
            playing = [worker for worker in map(played_by, nannies) if worker is not None]
            if playing and sweep.poll() is None:
                os.kill(draw.choice(playing), signal.SIGKILL)
                killed += 1
        found, errors = sweep.communicate(timeout=300)
    assert (sweep.returncode, errors, killed) == (0, "", KILLS)
    assert found == here.stdout
    for file in (tmp_path / "here").iterdir():
        assert file.read_bytes() == (tmp_path / "there" / file.name).read_bytes()
