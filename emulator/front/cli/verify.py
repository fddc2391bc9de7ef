"""`ringhil verify`: every scenario below some paths, one verdict each."""

import json
import logging
import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

import click

from ringhil.emulator.build.node_rtl import NODE
from ringhil.emulator.campaign.verify import VerifyError, VerifyPlan, VerifyReport, discover, run_all
from ringhil.emulator.campaign.verify.annotations import github, summary, workspace
from ringhil.emulator.campaign.verify.evidence import Evidence
from ringhil.emulator.campaign.verify.junit import place
from ringhil.emulator.campaign.verify.listing import listed
from ringhil.emulator.campaign.verify.outputs import append
from ringhil.emulator.campaign.verify.player import Player
from ringhil.emulator.campaign.verify.replay import Replay
from ringhil.emulator.campaign.verify.report import Unplayed
from ringhil.emulator.campaign.verify.run import LIMIT
from ringhil.emulator.campaign.verify.selection import Selection, nothing
from ringhil.emulator.campaign.verify.show import show
from ringhil.emulator.engine.library import RTL, cells_library
from ringhil.emulator.front.cli import dask, terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.firmware_option import jobs_for
from ringhil.emulator.front.cli.firmware_option import option as firmware_option
from ringhil.emulator.front.cli.node import baud as node_baud_option
from ringhil.emulator.front.cli.node import option as node_option
from ringhil.emulator.front.cli.seconds import Seconds
from ringhil.emulator.front.cli.verify_reports import Reports
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.loop.nodes import OpenNodes, check_lines

_log = logging.getLogger(__name__)
_GITLAB_FILE = Path("gl-code-quality-report.json")


