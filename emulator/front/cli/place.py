"""`ringhil place`: tasks on the servers of a cluster, by each policy that is asked for (P1 to P7)."""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from ringhil.emulator.cluster.choice import policies_named
from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.convert import cluster_text, imported_texts
from ringhil.emulator.cluster.emulated_fleet import EmulatedFleet
from ringhil.emulator.cluster.kubernetes import imported_kubernetes, kwok_nodes
from ringhil.emulator.cluster.play import Decision, PlacementRun, play
from ringhil.emulator.cluster.policies import DEFAULT
from ringhil.emulator.cluster.policy import PlacementPolicy
from ringhil.emulator.cluster.read import load_cluster
from ringhil.emulator.cluster.saturate import Saturated
from ringhil.emulator.cluster.slurm import imported_sacct
from ringhil.emulator.cluster.window import TimeWindow
from ringhil.emulator.documents import shown
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.errors import printable
from ringhil.emulator.files import is_stream
from ringhil.emulator.forks import processors
from ringhil.emulator.front.cli import dask, place_expect, place_windows, terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import (
    FILE,
    Seconds,
    WholeNumber,
    jobs_option,
    json_option,
    seed_option,
)
from ringhil.emulator.front.cli.place_fleet import FLEETS, RunPlayers
from ringhil.emulator.front.cli.place_runs import (
    TABLE,
    about_runs,
    check_timed,
    compare,
    emulate_windows,
    grouped,
    headline,
    left_over,
    play_runs,
)
from ringhil.emulator.front.cli.place_tables import (
    by_load,
    decision_json,
    document,
    missing,
    show,
    show_decision,
)
from ringhil.emulator.front.cli.written import Output, check_apart, check_new, must_be_writable, write_page
from ringhil.emulator.scenario import ScenarioError, read_text
from ringhil.emulator.server.hashes import hashes, scenario_hash
from ringhil.emulator.view.alone import in_one
from ringhil.emulator.view.files import built
from ringhil.emulator.view.fleet import CLUSTER

_MOST_SEED = (1 << 32) - 1
_IMPORTS = {"openb": 2, "sacct": 1, "kubernetes": 1}  # how many files each takes


class _Load(Seconds):
    """How many times as much comes as the file says; as `saturate` takes it."""

    def __init__(self) -> None:
        super().__init__(0.01, 100)
        self._allowed = "a load from 0.01 to 100"


