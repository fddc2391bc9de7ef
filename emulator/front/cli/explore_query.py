"""`ringhil explore query` and `ringhil explore compare`: what campaigns have found."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.document import INCOMPLETE, document, row_json
from ringhil.emulator.campaign.explore.explorer import Explored
from ringhil.emulator.campaign.explore.failing import write_cases
from ringhil.emulator.campaign.explore.junit import junit as as_junit
from ringhil.emulator.campaign.explore.junit import too_few
from ringhil.emulator.campaign.explore.merge import merge
from ringhil.emulator.campaign.explore.query import ORDERS, Wanted, chosen, compare, find
from ringhil.emulator.campaign.explore.store import Store
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.explore_tables import show, show_campaigns, show_comparison, show_rows
from ringhil.emulator.front.cli.options import FILE, json_option
from ringhil.emulator.front.cli.written import Output, check_apart, refuse_in_junit, report_must_be_possible
from ringhil.emulator.judge.outcome import NOT_JUDGED, VerdictWord

_NUMBER = click.IntRange(min=1)
at_least_option = click.option(
    "--at-least",
    type=click.FloatRange(0, 1),
    default=0,
    metavar="SHARE",
    help="Fail when a smaller share of the cases has been played, 0 to 1, whatever came of them.",
)


@click.command("query")
@click.argument("store", type=FILE, metavar="STORE")
@click.option("--campaigns", is_flag=True, help="List the campaigns instead of cases.")
@click.option("--campaign", type=_NUMBER, metavar="N", help="Number of the campaign.  [default: the last]")
@click.option(
    "--class", "cls", metavar="TEXT", help="Show only cases of this class, such as dead (* matches as in file names)."
)
@click.option(
    "--place",
    metavar="TEXT",
    help="Show only cases with a fault at this place, such as a.3 (* matches as in file names).",
)
@click.option("--key", metavar="TEXT", help="Show only the case with this key (* matches as in file names).")
@click.option(
    "--verdict", type=click.Choice([word.value for word in VerdictWord]), help="Show only cases with this verdict."
)
@click.option(
    "--order", type=click.Choice(list(ORDERS)), default="number", show_default=True, help="Order of the cases."
)
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="Most cases shown.")
@click.option(
    "--out", type=FILE, metavar="DIR", help="Write the cases that are shown to this directory as scenario files."
)
@json_option
def query_command(
    store: Path,
    campaigns: bool,
    campaign: int | None,
    cls: str | None,
    place: str | None,
    key: str | None,
    verdict: str | None,
    order: str,
    limit: int,
    out: Path | None,
    as_json: bool,
) -> int:
    """Show the cases of a campaign."""
    with explained(), Store(_existing(store), read_only=True) as kept:
        known = kept.campaigns()
        if campaigns:
            listed = [{"campaign": n, "cases": len(kept.done(n)), **_campaign_json(c)} for n, c in known.items()]
            _print("explore-query", {"campaigns": listed}, as_json, lambda: show_campaigns(listed, terminal.output()))
            return 0
        number = chosen(kept, campaign)
        rows, more = find(kept, number, Wanted(cls, place, key, verdict, order, limit))
        files = [] if out is None else write_cases(out, known[number], rows, known[number].firmware)
        written = {case.row.key: str(case.file) for case in files}
    cases = [{**row_json(row), "file": written.get(row.key)} for row in rows]
    document = {"campaign": number, "name": known[number].name, "found": more, "cases": cases}
    _print("explore-query", document, as_json, lambda: show_rows(document, terminal.output()))
    return 0


@click.command("compare")
@click.argument("old", type=FILE, metavar="OLD")
@click.argument("new", type=FILE, metavar="NEW")
@click.option("--old-campaign", type=_NUMBER, metavar="N", help="Campaign in OLD.  [default: the last]")
@click.option("--new-campaign", type=_NUMBER, metavar="N", help="Campaign in NEW.  [default: the last]")
@click.option(
    "--tolerance",
    type=click.IntRange(0, 10**9),
    default=0,
    show_default=True,
    help="Cycles by which a recovery may take longer.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=20,
    show_default=True,
    help="Most cases shown of each kind of change.",
)
@json_option
def compare_command(
    old: Path, new: Path, old_campaign: int | None, new_campaign: int | None, tolerance: int, limit: int, as_json: bool
) -> int:
    """Show what has changed from one campaign to another; exit code 1: a case that passed doesn't pass any more.

    OLD and NEW are stores of `ringhil explore --store`. Both may be the same file, with the campaigns named.
    """
    with explained(), Store(_existing(old), read_only=True) as before, Store(_existing(new), read_only=True) as after:
        first, second = chosen(before, old_campaign), chosen(after, new_campaign)
        found = compare(before.rows(first), after.rows(second), tolerance=tolerance)
    document = {"old": {"store": str(old), "campaign": first}, "new": {"store": str(new), "campaign": second}}
    document |= found.to_json()
    _print("explore-compare", document, as_json, lambda: show_comparison(document, limit, terminal.output()))
    return 1 if found.worse else 0


@click.command("merge")
@click.argument("store", type=FILE, metavar="STORE")
@click.argument("parts", type=FILE, nargs=-1, required=True, metavar="PART...")
@click.option("--report", type=FILE, metavar="FILE.html", help="Write a report as an HTML page.")
@click.option("--junit", type=FILE, metavar="FILE", help="Write a test case for each class as JUnit XML.")
@at_least_option
@json_option
def merge_command(
    store: Path, parts: tuple[Path, ...], report: Path | None, junit: Path | None, at_least: float, as_json: bool
) -> int:
    """Put the last campaigns of PARTs, played with --shard on several machines, into STORE as one.

    They must be of one scenario, RTL, firmware, version, and have the same arguments. Exit code 1: a case has failed,
    or fewer have been played than --at-least asks for: 1 where no part may be missing.
    """
    results = terminal.beside(as_json, report=report, junit=junit)
    with explained(), ExitStack() as opened:
        check_apart((store, *parts), report=report, junit=junit)
        if any(store.absolute() == part.absolute() for part in parts):
            raise click.UsageError(f"{store}: it is read, and was to be written; name another store first")
        report_must_be_possible(report)
        xml = None if junit is None else opened.enter_context(Output(junit))
        for part in parts:
            _existing(part)
        with _left_only_whole(store), Store(store) as kept:
            number = merge(parts, kept)
            campaign = kept.campaigns()[number]
            done = len(kept.done(number))
            found = document(kept, Explored(number, sum(campaign.space.values()), done, 0, 0.0, None), ())
            if report is not None:
                from ringhil.emulator.campaign.explore.report_html import write_report  # only then

                write_report(kept, number, report)
        if xml is not None and found["verdict"] != NOT_JUDGED:
            xml.write(as_junit(found, at_least))
        _print("explore", found, as_json, lambda: show(found, results))
    return ended("ringhil explore merge", found, at_least, store, junit)


@contextmanager
def _left_only_whole(store: Path) -> Iterator[None]:
    """A store that is made is not left where nothing came of it."""
    there = store.exists()
    try:
        yield
    except BaseException:
        if not there:
            for end in ("", "-wal", "-shm"):
                store.with_name(store.name + end).unlink(missing_ok=True)
        raise


def ended(
    command: str, found: dict[str, Any], at_least: float, of: Path, junit: Path | None, why_none: str = ""
) -> int:
    """The exit code of a campaign that was shown; `of` which, and `why_none` of its cases was played."""
    if found["verdict"] == NOT_JUDGED:
        text = f"{of}: no case was played{why_none}"
        terminal.say(f"ringhil: {text}", err=True)
        if junit is not None:
            refuse_in_junit(junit, command, text)
        return 2
    if too_few(found, at_least):
        wanted = f"--at-least asks for {100 * at_least:g} % of them"
        terminal.say(f"ringhil: {of}: {found['done']:,} of {found['cases']:,} cases: {wanted}", err=True)
        return 1
    return 0 if found["verdict"] in (VerdictWord.PASS, INCOMPLETE) else 1


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ExploreError(f"{path}: no such file; name a store that `ringhil explore --store` has made")
    return path


def _campaign_json(campaign: Any) -> dict[str, Any]:
    names = ("name", "scenario_hash", "rtl", "version", "seed", "arguments", "space", "hashes")
    return {name: getattr(campaign, name) for name in names}


def _print(schema: str, document: dict[str, Any], as_json: bool, table: Any) -> None:
    if as_json:
        terminal.print_json(schema, document)
    else:
        table()
