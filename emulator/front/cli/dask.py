"""`--cluster` of explore, place and verify. Dask is loaded when somebody asks for it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ringhil.emulator.campaign.dask.where import LOCAL, check

# Each of the three commands loads its own campaign, and not those of the others.
if TYPE_CHECKING:
    from ringhil.emulator.campaign.dask.dask_pool import DaskPool
    from ringhil.emulator.campaign.explore.explorer import Conditions, Players
    from ringhil.emulator.campaign.place import PlaceAnswer, PlaceTask
    from ringhil.emulator.campaign.verify import VerifyPlan, VerifyReport
    from ringhil.emulator.campaign.verify.run import Progress
    from ringhil.emulator.cluster.cluster import GpuCluster
    from ringhil.emulator.engine.library import Library

option = click.option(
    "--cluster",
    metavar="WHERE",
    help="Play on Dask workers: local, tcp://HOST:PORT of a scheduler, or a file for Slurm or LSF.",
)


def check_options(where: str | None, jobs: int | None, firmware: Sequence[str]) -> None:
    """Raises UsageError and ClusterError."""
    if where is None:
        return
    from ringhil.emulator.loop.loading import is_board

    boards = [text for text in firmware if is_board(text.partition("=")[2])]
    if boards:
        why = "a board has one line, for one process; leave --cluster out"
        raise click.UsageError(f"--firmware {boards[0]}: {why}")
    if where != LOCAL and jobs is not None:
        raise click.UsageError(f"--jobs is for this machine and for --cluster {LOCAL}; {where} has its own workers")
    check(where)


def explorers(where: str, conditions: "Conditions", library: "Library", rtl: Path | None, top: str) -> "Players":
    """Who plays the cases of `ringhil explore`."""
    from ringhil.emulator.campaign.dask import players

    return players.explorers(where, conditions, library, rtl, top, _told)


def verify(where: str, plan: "VerifyPlan", on_progress: "Progress") -> "VerifyReport":
    """Play everything there. Raises ClusterError."""
    from ringhil.emulator.campaign.dask import players
    from ringhil.emulator.campaign.verify import run_all

    pool = players.verifiers(where, plan, _told)
    return run_all(replace(plan, jobs=pool.lanes), on_progress, pool)


def placers(
    where: str, cluster: "GpuCluster", library: "Library | None", jobs: int
) -> "DaskPool[PlaceTask, PlaceAnswer]":
    """Who plays the runs of `ringhil place`; without a library none that is emulated. Raises ClusterError."""
    from ringhil.emulator.campaign.dask import players

    return players.placers(where, cluster, library, jobs, _told)


def _told(line: str) -> None:
    """A worker that is left out is no reason to end, and none to be silent."""
    click.echo(f"ringhil: left out: {line}", err=True)