def _shard(context: click.Context, option: click.Parameter, value: str) -> tuple[int, int]:
    """`2/4` as (2, 4)."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", value)
    shard, shards = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= shard <= shards:
        raise click.BadParameter(f"found {value!r}; allowed is K/N with K from 1 to N, such as 2/4", context, option)
    return shard, shards


@click.command("verify")
@click.argument("paths", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--jobs", "-j", type=click.IntRange(1, 256), help="Number of processes.  [default: one for each processor]"
)
@dask.option
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write JUnit XML.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
@click.option(
    "--fail-fast", is_flag=True, help="Stop at the first variant that does not pass, in the order of the list."
)
@click.option(
    "--select",
    "select",
    multiple=True,
    metavar="TEXT",
    help="Only variants with this in their name (* and ?: as in file names); may be repeated.",
)
@click.option(
    "--shard", default="1/1", callback=_shard, metavar="K/N", help="Play the K-th of N parts, for N machines."
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Use another seed than the files'.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("ringhil-verify"),
    show_default=True,
    metavar="DIR",
    help="Leave what is needed to play a failing variant again there; made only then.",
)
@click.option("--waves", is_flag=True, help="Also leave waves of the time before each first failure there.")
@click.option(
    "--record", is_flag=True, help="Also leave a recording of each there, for `ringhil step` and `ringhil replay`."
)
@click.option(
    "--annotate",
    type=click.Choice(["auto", "github", "gitlab", "none"]),
    default="auto",
    show_default=True,
    help="Show failures beside lines of files, also by --junit; auto: on GitHub.",
)
@click.option(
    "--codequality",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Write GitLab's report there.  [with --annotate gitlab: {_GITLAB_FILE}]",
)
@click.option(
    "--rtl", type=click.Path(path_type=Path), metavar="DIR", help="Run the RTL of this directory instead of ours."
)
@click.option("--top", default=NODE, show_default=True, metavar="MODULE", help="The node in that directory.")
@click.option(
    "--limit",
    type=Seconds(0.1, 86400),
    default=LIMIT,
    show_default=True,
    metavar="SECONDS",
    help="Longest time for a variant; one that takes longer is an error.",
)
@firmware_option
@node_option
@node_baud_option
@click.option("--list", "only_list", is_flag=True, help="Print the names of what would be played, and end.")
def command(
    paths: tuple[Path, ...],
    jobs: int | None,
    cluster: str | None,
    junit: Path | None,
    as_json: bool,
    fail_fast: bool,
    select: tuple[str, ...],
    shard: tuple[int, int],
    seed: int | None,
    out: Path,
    waves: bool,
    record: bool,
    annotate: str,
    codequality: Path | None,
    rtl: Path | None,
    top: str,
    limit: float,
    firmware: tuple[str, ...],
    nodes: tuple[str, ...],
    node_baud: int,
    only_list: bool,
) -> int:
    """Play every scenario at and below the paths, each variant of a sweep, and judge them all.

    Exit code 0: all passed; 1: one failed; 2: no scenario failed, but one could not be used or played; 130: it was
    interrupted (129, 143: by SIGHUP, SIGTERM), and the reports say what was played until then, and what wasn't.
    """
    results = terminal.beside(as_json, junit=junit, codequality=codequality)
    how = "github" if annotate == "auto" and _on_github() else annotate
    with explained():
        dask.check_options(cluster, jobs, firmware)
        selection = Selection(select, *shard)
        if only_list:
            return _list(discover(paths), selection, as_json)
        if nodes and cluster:
            raise click.UsageError("--node: workers of a --cluster don't have that line; play on this machine")
        if nodes and jobs not in (None, 1):
            raise click.UsageError("--jobs: hardware outside takes part in one run at a time; leave it out")
        check_lines(nodes, firmware)
        chosen = firmware_of(firmware)
        if record and (nodes or chosen.boards):
            raise click.UsageError(
                "--record: a board would have to play the failing run once more; `run --record` records it"
            )
        jobs = jobs_for(chosen, 1 if nodes else jobs)
        with ExitStack() as opened:
            name = codequality or (_GITLAB_FILE if annotate == "gitlab" else None)
            reports = Reports(opened, junit, name, places=how in ("github", "gitlab"))
            files: list[Path] = []
            try:
                files = discover(paths)
                _log.info("%d scenario files", len(files))
                outside = opened.enter_context(OpenNodes(nodes, baud=node_baud)).choice
                replay = Replay(seed, None if rtl is None else (rtl, top), chosen, outside)
                evidence = Evidence.below(out, files, replay, version("ringhil"), waves=waves, record=record)
                reports.open(files)
                with terminal.building() as progress:
                    library = cells_library(rtl or RTL, top=top, progress=progress)
                player = Player(files, library, selection, seed, replay, evidence)
                plan = VerifyPlan(player, jobs or _processors(), fail_fast, version("ringhil"), limit)
                with terminal.counting("scenarios") as on_progress:
                    report = dask.verify(cluster, plan, on_progress) if cluster else run_all(plan, on_progress)
            except (KeyboardInterrupt, SystemExit) as stopped:  # before the first of them
                reports.open_early(files or paths)
                left = tuple(Unplayed(file, None) for file in files)
                report = VerifyReport((), "", version("ringhil"), 0.0, stopped, left)
            if not report.results and report.stopped is None:
                raise VerifyError(nothing(selection))
            try:
                if as_json:
                    click.echo(json.dumps(report.to_json()))
                else:
                    show(report, results)
            finally:  # files are written also when the terminal, or who reads stdout, is gone
                reports.write(report)
                _annotate(report, how)
    if report.stopped is not None:
        raise report.stopped
    errors = [v for v in report.results if v.state == VerdictWord.ERROR]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        terminal.say(f"ringhil: {place(errors[0], errors[0].failures[0])}{more}", err=True)
    return report.exit_code


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _list(files: Sequence[Path], selection: Selection, as_json: bool) -> int:
    names = listed(files, selection)
    if not names:
        raise VerifyError(nothing(selection))
    click.echo(json.dumps(names) if as_json else "\n".join(names))
    return 0


def _on_github() -> bool:
    return os.environ.get("GITHUB_ACTIONS", "").lower() not in ("", "0", "false")


def _annotate(report: VerifyReport, how: str) -> None:
    """GitHub takes commands from either stream; ours go where they can't spoil a document."""
    if how == "github":
        for line in github(report, workspace(os.environ)):
            terminal.say(line, err=True)
        page = os.environ.get("GITHUB_STEP_SUMMARY")
        if page:
            append(Path(page), summary(report))
