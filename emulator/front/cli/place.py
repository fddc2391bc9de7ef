"""`ringhil place`: tasks on the servers of a cluster, by each policy that is asked for (P1 to P7)."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from ringhil.emulator.cluster.choice import policies_named
from ringhil.emulator.cluster.cluster import GpuCluster, Saturation
from ringhil.emulator.cluster.convert import cluster_text
from ringhil.emulator.cluster.emulated_fleet import EmulatedFleet
from ringhil.emulator.cluster.play import Decision, PlacementRun, play
from ringhil.emulator.cluster.policies import DEFAULT
from ringhil.emulator.cluster.policy import PlacementPolicy
from ringhil.emulator.cluster.read import load_cluster
from ringhil.emulator.cluster.saturate import Saturated, saturate
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, json_option, seed_option
from ringhil.emulator.front.cli.place_fleet import FLEETS, fleet_of, fleets, prepared
from ringhil.emulator.front.cli.place_tables import (
    curves,
    decision_json,
    document,
    placements,
    saturation_curves,
    saturation_document,
    saturation_placements,
    show,
    show_decision,
    show_saturated,
)
from ringhil.emulator.front.cli.written import Output
from ringhil.emulator.scenario import ScenarioError

TABLE = "table"
_WHY = {"without_end": "left out, without a start or an end", "after_until": "never come, after 'until'"}


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
@click.option("--no-sleep", "awake", is_flag=True, help="Nothing goes into low power or to sleep.")
@click.option("--order", metavar="TASK", help="Explain the order of the servers for this task, and end.")
@seed_option
@json_option
@click.option("--csv", "folder", type=FILE, metavar="DIR", help="Write curves.csv and placements.csv there.")
@click.option(
    "--import", "kind", type=click.Choice(["openb"]), help="Write a cluster file for two lists, NODES.csv and PODS.csv."
)
@click.option("-o", "written", type=FILE, metavar="FILE", help="With --import: the file.")
def command(
    files: tuple[Path, ...],
    names: tuple[str, ...],
    wanted: str | None,
    awake: bool,
    order: str | None,
    seed: int | None,
    as_json: bool,
    folder: Path | None,
    kind: str | None,
    written: Path | None,
) -> int:
    """Place the tasks of a cluster file on its servers, once by each policy: energy, waiting, fragmentation.

    Exit code 0, also where tasks find no server; 2: by no policy any of them did.
    """
    if (kind is None) != (written is None):
        raise click.UsageError("--import and -o go together: --import openb NODES.csv PODS.csv -o CLUSTER.yaml")
    others = {"--policy": names, "--fleet": wanted, "--no-sleep": awake, "--csv": folder}
    if kind is not None and written is not None:
        _alone("--import", {**others, "--order": order, "--seed": seed, "--json": as_json})
        return _convert(files, written)
    if order is not None:
        _alone("--order", {"--fleet emulated": wanted == EmulatedFleet.name, "--csv": folder})
    if len(files) != 1:
        raise click.UsageError(f"found {len(files)} files; allowed is one cluster file")
    with explained():
        policies = policies_named(names or (DEFAULT,))
        cluster = replace(load_cluster(files[0]), sleeps=not awake)
        if cluster.saturation is not None:
            if order is not None:
                raise click.UsageError("--order is for runs over time; this file has 'saturate'")
            if wanted == EmulatedFleet.name or awake:
                option = "--no-sleep" if awake else "--fleet emulated"
                raise click.UsageError(f"{option} is for runs over time; this file has 'saturate'")
            return _judged(_saturate(cluster, cluster.saturation, policies, seed, as_json, folder))
        if order is not None:
            _explain(files[0], cluster, policies, order, cluster.seed if seed is None else seed, as_json)
        else:
            seed = cluster.seed if seed is None else seed
            return _judged(_play(files[0], cluster, policies, seed, as_json, folder, wanted))
    return 0


def _alone(option: str, others: Mapping[str, object]) -> None:
    """Raises UsageError for what would be passed over in silence."""
    for other, value in others.items():
        if value is not None and value is not False and value != ():
            raise click.UsageError(f"{other} has no meaning with {option}; leave it out")


def _judged(placed: int) -> int:
    """The exit code. `placed`: tasks that found a server, by all policies together."""
    if not placed:
        click.echo("ringhil: no task found a server by any policy: nothing was played", err=True)
    return 0 if placed else 2


def _convert(files: Sequence[Path], written: Path) -> int:
    if len(files) != 2:
        raise click.UsageError(f"--import openb: found {len(files)} files; allowed are two, NODES.csv and PODS.csv")
    with explained():
        text = cluster_text(files[0], files[1], written.parent)
    with Output(written) as file:
        file.write(text)
    return 0


def _play(
    file: Path,
    cluster: GpuCluster,
    policies: dict[str, type[PlacementPolicy]],
    seed: int,
    as_json: bool,
    folder: Path | None,
    wanted: str | None,
) -> int:
    _check_timed(file, cluster)
    passed_over = _passed_over(cluster)
    cluster = prepared(cluster, policies, seed)  # energy is counted to the same moment for all
    played, fleet = dict[str, PlacementRun](), fleet_of(cluster, wanted)
    with fleets(fleet) as made:
        for name, policy in policies.items():
            with made(cluster, seed) as servers, terminal.counting(f"{name}: tasks") as on_progress:
                played[name] = play(cluster, policy, seed, on_progress=on_progress, fleet=servers)
    if folder is not None:
        _write(folder, curves(played, seed), placements(cluster, played, seed))
    if as_json:
        click.echo(json.dumps({**document(cluster, played, seed, fleet), "passed_over": passed_over}))
    else:
        _head(cluster, seed, fleet, terminal.output(), passed_over)
        show(played, terminal.output())
    return sum(each.began is not None for run in played.values() for each in run.tasks.values())


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
    _head(cluster, seed, TABLE, console)
    show_decision(task, name, decision, console)


def _saturate(
    cluster: GpuCluster,
    saturation: Saturation,
    policies: dict[str, type[PlacementPolicy]],
    given: int | None,
    as_json: bool,
    folder: Path | None,
) -> int:
    number = re.search(r"[0-9]{1,9}$", saturation.column)
    seed = given if given is not None else int(number[0]) if number else cluster.seed
    done = dict[str, Saturated]()
    for name, policy in policies.items():
        with terminal.counting(f"{name}: tasks") as on_progress:
            done[name] = saturate(cluster, saturation, policy, seed, on_progress)
    if folder is not None:
        _write(folder, saturation_curves(done, seed), saturation_placements(cluster, done, seed))
    if as_json:
        click.echo(json.dumps(saturation_document(cluster, done, seed, TABLE)))
    else:
        _head(cluster, seed, TABLE, terminal.output())
        show_saturated(done, terminal.output())
    return sum(len(each.arrivals) - each.failed for each in done.values())


def _check_timed(file: Path, cluster: GpuCluster) -> None:
    if all(task.lasts is None for task in cluster.tasks):
        raise ScenarioError(str(file), None, None, "no task of the list has a start and an end; needed is one that has")
    if sum(_passed_over(cluster).values()) == len(cluster.tasks):
        raise ScenarioError(str(file), None, None, "no task of the list comes before 'until'; needed is one that does")


def _passed_over(cluster: GpuCluster) -> dict[str, int]:
    """Tasks that a run over time hasn't got, by why."""
    late = [cluster.until is not None and task.at >= cluster.until for task in cluster.tasks if task.lasts is not None]
    return {"without_end": len(cluster.tasks) - len(late), "after_until": sum(late)}


def _head(
    cluster: GpuCluster, seed: int, fleet: str, console: Console, passed_over: Mapping[str, int] | None = None
) -> None:
    what = f"{len(cluster.servers):,} servers, {cluster.gpus:,} GPUs, {len(cluster.tasks):,} tasks"
    for why, count in (passed_over or {}).items():
        what += f", {count:,} of them {_WHY[why]}" if count else ""
    console.print(f"[bold]{escape(cluster.name)}[/bold]  seed {seed}, fleet: {fleet}, {what}")


def _write(folder: Path, curve: str, placed: str) -> None:
    with Output(folder / "curves.csv") as one, Output(folder / "placements.csv") as other:
        one.write(curve)
        other.write(placed)
