"""The servers of one emulated run on several workers: the same bytes as here, also when workers are lost."""

import itertools
import os
import random
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.command import ringhil
from tests.emulator.campaign.dask.commands import started
from tests.emulator.campaign.dask.dask_processes import machines, played_by
from tests.emulator.cluster.test_emulated import played as played_here
from tests.emulator.cluster.test_emulated import random_cluster, with_faults

from ringhil.emulator.campaign.dask.placing import PlaceCodec, played
from ringhil.emulator.campaign.place import PlaceAnswer, PlaceRun, PlaceTask, RunPlayer, ServersTask
from ringhil.emulator.campaign.pool import Answered, Pool
from ringhil.emulator.campaign.pool.pool import Heard
from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.emulated_fleet import EmulatedFleet
from ringhil.emulator.cluster.fleet import FleetError
from ringhil.emulator.cluster.play import PlacementRun
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.engine.library import Library

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
KILLS = 10


class Forgetful(Pool[PlaceTask, PlaceAnswer]):
    """Plays as a worker does, by `player`, or by a new one where `is_lost` says so. `change`: of what it is told."""

    def __init__(
        self,
        player: Callable[[], RunPlayer],
        is_lost: Callable[[], bool],
        change: Callable[[ServersTask], ServersTask] = lambda task: task,
    ) -> None:
        self._new, self._player, self._is_lost, self._change = player, player(), is_lost, change
        self._given = deque[PlaceTask]()
        self.lost = 0

    @property
    def room(self) -> int:
        return 1

    @property
    def busy(self) -> bool:
        return bool(self._given)

    def give(self, batch: Sequence[PlaceTask]) -> None:
        self._given += batch

    def hear(self, timeout: float = 1.0) -> list[Heard[PlaceTask, PlaceAnswer]]:
        task, codec = self._given.pop(), PlaceCodec()
        assert isinstance(task, ServersTask)
        if self._is_lost():
            self.lost += 1
            self._player.held.close()
            self._player = self._new()
        told = played(self._player, codec.encode(self._change(task)))
        return [Answered(task, codec.decode(told))]

    def drop(self, unwanted: Callable[[PlaceTask], bool]) -> None: ...

    def close(self) -> None:
        self._player.held.close()


def spread(given: GpuCluster, library: Library, pool: Forgetful, parts: int) -> PlacementRun:
    """A run whose servers the pool plays."""
    run = PlaceRun(None, "fgd", given.seed, given.until, EmulatedFleet.name)
    found = RunPlayer(given, POLICIES).play_spread(run, pool, parts)
    assert isinstance(found, PlacementRun)
    return found


def now_and_then() -> Callable[[], bool]:
    """True for one of ten."""
    calls = itertools.count(1)
    return lambda: next(calls) % 10 == 0


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("seed", range(1, 4))
def test_servers_that_are_lost_play_again_and_go_on(seed: int, library: Library) -> None:
    """With faults, in two or three parts, all lost now and then: to the last digit what is played here."""
    draw = random.Random(seed)
    given = with_faults(random_cluster(draw), draw, entry=True)
    here = played_here(given, "fgd", library)
    with Forgetful(lambda: RunPlayer(given, POLICIES, library), now_and_then()) as pool:
        there = spread(given, library, pool, 2 + seed % 2)
        assert pool.lost > 0
    assert there == here
    assert [each.had for each in there.tasks.values()] == [each.had for each in here.tasks.values()]


@pytest.mark.parametrize("left_out", [0, -1])
def test_servers_that_come_back_otherwise_end_the_run(left_out: int, library: Library) -> None:
    """What they play again lacks one moment, the first or the last."""
    draw = random.Random(0)
    given = with_faults(random_cluster(draw), draw, entry=True)

    def change(task: ServersTask) -> ServersTask:
        kept = [*task.moments]
        if task.after is None and len(kept) > 1:
            del kept[left_out]
        return replace(task, moments=tuple(kept))

    line = r"^fgd, seed \d+: part \d of 2 of its servers told something else when they played the same again$"
    with (
        Forgetful(lambda: RunPlayer(given, POLICIES, library), now_and_then(), change) as pool,
        pytest.raises(FleetError, match=line),
    ):
        spread(given, library, pool, 2)


SMALL = """name: two servers
until: 60
cluster:
  power: {T4: {idle: 10, task: 70, low: 8, off: 1}}
  servers: [{name: n, count: 2, gpus: 2, type: T4}]
  census: 20
tasks:
  - {name: a, gpus: 2, at: 0, for: 30}
  - {name: b, gpus: 1, at: 5, for: 10}
  - {name: c, gpus: 1, at: 9, for: 40}
faults: [{at: 12.5, server: n.1, gpu: a.1}]
"""


@pytest.mark.rest
def test_workers_play_the_servers_of_one_run(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(SMALL)
    words = ("place", file, "--fleet", "emulated", "--json", "--csv")
    here = ringhil(*words, tmp_path / "1", "-j", 2)
    there = ringhil("-v", *words, tmp_path / "2", "--cluster", "local", "-j", 2)
    assert (there.returncode, there.stdout) == (0, here.stdout), there.stderr
    assert all(f"has pack-first, seed 0: part {n} of 2 of its servers" in there.stderr for n in (1, 2))
    assert [p.read_bytes() for p in sorted((tmp_path / "1").iterdir())] == [
        p.read_bytes() for p in sorted((tmp_path / "2").iterdir())
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc, which only Linux has")
@pytest.mark.slow(part="benches")
def test_a_run_outlives_ten_kills_of_workers(tmp_path: Path) -> None:
    """A day of five servers on two workers, one of which is killed every now and then."""
    words = ("place", EXAMPLES / "openb" / "cluster.yaml", "--fleet", "emulated", "--json", "--csv")
    here, draw = ringhil(*words, tmp_path / "here"), random.Random(1)
    with machines(tmp_path) as two:
        nannies = [two.worker("one"), two.worker("two", threads=2)]
        run = started(*words, tmp_path / "there", "--cluster", two.address)
        killed = 0
        time.sleep(10)  # until they play
        while killed < KILLS and run.poll() is None:
            playing = [worker for worker in map(played_by, nannies) if worker is not None]
            if len(playing) == 2:
                os.kill(draw.choice(playing), signal.SIGKILL)
                killed += 1
            time.sleep(draw.uniform(3, 8))
        found, errors = run.communicate(timeout=300)
    assert (run.returncode, errors, killed) == (0, "", KILLS)
    assert found == here.stdout
    for file in (tmp_path / "here").iterdir():
        assert file.read_bytes() == (tmp_path / "there" / file.name).read_bytes()
