"""`ringhil explore`: campaigns of faults, from one warm state of a server."""

import logging
import re
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.document import document
from ringhil.emulator.campaign.explore.explorer import Conditions, Explored, explore
from ringhil.emulator.campaign.explore.failing import (
    Failing,
    record_failing,
    shrink_failing,
    since_when,
    write_cases,
)
from ringhil.emulator.campaign.explore.junit import junit
from ringhil.emulator.campaign.explore.plan import DEPTHS, MOST_WINDOW, PARTS, Plan
from ringhil.emulator.campaign.explore.sorts import main_failures
from ringhil.emulator.campaign.explore.store import Store
from ringhil.emulator.engine.library import RTL, Library, cells_library
from ringhil.emulator.forks import processors
from ringhil.emulator.front.cli import dask, terminal
from ringhil.emulator.front.cli.boards import boards_again, firmware_given, jobs_for
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.explore_query import (
    at_least_option,
    compare_command,
    ended,
    merge_command,
    query_command,
)
from ringhil.emulator.front.cli.explore_tables import errors, show
from ringhil.emulator.front.cli.known import known_of, known_options
from ringhil.emulator.front.cli.options import (
    FILE,
    Seconds,
    firmware_option,
    jobs_option,
    json_option,
    rtl_options,
    shard_option,
)
from ringhil.emulator.front.cli.written import Output, check_apart, report_must_be_possible
from ringhil.emulator.judge.outcome import NOT_JUDGED
from ringhil.emulator.scenario import FAULTS, Scenario, load
from ringhil.emulator.server.firmware_choice import FirmwareChoice

SUBCOMMANDS = {"query": query_command, "compare": compare_command, "merge": merge_command}
_log = logging.getLogger(__name__)


