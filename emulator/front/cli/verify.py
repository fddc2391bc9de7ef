"""`ringhil verify`: every scenario below some paths, one verdict each."""

import logging
import os
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from ringhil.emulator.campaign.verify import VerifyError, VerifyPlan, VerifyReport, discover, run_all
from ringhil.emulator.campaign.verify.annotations import github, summary, workspace
from ringhil.emulator.campaign.verify.discover import passed_over
from ringhil.emulator.campaign.verify.evidence import Evidence, Replay
from ringhil.emulator.campaign.verify.excused import idle, stale
from ringhil.emulator.campaign.verify.junit import place
from ringhil.emulator.campaign.verify.kept import KeptVerdicts
from ringhil.emulator.campaign.verify.last import keep_failed
from ringhil.emulator.campaign.verify.last import last_failed as ids_that_failed
from ringhil.emulator.campaign.verify.player import Player, listed, names
from ringhil.emulator.campaign.verify.report import Unplayed, told_of
from ringhil.emulator.campaign.verify.run import LIMIT
from ringhil.emulator.campaign.verify.selection import Selection, nothing
from ringhil.emulator.engine.library import RTL, cells_library
from ringhil.emulator.forks import processors
from ringhil.emulator.front.cli import dask, terminal
from ringhil.emulator.front.cli.boards import firmware_given, jobs_for, node_baud_option, node_option, nodes_given
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.known import known_of, known_options
from ringhil.emulator.front.cli.options import (
    FILE,
    Seconds,
    firmware_option,
    jobs_option,
    json_option,
    rtl_options,
    seed_option,
    shard_option,
)
from ringhil.emulator.front.cli.verify_compare import compare_command
from ringhil.emulator.front.cli.verify_reports import Reports, show
from ringhil.emulator.front.cli.written import Output, append, check_apart
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.pages.github import on_github
from ringhil.emulator.server.hashes import hashes

_log = logging.getLogger(__name__)
_GITLAB_FILE = Path("gl-code-quality-report.json")