def _windows(context: click.Context, option: click.Parameter, values: Sequence[str]) -> list[TimeWindow]:
    """`28800..29400` in seconds of a run, each once."""
    found = dict[TimeWindow, None]()
    for value in values:
        both = re.fullmatch(r"([0-9.e+]{1,20}?)\.\.([0-9.e+]{1,20})", value)
        try:
            window = TimeWindow(float(both[1]), float(both[2])) if both else None
        except ValueError:
            window = None
        if window is None or not window.begins < window.ends < math.inf:
            allowed = "FROM..TO in seconds with FROM before TO, such as 28800..29400"
            raise click.BadParameter(f"found {shown(value)}; allowed is {allowed}", context, option)
        found[window] = None
    return list(found)


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
@click.option(
    "--load",
    "loads",
    type=_Load(),
    multiple=True,
    metavar="LOAD",
    help="Play the file at this load: its moments divided by it, or the load of `saturate`; may be repeated.",
)
@click.option(
    "--emulate",
    "windows",
    callback=_windows,
    multiple=True,
    metavar="FROM..TO",
    help="Play the table fleet, emulate the servers in this window (seconds) as well, and compare; may be repeated.",
)
@jobs_option
@dask.option
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
    loads: tuple[float, ...],
    windows: list[TimeWindow],
    awake: bool,
    jobs: int | None,
    cluster: str | None,
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

    Exit code 0, also where tasks find no server; 1: an expectation of the file fails; 2: by no policy any task found a
    server.
    """
    if (kind is None) != (written is None):
        raise click.UsageError("--import and -o go together: --import openb NODES.csv PODS.csv -o CLUSTER.yaml")
    others = {
        "--policy": names,
        "--fleet": wanted,
        "--load": loads,
        "--emulate": windows,
        "--jobs": jobs,
        "--cluster": cluster,
        "--no-sleep": awake,
        "--csv": folder,
        "--html": html,
    }
    if kind is not None and written is not None:
        _alone("--import", {**others, "--order": order, "--seed": seed})
        return _convert(kind, files, written, as_json)
    if order is not None:
        emulated = wanted == EmulatedFleet.name
        _alone("--order", {"--fleet emulated": emulated, "--csv": folder, "--html": html})
        _alone("--order", {"--load": loads, "--emulate": windows, "--cluster": cluster})
    if windows:
        _alone("--emulate", {"--fleet emulated": wanted == EmulatedFleet.name})
        wanted = TABLE
    if len(files) != 1:
        raise click.UsageError(f"found {len(files)} files; allowed is one cluster file")
    if exported is not None:
        _alone("--export", {**others, "--order": order, "--seed": seed, "--json": as_json})
        return _export(files[0], exported[1])
    console = terminal.beside(as_json, html=html)
    check_apart(files, html=html)
    must_be_writable(html)
    with explained():
        page = None if html is None else built()
        dask.check_options(cluster, jobs, ())
        policies = policies_named(names or (DEFAULT,))
        given = replace(load_cluster(files[0]), sleeps=not awake)
        file_hash = scenario_hash(read_text(files[0]))
        first = given.own_seed if seed is None else seed
        chosen, filling = range(first, first + seeds), given.saturation
        if chosen[-1] > _MOST_SEED:
            raise click.UsageError(f"--seeds: the last one would be {chosen[-1]:,}; allowed is up to {_MOST_SEED:,}")
        if filling is not None:
            if order is not None:
                raise click.UsageError("--order is for runs over time; this file has 'saturate'")
            if wanted == EmulatedFleet.name or awake:
                option = "--no-sleep" if awake else "--fleet emulated"
                raise click.UsageError(f"{option} is for runs over time; this file has 'saturate'")
            if windows:
                raise click.UsageError("--emulate is for runs over time; this file has 'saturate'")
            if loads and filling.arrivals is not None:
                raise click.UsageError("--load has no meaning with the 'arrivals' of this file; leave one of them out")
        elif order is not None:
            if seeds > 1:
                raise click.UsageError(f"--order with {seeds} seeds; allowed is one")
            _explain(files[0], given, policies, order, first, as_json)
            return 0
        else:
            check_timed(files[0], given)
        passed_over = left_over(given) if filling is None else None
        table = filling is not None or (wanted == TABLE and not windows)
        with RunPlayers(given, policies, jobs or processors(), cluster, table=table) as players:
            fleet, runs = play_runs(given, [*policies], chosen, [*dict.fromkeys(loads)] or [None], wanted, players)
            played = grouped(runs)
            beside = emulate_windows(runs, windows, players)
        compared = compare(given, played, first)
    expected = place_expect.answers(given, played)
    if folder is not None:
        _write(folder, by_load(played, compared.curves), by_load(played, compared.placements))
    what = headline(given, chosen, fleet, passed_over, [*played])
    if html is not None and page is not None:
        lines = [*missing(given, played), *place_expect.lines(expected), *place_windows.lines(beside)]
        write_page(html, in_one(page, about_runs(given, what, chosen, compared, lines), CLUSTER))
    if as_json:
        found = document(given, compared.figures, played, fleet, compared.of_run)
        found |= {} if passed_over is None else {"passed_over": passed_over}
        rtl = cells_library().rtl if fleet == EmulatedFleet.name or windows else None
        found |= {"hashes": {"cluster": file_hash, **(hashes(None, rtl) if rtl else {})}}
        found |= {"expect": [each.to_json() for each in expected]} if expected else {}
        found |= {"windows": place_windows.document(beside)} if beside else {}
        terminal.print_json("place", found)
    else:
        _head(given, what, console)
        show(compared.figures, played, console)
        for line in missing(given, played):
            console.print(escape(line), soft_wrap=True)
        place_windows.show(beside, console)
        place_expect.show(expected, console)
    if not any(_placed(run) for at in played.values() for runs in at.values() for run in runs.values()):
        click.echo("ringhil: no task found a server by any policy: nothing was played", err=True)
        return 2
    return int(any(each.ok is False for each in expected))


def _alone(option: str, others: Mapping[str, object]) -> None:
    """Raises UsageError for what would be passed over in silence."""
    for other, value in others.items():
        if value is not None and value is not False and value not in ((), []):
            raise click.UsageError(f"{other} has no meaning with {option}; leave it out")


def _placed(run: PlacementRun | Saturated) -> bool:
    """Whether any task found a server."""
    if isinstance(run, Saturated):
        return run.failed < len(run.arrivals)
    return any(each.began is not None for each in run.tasks.values())


def _convert(kind: str, files: Sequence[Path], written: Path, as_json: bool) -> int:
    if len(files) != _IMPORTS[kind]:
        allowed = "two, NODES.csv and PODS.csv" if kind == "openb" else "one"
        raise click.UsageError(f"--import {kind}: found {len(files)} files; allowed: {allowed}")
    list_file = written.parent / f"{written.stem}.pods.csv"
    check_apart(files, o=written)
    check_new("-o", written, *([] if kind == "openb" else [list_file]))
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
        terminal.print_json("place-import", {**counts, "left_out": dict(found.left_out) if found else {}})
    return 0


def _export(file: Path, written: Path) -> int:
    check_apart([file], export=written)
    with explained():
        text = kwok_nodes(load_cluster(file), file)
    with Output(written) as output:
        output.write(text)
    return 0


def _explain(
    file: Path, cluster: GpuCluster, policies: dict[str, type[PlacementPolicy]], task: str, seed: int, as_json: bool
) -> None:
    check_timed(file, cluster)
    if len(policies) > 1:
        raise click.UsageError(f"--order with {len(policies)} policies; allowed is one")
    if all(each.name != task or each.lasts is None for each in cluster.tasks):
        raise ScenarioError(str(file), None, None, f"--order: there is no task {task!r}; allowed are those of 'tasks'")
    ((name, policy),) = policies.items()
    decision = play(cluster, policy, seed, explain=task).decision
    if decision is None:
        raise ScenarioError(str(file), None, None, f"--order: {task!r} has not come before 'until'")
    if as_json:
        terminal.print_json("place-order", decision_json(task, name, decision))
    else:
        _show_explained(cluster, task, name, decision, seed)


def _show_explained(cluster: GpuCluster, task: str, name: str, decision: Decision, seed: int) -> None:
    console = terminal.output()
    _head(cluster, headline(cluster, [seed], TABLE), console)
    show_decision(task, name, decision, console)


def _head(cluster: GpuCluster, what: str, console: Console) -> None:
    console.print(f"[bold]{escape(cluster.name)}[/bold]  {what}")


def _write(folder: Path, curve: str, placed: str) -> None:
    with Output(folder / "curves.csv") as one, Output(folder / "placements.csv") as other:
        one.write(curve)
        other.write(placed)