class _Explore(click.Command):
    """`query`, `compare` and `merge` in the place of a file are commands of their own; a file so named is `./query`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in SUBCOMMANDS:
            return SUBCOMMANDS[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


def _words(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in value.split(",") if word.strip()) if value else ()


def _phases(context: click.Context, option: click.Parameter, value: str) -> int | None:
    if value == "all":
        return None
    if re.fullmatch(r"[1-9][0-9]{0,6}", value):
        return int(value)
    raise click.BadParameter(f"found {value!r}; allowed is a number from 1, or 'all'", context, option)


def _lasts(context: click.Context, option: click.Parameter, value: str | None) -> tuple[int | None, ...] | None:
    if value is None:
        return None
    found: list[int | None] = []
    for word in _words(context, option, value):
        if word != "left" and not re.fullmatch(r"[1-9][0-9]{0,8}", word):
            raise click.BadParameter(f"found {word!r}; allowed are cycles from 1, and 'left'", context, option)
        found.append(None if word == "left" else int(word))
    return tuple(dict.fromkeys(found))


@click.command(
    "explore",
    cls=_Explore,
    epilog="`ringhil explore query STORE` shows the results; `ringhil explore compare OLD NEW` shows what has changed; "
    "`ringhil explore merge STORE PART...` puts the shards of several machines together.",
)
@click.argument("server", type=FILE, metavar="SERVER.yaml")
@click.option("--faults", callback=_words, metavar="KIND,...", help="Inject only these kinds of fault.")
@click.option(
    "--places", callback=_words, metavar="PLACE,...", help="Inject only at these GPUs and links: a.3, a.*, a.3-a.4."
)
@click.option(
    "--depth",
    type=int,
    default=1,
    show_default=True,
    help="Most faults in a case. 1: single faults; 2: also pairs; from 3: also random schedules.",
)
@click.option("--parts", callback=_words, metavar="PART,...", help=f"Play only these of {', '.join(PARTS)}.")
@click.option(
    "--phases",
    default="8",
    show_default=True,
    callback=_phases,
    help="Phases of a census round at which single faults strike: a number, evenly spread, or 'all'.",
)
@click.option(
    "--pair-phases",
    default="1",
    show_default=True,
    callback=_phases,
    help="Phases of a census round at which pairs strike.",
)
@click.option(
    "--lasts",
    callback=_lasts,
    metavar="CYCLES,...",
    help="Cycles after which a fault is cleared; left: never.  [default: left, 2 census periods]",
)
@click.option(
    "--pairs",
    type=click.Choice(["together", "apart", "both"]),
    default="both",
    show_default=True,
    help="Whether the two faults of a pair strike in the same cycle.",
)
@click.option(
    "--gap",
    type=click.IntRange(1, 10**9),
    default=100,
    show_default=True,
    help="Cycles between the two faults of a pair, with --pairs apart or both.",
)
@click.option(
    "--random",
    "drawn",
    type=int,
    default=1000,
    show_default=True,
    help="Number of random schedules, with --depth 3 or more.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True, help="Seed of the random schedules."
)
@click.option(
    "--after", type=click.IntRange(0, 10**12), default=0, metavar="CYCLE", help="Inject no fault before this cycle."
)
@click.option(
    "--window",
    type=click.IntRange(1, MOST_WINDOW),
    metavar="CYCLES",
    help="Spread the phases over this many cycles instead of a census round.",
)
@click.option(
    "--rounds",
    type=click.IntRange(0, 1000),
    default=1,
    show_default=True,
    help="Census rounds that are played after a case has been judged.",
)
@click.option("--whole", is_flag=True, help="Play each case to its end, as `run` does, instead.")
@click.option("--number", type=click.IntRange(min=1), help="Stop after this many cases.")
@click.option("--time", "seconds", type=Seconds(0), metavar="SECONDS", help="Stop after this many seconds.")
@at_least_option
@click.option(
    "--limit",
    type=Seconds(0.1, 86400),
    default=120.0,
    show_default=True,
    help="Longest time for a case, in seconds.",
)
@jobs_option
@dask.option
@shard_option
@click.option(
    "--store", type=FILE, metavar="FILE.sqlite", help="Keep the results in this file; the same command continues there."
)
@click.option("--resume/--fresh", default=True, help="Continue the campaign in --store, or begin it again.")
@rtl_options
@firmware_option
@click.option("--node", "nodes", multiple=True, hidden=True)  # to say why there is none
@known_options
@click.option("--report", type=FILE, metavar="FILE.html", help="Write a report as an HTML page.")
@click.option("--junit", type=FILE, metavar="FILE", help="Write a test case for each class as JUnit XML.")
@click.option("--out", type=FILE, metavar="DIR", help="Write failing cases to this directory as scenario files.")
@click.option("--record", is_flag=True, help="With --out: also leave a recording of each failing case, and a page.")
@click.option(
    "--doomed", is_flag=True, help="With --record: say since when one case of each kind of failure was to fail."
)
@click.option(
    "--shrink/--no-shrink",
    default=True,
    show_default=True,
    help="With --out: minimise one case of each kind of failure.",
)
@json_option
def command(**options: Any) -> int:
    """Inject every fault at every place and phase of a census round, and judge what follows.

    Every case starts from the same warm state: the server has settled, and a census round begins. The file's own
    timeline and expectations are left out.
    """
    results = terminal.beside(options["as_json"], report=options["report"], junit=options["junit"])
    with explained(), ExitStack() as opened:
        where = options["cluster"]
        if options["nodes"]:
            why = "a board would have to be clocked to the warm state anew for each case"
            raise click.UsageError(f"--node: {why}; verify --node plays those that --out writes")
        dask.check_options(where, options["jobs"], options["firmware"])
        chosen = firmware_given(options["firmware"])
        if options["record"] and options["out"] is None:
            raise click.UsageError("--record: wanted is --out DIR, beside whose files the recordings are left")
        if options["doomed"] and not options["record"]:
            raise click.UsageError("--doomed: wanted is --record, whose recordings are gone on from")
        if options["record"] and chosen.boards:
            raise click.UsageError(
                "--record: a board would have to play the failing run once more; `run --record` records it"
            )
        jobs, firmware = jobs_for(chosen, options["jobs"]), boards_again(chosen)
        _writable(options["report"], options["out"])
        scenario = load(options["server"])
        plan = _plan(scenario, options)
        check_apart((options["server"], options["store"]), report=options["report"], junit=options["junit"])
        expected = known_of(options["known"], options["today"])
        check_apart((options["known"],), report=options["report"], junit=options["junit"])
        xml = None if options["junit"] is None else opened.enter_context(Output(options["junit"]))
        conditions = Conditions(
            jobs=jobs or processors(),
            seconds=options["seconds"],
            number=options["number"],
            limit=options["limit"],
            after=options["after"],
            shard=options["shard"],
            rounds=None if options["whole"] else options["rounds"],
            fresh=not options["resume"],
            firmware=firmware,
        )
        with Store(options["store"] or ":memory:") as store:
            with terminal.building() as progress:
                library = cells_library(options["rtl"] or RTL, top=options["top"], progress=progress)
            with terminal.counting("cases") as on_progress:
                _log.info("exploring %s with %s", options["server"], where or f"{conditions.jobs} processes")
                players = None
                if where is not None:
                    players = dask.explorers(where, conditions, library, options["rtl"], options["top"])
                found = explore(scenario, library, plan, store, conditions, on_progress, players)
                _log.info("played %d cases in %.1f s", found.played, found.seconds)
            failing = _failing(store, found.campaign, library, options, firmware)
            result = document(store, found, failing, expected, options["server"].as_posix())
            if options["report"] is not None:
                _report(store, found.campaign, options["report"], failing, result)
            if xml is not None and result["verdict"] != NOT_JUDGED:
                xml.write(junit(result, options["at_least"]))
            if options["as_json"]:
                terminal.print_json("explore", result)
            else:
                show(result, results)
            terminal.annotate(lambda: errors(result, options["server"].as_posix()), "ways to fail")
    return ended("ringhil explore", result, options["at_least"], options["server"], options["junit"], _why_none(found))


def _why_none(found: Explored) -> str:
    if not found.cases:
        return ": there is none in this part of the space; --faults, --places, --parts and --shard say which are"
    return ": --time was over before the first" if found.stopped == "time" else ""


def _plan(scenario: Scenario, options: dict[str, Any]) -> Plan:
    plan = Plan(
        kinds=options["faults"] or tuple(FAULTS),
        places=options["places"],
        depth=options["depth"],
        parts=options["parts"] or PARTS,
        phases=options["phases"],
        pair_phases=options["pair_phases"],
        lasts=options["lasts"] or (None, 2 * scenario.server.settings.census_period),
        pairs=options["pairs"],
        gap=options["gap"],
        random=options["drawn"],
        seed=options["seed"],
        window=options["window"],
    )
    least = min(DEPTHS[part] for part in plan.parts)
    if plan.depth < least:  # nothing but the case without a fault would be played, and pass
        raise ExploreError(f"--parts: {', '.join(plan.parts)} with --depth {plan.depth}; it has to be {least} or more")
    return plan


def _failing(
    store: Store, campaign: int, library: Library, options: dict[str, Any], firmware: FirmwareChoice
) -> list[Failing]:
    folder = options["out"]
    if folder is None:
        return []
    kept = store.campaigns()[campaign]
    rtl = options["rtl"]
    replay = "" if rtl is None else f" --rtl {shlex.quote(str(rtl))} --top {shlex.quote(options['top'])}"
    replay += "".join(f" --firmware {shlex.quote(text)}" for text in firmware.given)
    failing = write_cases(folder, kept, main_failures(store, campaign), replay)
    if options["record"]:
        with terminal.working("recording") as progress:
            failing = record_failing(kept, failing, library, options["limit"], progress, firmware)
        from ringhil.emulator.view.alone import told_missing

        if (missing := told_missing(case.no_page for case in failing)) is not None:
            terminal.say(f"ringhil: {missing}", err=True)
    if options["doomed"]:
        with terminal.working("asking since when") as progress:
            failing = since_when(failing, library, progress, firmware)
    if not options["shrink"]:
        return failing
    with terminal.working("making small") as progress:
        return shrink_failing(folder, kept, failing, library, options["limit"], progress, firmware)


def _writable(report: Path | None, out: Path | None) -> None:
    """Said before hours are spent on what they are to show."""
    report_must_be_possible(report)
    if out is not None and out.exists() and not out.is_dir():
        raise ExploreError(f"{out}: cannot be written: it is no folder; name one for failing cases")


def _report(store: Store, campaign: int, path: Path, failing: list[Failing], result: dict[str, Any]) -> None:
    # Loaded when it is asked for.
    from ringhil.emulator.campaign.explore.report_html import write_report

    write_report(store, campaign, path, failing, result)
