"""The runs of `ringhil place` and `ringhil view`: which are played, and what is told of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from ringhil.emulator.campaign.place import PlaceRun, RunResult
from ringhil.emulator.cluster.choice import policies_named
from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.emulated_fleet import EmulatedFleet
from ringhil.emulator.cluster.figures import FILLED, RUN, Figure
from ringhil.emulator.cluster.fleet import TableFleet
from ringhil.emulator.cluster.play import PlacementRun
from ringhil.emulator.cluster.read import load_cluster
from ringhil.emulator.cluster.window import TimeWindow
from ringhil.emulator.forks import processors
from ringhil.emulator.front.cli.place_fleet import RunPlayers, fleet_of
from ringhil.emulator.front.cli.place_page import PlaceView, about, filled_view, run_view
from ringhil.emulator.front.cli.place_tables import (
    ByLoad,
    Played,
    curves,
    filled_json,
    heads,
    placements,
    rows,
    run_json,
    said,
    saturation_curves,
    saturation_placements,
)
from ringhil.emulator.scenario import ScenarioError
from ringhil.emulator.view.fleet import ClusterAbout

TABLE = TableFleet.name
_WHY = {"without_end": "left out, without a start or an end", "after_until": "never come, after 'until'"}


@dataclass(frozen=True)
class Compared:
    """All runs of a command, and what can be told of those of one load."""

    figures: Sequence[Figure]
    played: ByLoad
    of_run: Callable[[GpuCluster, Any], dict[str, Any]]
    curves: Callable[[Played], str]
    placements: Callable[[Played], str]
    view: Callable[[Mapping[str, Any]], PlaceView]


def compare(cluster: GpuCluster, played: ByLoad, seed: int) -> Compared:
    """`seed`: the first one, of which the page shows the map."""
    if cluster.saturation is None:
        return Compared(
            RUN, played, run_json, curves, partial(placements, cluster), lambda runs: run_view(cluster, runs, seed)
        )
    return Compared(
        FILLED,
        played,
        filled_json,
        saturation_curves,
        partial(saturation_placements, cluster),
        lambda runs: filled_view(cluster, runs),
    )


def about_runs(
    cluster: GpuCluster, what: str, seeds: Sequence[int], compared: Compared, expected: Sequence[str]
) -> ClusterAbout:
    """What the page is told."""
    load, first = next(iter(compared.played.items()))
    shown = [f"load {load:g}"] if len(compared.played) > 1 else []
    shown += [f"seed {seeds[0]}"] if len(seeds) > 1 else []
    lines = [
        *said(compared.played),
        *([f"Percentiles of waiting, curves and map: {', '.join(shown)}."] if shown else []),
        *expected,
    ]
    found = rows(compared.figures, compared.played)
    view = compared.view({name: runs[seeds[0]] for name, runs in first.items()})
    return about(cluster, what, heads(compared.figures, compared.played), found, lines, view)


def play_runs(
    cluster: GpuCluster,
    policies: Sequence[str],
    seeds: Sequence[int],
    loads: Sequence[float | None],
    wanted: str | None,
    players: RunPlayers,
) -> tuple[str, dict[PlaceRun, RunResult]]:
    """The fleet, and all runs."""
    every = [PlaceRun(load, policy, seed) for load in loads for policy in policies for seed in seeds]
    if cluster.saturation is not None:
        return TABLE, players.play(every)
    at = {load: cluster if load is None else cluster.at_load(load) for load in loads}
    until = {load: each.until for load, each in at.items()}
    if cluster.until is None:  # energy is counted to the same moment for all: the end of the last task by any of them
        for run, ended in players.play(every).items():
            assert isinstance(ended, PlacementRun)
            until[run.load] = max(until[run.load] or 0.0, ended.until)
    with_end = [replace(each, until=until[load]) for load, each in at.items()]
    fleet = fleet_of(with_end, wanted, len(seeds) * len(policies))
    runs = [replace(run, until=until[run.load], fleet=fleet) for run in every]
    return fleet, players.play(runs)


def emulate_windows(
    runs: Mapping[PlaceRun, RunResult], windows: Sequence[TimeWindow], players: RunPlayers
) -> Mapping[PlaceRun, Any]:
    """These windows of all runs. Raises UsageError."""
    if not windows:
        return {}
    end = min((each.until for each in runs.values() if isinstance(each, PlacementRun)), default=0.0)
    for window in windows:
        if window.ends > end:
            raise click.UsageError(
                f"--emulate {window}: found {window.ends:g} s; allowed is up to {end:g}, where a run ends"
            )
    return players.play([replace(run, fleet=EmulatedFleet.name, window=each) for run in runs for each in windows])


def grouped(results: Mapping[PlaceRun, RunResult]) -> ByLoad:
    """By load, policy and seed."""
    found = dict[float | None, dict[str, dict[int, Any]]]()
    for run, result in results.items():
        found.setdefault(run.load, {}).setdefault(run.policy, {})[run.seed] = result
    return found


def check_timed(file: Path, cluster: GpuCluster) -> None:
    """Raises ScenarioError where a run over time would have no task."""
    if all(task.lasts is None for task in cluster.tasks):
        raise ScenarioError(str(file), None, None, "no task of the list has a start and an end; needed is one that has")
    if sum(left_over(cluster).values()) == len(cluster.tasks):
        raise ScenarioError(str(file), None, None, "no task of the list comes before 'until'; needed is one that does")


def left_over(cluster: GpuCluster) -> dict[str, int]:
    """Tasks that a run over time hasn't got, by why."""
    late = [cluster.until is not None and task.at >= cluster.until for task in cluster.tasks if task.lasts is not None]
    return {"without_end": len(cluster.tasks) - len(late), "after_until": sum(late)}


def headline(
    cluster: GpuCluster,
    seeds: Sequence[int],
    fleet: str,
    passed_over: Mapping[str, int] | None = None,
    loads: Sequence[float | None] = (None,),
) -> str:
    """What is played, in a line."""
    seed = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    what = f"{len(cluster.servers):,} servers, {cluster.gpus:,} GPUs, {len(cluster.tasks):,} tasks"
    for why, count in (passed_over or {}).items():
        what += f", {count:,} of them {_WHY[why]}" if count else ""
    load = "" if loads[0] is None else f"load {', '.join(f'{each:g}' for each in loads)}, "
    return f"{seed}, {load}fleet: {fleet}, {what}"


def about_file(file: Path, names: Sequence[str]) -> ClusterAbout:
    """What the page of a cluster file is told: played on a table by these policies, with the file's own seed. Raises
    ScenarioError, UsageError and PlaceError."""
    policies, cluster = policies_named(names), load_cluster(file)
    if cluster.saturation is None:
        check_timed(file, cluster)
    seeds = [cluster.own_seed]
    with RunPlayers(cluster, policies, processors(), None, table=True) as players:
        fleet, runs = play_runs(cluster, [*policies], seeds, [None], TABLE, players)
    passed = left_over(cluster) if cluster.saturation is None else None
    return about_runs(
        cluster, headline(cluster, seeds, fleet, passed), seeds, compare(cluster, grouped(runs), seeds[0]), []
    )
