"""Which fleet plays the runs of a cluster, emulated servers or a table; and where they are played."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Self

import click

from ringhil.emulator.campaign.place import PlaceRun, RunPlayer, RunResult, play_all
from ringhil.emulator.campaign.pool import LocalPool
from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.emulated_fleet import MOST_COUNTED, EmulatedFleet, counted_in_all, misfit
from ringhil.emulator.cluster.fleet import TableFleet
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.cluster.policy import PlacementPolicy
from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.front.cli import dask, terminal

FLEETS = (EmulatedFleet.name, TableFleet.name)


def fleet_of(clusters: Sequence[GpuCluster], wanted: str | None, runs: int) -> str:
    """The one that is wanted, or else the emulated one for what can be emulated within about a minute, with so
    many runs of each of the clusters, which say `until`. Raises FleetError."""
    problem = None if wanted == TableFleet.name else next(filter(None, map(misfit, clusters)), None)
    if wanted == EmulatedFleet.name and problem is not None:
        raise problem
    if wanted is not None:
        return wanted
    large = problem is not None or runs * sum(map(counted_in_all, clusters)) > MOST_COUNTED
    return TableFleet.name if large else EmulatedFleet.name


class RunPlayers:
    """Play runs in `jobs` processes here, or on the Dask workers that `where` names: each run on one of them, or, where
    there are more workers than emulated runs, one run after the other on all. `table`: no run will be emulated. Raises
    ClusterError."""

    def __init__(
        self,
        cluster: GpuCluster,
        policies: Mapping[str, type[PlacementPolicy]],
        jobs: int,
        where: str | None,
        *,
        table: bool,
    ) -> None:
        self._cluster, self._policies, self._jobs = cluster, policies, jobs
        self._opened = ExitStack()
        self._pool = None
        if where is not None:
            for name in policies:
                if name not in POLICIES:
                    raise click.UsageError(f"--policy {name}: your own code isn't sent to workers; leave --cluster out")
            library = None if table else _library()
            self._pool = self._opened.enter_context(dask.placers(where, cluster, library, jobs))

    def play(self, runs: Sequence[PlaceRun]) -> dict[PlaceRun, RunResult]:
        """Each once, in this order. Raises PlaceError and FleetError."""
        emulated = any(run.fleet == EmulatedFleet.name for run in runs)
        if self._pool is not None:
            windows = any(run.window is not None for run in runs)  # each is a task: it begins anew wherever it is
            if emulated and not windows and len(runs) < self._pool.lanes:
                player = RunPlayer(self._cluster, self._policies)
                there = partial(player.play_spread, pool=self._pool, parts=self._pool.workers)
                return {run: _counted(run, there) for run in runs}
            with terminal.counting("runs") as on_progress:
                return play_all(runs, self._pool, on_progress)
        lanes = min(self._jobs, len(runs))
        player = RunPlayer(self._cluster, self._policies, _library() if emulated else None, self._jobs // lanes)
        if lanes == 1:
            return {run: _counted(run, player.play) for run in runs}
        with LocalPool(player, lanes) as pool, terminal.counting("runs") as on_progress:
            return play_all(runs, pool, on_progress)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()


def _counted(run: PlaceRun, play: Callable[..., RunResult]) -> RunResult:
    with terminal.counting(f"{run}: tasks") as on_progress:
        return play(run, on_progress=on_progress)


def _library() -> Library:
    with terminal.building() as progress:
        return cells_library(progress=progress)
