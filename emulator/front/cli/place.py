"""`ringhil place`: tasks on the servers of a cluster, by each policy that is asked for (P1 to P7)."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.markup import escape

from ringhil.emulator.cluster.choice import policies_named
from ringhil.emulator.cluster.cluster import GpuCluster, Saturation
from ringhil.emulator.cluster.convert import cluster_text, imported_texts
from ringhil.emulator.cluster.emulated_fleet import EmulatedFleet
from ringhil.emulator.cluster.figures import FILLED, RUN, Figure
from ringhil.emulator.cluster.kubernetes import imported_kubernetes, kwok_nodes
from ringhil.emulator.cluster.play import Decision, PlacementRun, play
from ringhil.emulator.cluster.policies import DEFAULT
from ringhil.emulator.cluster.policy import PlacementPolicy
from ringhil.emulator.cluster.read import load_cluster
from ringhil.emulator.cluster.saturate import Saturated, saturate
from ringhil.emulator.cluster.slurm import imported_sacct
from ringhil.emulator.errors import printable
from ringhil.emulator.files import is_stream
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, WholeNumber, jobs_option, json_option, processors, seed_option
from ringhil.emulator.front.cli.place_fleet import FLEETS, fleet_of, fleets, with_end
from ringhil.emulator.front.cli.place_page import PlaceView, filled_view, page, run_view
from ringhil.emulator.front.cli.place_tables import (
    curves,
    decision_json,
    document,
    filled_json,
    placements,
    rows,
    run_json,
    said,
    saturation_curves,
    saturation_placements,
    show,
    show_decision,
)
from ringhil.emulator.front.cli.written import Output, check_apart, must_be_writable, write_page
from ringhil.emulator.scenario import ScenarioError

TABLE = "table"
_IMPORTS = {"openb": 2, "sacct": 1, "kubernetes": 1}  # how many files each takes
_WHY = {"without_end": "left out, without a start or an end", "after_until": "never come, after 'until'"}
Run = TypeVar("Run")


@click.command("place")
@click.argument("files", type=FILE, metavar="CLUSTER.yaml", nargs=-1, required=True)
@click.option(
    "--policy",
    "names",
    multiple=True,
    metavar="NAME",
    help=f"Order servers by this policy, or by your own: MODULE:CLASS; may be repeated.  [default: {DEFAULT}]",
)
@click.option(
    "--fleet",
    "wanted",
    type=click.Choice(FLEETS),
    help="Emulate the servers, with meters, or keep a table.  [default: emulated, where that takes about a minute]",
)
@jobs_option
@click.option("--no-sleep", "awake", is_flag=True, help="Nothing goes into low power or to sleep.")
@click.option("--order", metavar="TASK", help="Explain the order of the servers for this task, and end.")
@seed_option
@click.option(
    "--seeds",
    type=WholeNumber(1, 1000),
    default=1,
    show_default=True,
    help="Play so many seeds, from the first on: means, with 95 percent intervals.",
)
@json_option
@click.option("--html", type=FILE, metavar="FILE", help="Write a page with curves, and a map of the servers.")
@click.option("--csv", "folder", type=FILE, metavar="DIR", help="Write curves.csv and placements.csv there.")
@click.option(
    "--import",
    "kind",
    type=click.Choice([*_IMPORTS]),
    help="Write a cluster file for two lists, NODES.csv and PODS.csv, or for what sacct or kubectl printed.",
)
@click.option("-o", "written", type=FILE, metavar="FILE", help="With --import: the cluster file.")
@click.option(
    "--export",
    "exported",
    type=(click.Choice(["kwok"]), FILE),
    metavar="kwok FILE",
    help="Write the servers as nodes of Kubernetes that KWOK simulates, and end.",
)
def command(
    files: tuple[Path, ...],
    names: tuple[str, ...],
    wanted: str | None,
    awake: bool,
    jobs: int | None,
    order: str | None,
    seed: int | None,
    seeds: int,
    as_json: bool,
    html: Path | None,
    folder: Path | None,
    kind: str | None,
    written: Path | None,
    exported: tuple[str, Path] | None,
) -> int:
    """Place the tasks of a cluster file on its servers, once by each policy: energy, waiting, fragmentation.

    Exit code 0, also where tasks find no server; 2: by no policy any of them did.
    """
    if (kind is None) != (written is None):
        raise click.UsageError("--import and -o go together: --import openb NODES.csv PODS.csv -o CLUSTER.yaml")
    others = {
        "--policy": names,
        "--fleet": wanted,
        "--jobs": jobs,
        "--no-sleep": awake,
        "--csv": folder,
        "--html": html,
    }
    if kind is not None and written is not None:
        _alone("--import", {**others, "--order": order, "--seed": seed})
        return _convert(kind, files, written, as_json)
    if wanted == TABLE:
        _alone("--fleet table", {"--jobs": jobs})
    if order is not None:
        _alone("--order", {"--fleet emulated": wanted == EmulatedFleet.name, "--csv": folder, "--html": html})
    if len(files) != 1:
        raise click.UsageError(f"found {len(files)} files; allowed is one cluster file")
    if exported is not None:
        _alone("--export", {**others, "--order": order, "--seed": seed, "--json": as_json})
        return _export(files[0], exported[1])
    console = terminal.beside(as_json, html=html)
    check_apart(files, html=html)
    must_be_writable(html)
    with explained():
        policies = policies_named(names or (DEFAULT,))
        cluster = replace(load_cluster(files[0]), sleeps=not awake)
        first = cluster.own_seed if seed is None else seed
        chosen, filling, passed_over = range(first, first + seeds), cluster.saturation, dict[str, int]()
        if filling is not None:
            if order is not None:
                raise click.UsageError("--order is for runs over time; this file has 'saturate'")
            if wanted == EmulatedFleet.name or awake:
                option = "--no-sleep" if awake else "--fleet emulated"
                raise click.UsageError(f"{option} is for runs over time; this file has 'saturate'")
            fleet, compared = TABLE, _filled(cluster, _fill(cluster, filling, policies, chosen), first)
        elif order is not None:
            if seeds > 1:
                raise click.UsageError(f"--order with {seeds} seeds; allowed is one")
            _explain(files[0], cluster, policies, order, first, as_json)
            return 0
        else:
            _check_timed(files[0], cluster)
            passed_over = _passed_over(cluster)
            cluster = with_end(cluster, policies, chosen)  # energy is counted to the same moment for all
            fleet = fleet_of(cluster, wanted, seeds * len(policies))
            compared = _timed(cluster, _play(cluster, policies, chosen, fleet, jobs or processors()), first)
    if folder is not None:
        _write(folder, compared.curves(), compared.placements())
    if html is not None:
        write_page(html, _page(cluster, _what(cluster, chosen, fleet, passed_over), chosen, compared))
    if as_json:
        found = document(cluster, compared.figures, compared.played, fleet, compared.of_run)
        click.echo(json.dumps({**found, "passed_over": passed_over} if filling is None else found))
    else:
        _head(cluster, _what(cluster, chosen, fleet, passed_over), console)
        show(compared.figures, compared.played, console)
    if not any(_placed(run) for runs in compared.played.values() for run in runs.values()):
        click.echo("ringhil: no task found a server by any policy: nothing was played", err=True)
        return 2
    return 0


def _alone(option: str, others: Mapping[str, object]) -> None:
    """Raises UsageError for what would be passed over in silence."""
    for other, value in others.items():
        if value is not None and value is not False and value != ():
            raise click.UsageError(f"{other} has no meaning with {option}; leave it out")


def _placed(run: PlacementRun | Saturated) -> bool:
    """Whether any task found a server."""
    if isinstance(run, Saturated):
        return run.failed < len(run.arrivals)
    return any(each.began is not None for each in run.tasks.values())


@dataclass(frozen=True)
class _Compared:
    """All runs of a command, by policy and seed, and what can be told of them."""

    figures: Sequence[Figure]
    played: Mapping[str, Mapping[int, Any]]
    of_run: Callable[[GpuCluster, Any], dict[str, Any]]
    curves: Callable[[], str]
    placements: Callable[[], str]
    view: Callable[[], PlaceView]


def _timed(cluster: GpuCluster, played: dict[str, dict[int, PlacementRun]], first: int) -> _Compared:
    return _Compared(
        RUN,
        played,
        run_json,
        lambda: curves(played),
        lambda: placements(cluster, played),
        lambda: run_view(cluster, {name: runs[first] for name, runs in played.items()}),
    )


def _filled(cluster: GpuCluster, done: dict[str, dict[int, Saturated]], first: int) -> _Compared:
    return _Compared(
        FILLED,
        done,
        filled_json,
        lambda: saturation_curves(done),
        lambda: saturation_placements(cluster, done),
        lambda: filled_view(cluster, {name: runs[first] for name, runs in done.items()}),
    )


def _page(cluster: GpuCluster, what: str, seeds: Sequence[int], compared: _Compared) -> str:
    columns = ["policy", *(figure.column for figure in compared.figures)]
    lines = [
        *said(compared.played),
        *([f"Percentiles of waiting, curves and map: seed {seeds[0]}."] if len(seeds) > 1 else []),
    ]
    return page(cluster, what, columns, rows(compared.figures, compared.played), lines, compared.view())


def _convert(kind: str, files: Sequence[Path], written: Path, as_json: bool) -> int:
    if len(files) != _IMPORTS[kind]:
        allowed = "two, NODES.csv and PODS.csv" if kind == "openb" else "one"
        raise click.UsageError(f"--import {kind}: found {len(files)} files; allowed: {allowed}")
    list_file = written.parent / f"{written.stem}.pods.csv"
    check_apart(files, o=written)
    found = None
    with explained():
        if kind == "openb":
            text, tasks = cluster_text(files[0], files[1], written.parent), None
        else:
            check_apart((*files, written), o=list_file)
            if is_stream(written):
                raise click.UsageError(
                    f"-o {written}: found a stream; a list of tasks stands beside the file: name a file"
                )
            found = (imported_sacct if kind == "sacct" else imported_kubernetes)(files[0])
            text, tasks = imported_texts(found, files[0], list_file.name)
    with Output(written) as file, nullcontext() if tasks is None else Output(list_file) as beside:
        if tasks is not None and beside is not None:
            beside.write(tasks)
        file.write(text)
    if found is not None and (said := found.said()):
        click.echo(f"{printable(str(files[0]))}: {said}", err=True)
    if as_json:
        made = load_cluster(written)
        counts = {"servers": len(made.servers), "gpus": made.gpus, "tasks": len(made.tasks)}
        click.echo(json.dumps({**counts, "left_out": dict(found.left_out) if found else {}}))
    return 0


def _export(file: Path, written: Path) -> int:
    check_apart([file], export=written)
    with explained():
        text = kwok_nodes(load_cluster(file), file)
    with Output(written) as output:
        output.write(text)
    return 0


def _play(
    cluster: GpuCluster, policies: dict[str, type[PlacementPolicy]], seeds: Sequence[int], fleet: str, jobs: int
) -> dict[str, dict[int, PlacementRun]]:
    with fleets(fleet, jobs) as made:

        def run(policy: type[PlacementPolicy], seed: int, what: str) -> PlacementRun:
            given = cluster.with_failures(seed)
            with made(given, seed) as servers, terminal.counting(what) as on_progress:
                return play(given, policy, seed, on_progress=on_progress, fleet=servers)

        return _each(policies, seeds, run)


def _fill(
    cluster: GpuCluster, filling: Saturation, policies: dict[str, type[PlacementPolicy]], seeds: Sequence[int]
) -> dict[str, dict[int, Saturated]]:
    def run(policy: type[PlacementPolicy], seed: int, what: str) -> Saturated:
        with terminal.counting(what) as on_progress:
            return saturate(cluster, filling, policy, seed, on_progress)

    return _each(policies, seeds, run)


def _each(
    policies: dict[str, type[PlacementPolicy]],
    seeds: Sequence[int],
    run: Callable[[type[PlacementPolicy], int, str], Run],
) -> dict[str, dict[int, Run]]:
    """A run for each policy and seed."""
    several = len(seeds) > 1
    return {
        name: {
            seed: run(policy, seed, f"{name}, seed {seed}: tasks" if several else f"{name}: tasks") for seed in seeds
        }
        for name, policy in policies.items()
    }


def _explain(
    file: Path, cluster: GpuCluster, policies: dict[str, type[PlacementPolicy]], task: str, seed: int, as_json: bool
) -> None:
    _check_timed(file, cluster)
    if len(policies) > 1:
        raise click.UsageError(f"--order with {len(policies)} policies; allowed is one")
    if all(each.name != task or each.lasts is None for each in cluster.tasks):
        raise ScenarioError(str(file), None, None, f"--order: there is no task {task!r}; allowed are those of 'tasks'")
    ((name, policy),) = policies.items()
    decision = play(cluster, policy, seed, explain=task).decision
    if decision is None:
        raise ScenarioError(str(file), None, None, f"--order: {task!r} has not come before 'until'")
    if as_json:
        click.echo(json.dumps(decision_json(task, name, decision)))
    else:
        _show_explained(cluster, task, name, decision, seed)


def _show_explained(cluster: GpuCluster, task: str, name: str, decision: Decision, seed: int) -> None:
    console = terminal.output()
    _head(cluster, _what(cluster, [seed], TABLE), console)
    show_decision(task, name, decision, console)


def _check_timed(file: Path, cluster: GpuCluster) -> None:
    if all(task.lasts is None for task in cluster.tasks):
        raise ScenarioError(str(file), None, None, "no task of the list has a start and an end; needed is one that has")
    if sum(_passed_over(cluster).values()) == len(cluster.tasks):
        raise ScenarioError(str(file), None, None, "no task of the list comes before 'until'; needed is one that does")


def _passed_over(cluster: GpuCluster) -> dict[str, int]:
    """Tasks that a run over time hasn't got, by why."""
    late = [cluster.until is not None and task.at >= cluster.until for task in cluster.tasks if task.lasts is not None]
    return {"without_end": len(cluster.tasks) - len(late), "after_until": sum(late)}


def _head(cluster: GpuCluster, what: str, console: Console) -> None:
    console.print(f"[bold]{escape(cluster.name)}[/bold]  {what}")


def _what(cluster: GpuCluster, seeds: Sequence[int], fleet: str, passed_over: Mapping[str, int] | None = None) -> str:
    seed = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    what = f"{len(cluster.servers):,} servers, {cluster.gpus:,} GPUs, {len(cluster.tasks):,} tasks"
    for why, count in (passed_over or {}).items():
        what += f", {count:,} of them {_WHY[why]}" if count else ""
    return f"{seed}, fleet: {fleet}, {what}"


def _write(folder: Path, curve: str, placed: str) -> None:
    with Output(folder / "curves.csv") as one, Output(folder / "placements.csv") as other:
        one.write(curve)
        other.write(placed)