class _Verify(click.Command):
    """`compare` in the place of a path is a command of its own; a folder so named is `./compare`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] == "compare":
            return compare_command.make_context(f"{info_name} compare", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("verify", cls=_Verify, epilog="`ringhil verify compare OLD.json NEW.json` shows what has changed.")
@click.argument("paths", type=FILE, nargs=-1, required=True, metavar="PATH...")
@jobs_option
@dask.option
@click.option(
    "--junit",
    type=FILE,
    metavar="FILE",
    help="Also write the verdicts as JUnit XML to this file.",
)
@json_option
@click.option(
    "--fail-fast", is_flag=True, help="Stop at the first variant that does not pass, in the order of the list."
)
@click.option(
    "--select",
    "select",
    multiple=True,
    metavar="TEXT",
    help="Play only variants with this in their name (* and ? match as in file names), or, with 'not TEXT', those "
    "without it; may be repeated.",
)
@click.option(
    "--last-failed",
    is_flag=True,
    help="Play only what did not pass when it was last played, as --out has kept it; all, if there is nothing.",
)
@click.option(
    "--keep",
    type=FILE,
    metavar="FILE",
    help="Keep verdicts in this file; what has passed there with the same file, RTL, firmware and ringhil isn't played "
    "again.",
)
@shard_option
@seed_option
@click.option(
    "--out",
    type=FILE,
    default=Path("ringhil-verify"),
    show_default=True,
    metavar="DIR",
    help="Directory for what is needed to play failing variants again; made only when one fails.",
)
@click.option("--waves", is_flag=True, help="Also leave waves in --out, of the time before each first failure.")
@click.option("--record", is_flag=True, help="Also leave recordings in --out, for `ringhil step`, and pages of them.")
@click.option(
    "--annotate",
    type=click.Choice(["auto", "github", "gitlab", "none"]),
    default="auto",
    show_default=True,
    help="Where to show failures beside the lines of files, also in --junit; auto: on GitHub only.",
)
@click.option(
    "--codequality",
    type=FILE,
    metavar="FILE",
    help=f"Write GitLab's code quality report to this file.  [with --annotate gitlab: {_GITLAB_FILE}]",
)
@known_options
@rtl_options
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
    last_failed: bool,
    keep: Path | None,
    shard: tuple[int, int],
    seed: int | None,
    out: Path,
    waves: bool,
    record: bool,
    annotate: str,
    codequality: Path | None,
    rtl: Path | None,
    top: str,
    known: Path | None,
    today: str | None,
    limit: float,
    firmware: tuple[str, ...],
    nodes: tuple[str, ...],
    node_baud: int,
    only_list: bool,
) -> int:
    """Play every scenario at and below the paths, with each variant of a sweep, and judge them all.

    Exit code 0: all passed; 1: one failed; 2: no scenario failed, but one could not be used or played; 130: it was
    interrupted (129, 143: by SIGHUP, SIGTERM), and the reports say what was played until then, and what wasn't.
    """
    results = terminal.beside(as_json, junit=junit, codequality=codequality)
    how = "github" if annotate == "auto" and on_github(os.environ) else annotate
    with explained():
        dask.check_options(cluster, jobs, firmware)
        if keep and last_failed:
            raise click.UsageError("--keep: --last-failed plays only what did not pass; leave one of them out")
        selection = Selection(select, *shard, _last(out) if last_failed else None)
        expected = known_of(known, today)
        if only_list:
            found = discover(paths)
            _leaves_out(selection, found)
            return _list(found, selection, as_json, passed_over(paths, found))
        if nodes and cluster:
            raise click.UsageError("--node: workers of a --cluster don't have that line; play on this machine")
        if nodes and jobs not in (None, 1):
            raise click.UsageError("--jobs: hardware outside takes part in one run at a time; leave it out")
        chosen = firmware_given(firmware, nodes)
        if keep and (nodes or chosen.boards):
            raise click.UsageError("--keep: what hardware outside does next time isn't known; leave it out")
        if record and (nodes or chosen.boards):
            raise click.UsageError(
                "--record: a board would have to play the failing run once more; `run --record` records it"
            )
        jobs = jobs_for(chosen, 1 if nodes else jobs)
        with ExitStack() as opened:
            name = codequality or (_GITLAB_FILE if annotate == "gitlab" else None)
            reports = Reports(opened, junit, name, places=how in ("github", "gitlab"))
            files: list[Path] = []
            keeps: Output | None = None
            try:
                files = discover(paths)
                _leaves_out(selection, files)
                _log.info("%d scenario files", len(files))
                outside = opened.enter_context(nodes_given(nodes, node_baud))
                replay = Replay(seed, None if rtl is None else (rtl, top), chosen, outside)
                evidence = Evidence.below(out, files, replay, version("ringhil"), waves=waves, record=record)
                kept = KeptVerdicts() if keep is None else KeptVerdicts.load(keep)
                reports.open((*files, *([] if known is None else [known]), *([] if keep is None else [keep])))
                check_apart((*files, known), keep=keep)
                keeps = None if keep is None else opened.enter_context(Output(keep, wait=False))
                with terminal.building() as progress:
                    library = cells_library(rtl or RTL, top=top, progress=progress)
                player = Player(files, library, selection, seed, replay, evidence)
                plan = VerifyPlan(player, jobs or processors(), fail_fast, version("ringhil"), limit, expected, kept)
                with terminal.counting("scenarios") as on_progress:
                    report = dask.verify(cluster, plan, on_progress) if cluster else run_all(plan, on_progress)
            except (KeyboardInterrupt, SystemExit) as stopped:  # before the first of them
                reports.open_early(files or paths)
                left = tuple(Unplayed(file, None) for file in files)
                report = VerifyReport((), "", version("ringhil"), 0.0, stopped, left)
            if not report.results and report.stopped is None:
                raise VerifyError(nothing(selection))
            passed = () if report.stopped else tuple(passed_over(paths, files))
            unmatched = () if report.stopped or fail_fast else selection.unmatched(report.results)
            passed = tuple(file for file in passed if not any(_same(file, mine) for mine in (known, keep) if mine))
            all_ = selection.everything and not fail_fast and report.stopped is None
            report = replace(
                report,
                passed_over=passed,
                unmatched=unmatched,
                why_unmatched=nothing(replace(selection, patterns=unmatched)) if unmatched else "",
                hashes=hashes(None, report.rtl or None, chosen),
                stale=stale(report, expected) if all_ else (),
                idle=idle(report, expected) if all_ else (),
            )
            try:
                if as_json:
                    terminal.print_json("verify", report.to_json())
                else:
                    show(report, results)
            finally:  # files are written also when the terminal, or who reads stdout, is gone
                reports.write(report)
                _annotate(report, how)
                keep_failed(out, report, all_=all_)
                if keeps is not None and report.whole:
                    keeps.write(kept.with_played(player, report))
    if report.stopped is not None:
        raise report.stopped
    errors = [v for v in report.results if v.state == VerdictWord.ERROR]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        terminal.say(f"ringhil: {place(errors[0], errors[0].failures[0])}{more}", err=True)
    elif report.unmatched:
        terminal.say(f"ringhil: {report.why_unmatched}", err=True)
    if any(v.no_page for v in report.results):
        from ringhil.emulator.view.alone import told_missing

        terminal.say(f"ringhil: {told_missing(v.no_page for v in report.results)}", err=True)
    return report.exit_code


def _list(files: Sequence[Path], selection: Selection, as_json: bool, passed: Sequence[Path]) -> int:
    names = listed(files, selection)
    if not names:
        raise VerifyError(nothing(selection))
    if as_json:
        terminal.print_json("verify-list", names)
    else:
        click.echo("\n".join(names))
    if passed:
        terminal.say(f"ringhil: {told_of(passed)}", err=True)
    return 0


def _last(out: Path) -> frozenset[str] | None:
    found = ids_that_failed(out)
    if not found:
        terminal.say(f"ringhil: --last-failed: nothing that has failed is kept in {out}: all is played", err=True)
    return found or None


def _leaves_out(selection: Selection, files: Sequence[Path]) -> None:
    """Raises VerifyError for a word that was to leave something out, and doesn't."""
    idle_words = selection.useless(names(files)) if selection.patterns else ()
    if idle_words:
        words = " ".join(f"--select {shlex.quote(word)}" for word in idle_words)
        raise VerifyError(f"{words}: nothing is left out by that; --list prints the names of all variants")


def _same(one: Path, other: Path) -> bool:
    return one.absolute() == other.absolute()


def _annotate(report: VerifyReport, how: str) -> None:
    """GitHub takes commands from either stream; ours go where they can't spoil a document."""
    if how == "github":
        for line in github(report, workspace(os.environ)):
            terminal.say(line, err=True)
        page = os.environ.get("GITHUB_STEP_SUMMARY")
        if page:
            append(Path(page), summary(report))
