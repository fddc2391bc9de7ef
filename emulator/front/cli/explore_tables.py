"""What campaigns have found, for people."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ringhil.emulator.campaign.explore.summary import rate_bound
from ringhil.emulator.judge.known import WAS_KNOWN
from ringhil.emulator.pages.github import error
from ringhil.emulator.pages.tables import print_table, table
from ringhil.emulator.pages.verdicts import marked, ok

_MOST_SHOWN = 10  # failing cases
_LONGEST = 40  # characters of a case's key in a table
_MOST_CLASSES = 30  # of more than one fault


def show(document: dict[str, Any], console: Console) -> None:
    """The summary of a campaign."""
    d = document
    console.print(f"[bold]{escape(d['name'])}[/bold]  campaign {d['campaign']}, seed {d['seed']}")
    print_table(console, _classes(d, console))
    parts = ", ".join(f"{size:,} {part}" for part, size in d["space"].items())
    console.print(f"space: {parts}; covered {d['done']:,} of {d['cases']:,} cases ({100 * d['covered']:.4g} %)")
    console.print(_run(d["run"]))
    failed = d["total"]["failed"] + d["total"]["errors"]
    if failed:
        _failures(d, failed, console)
    else:
        console.print(_meaning(d["total"]))
    for text in d["stale"]:
        console.print(f"{ok(False)} {escape(text)}", soft_wrap=True)
    so_far = f": {d['done']:,} of {d['cases']:,} cases were played" if d["done"] < d["cases"] else ""
    console.print(f"verdict: {marked(d['verdict'])}{so_far}", soft_wrap=True)


def errors(document: dict[str, Any], file: str) -> list[str]:
    """Each way to fail that isn't known, for GitHub's page: beside the scenario of the campaign."""
    cases, title = {case["key"]: case for case in document["failing"]}, "ringhil explore"
    found = [error(title, text, file=file, line=1) for text in document["stale"]]
    for way in document["sorts"]:
        if not way["known"]:
            case = cases[way["first"]]
            told = [f"{way['cases']:,} x {way['sort']}", case["key"], *case["failures"][:1]]
            told += [f"{WAS_KNOWN}: {way['over']}"] if way["over"] else []
            told += [f"{word}: {case[word]}" for word in ("replay", "smallest") if case[word]]
            found.append(error(title, "\n".join(told), file=file, line=1))
    return found


def _failures(document: dict[str, Any], failed: int, console: Console) -> None:
    """Each way to fail, with a case of it: what lasts comes first."""
    ways, cases = document["sorts"], {case["key"]: case for case in document["failing"]}
    console.print(f"{failed:,} failed, in {len(ways):,} way{'s' * (len(ways) != 1)}:")
    for one in ways[:_MOST_SHOWN]:
        count = marked("failed", f"{one['cases']:,} x")
        console.print(f"{count} {escape(one['sort'])}", soft_wrap=True)
        if one["known"]:
            console.print(f"  known to fail: {escape(one['known'])}", soft_wrap=True)
        if one["over"]:
            console.print(f"  {WAS_KNOWN}: {escape(one['over'])}", soft_wrap=True)
        case = cases[one["first"]]
        console.print(f"  {case['verdict']}: {escape(case['key'])}", soft_wrap=True)
        for text in case["failures"][:3]:
            console.print(f"  {escape(text)}", soft_wrap=True)
        if case["replay"]:
            console.print(f"  replay: {escape(case['replay'])}", soft_wrap=True)
        if case["step"]:
            console.print(f"  recorded: {escape(case['step'])}", soft_wrap=True)
        if case["doomed"]:
            from ringhil.emulator.debug.commands import turns  # loads all that stepping needs

            for text in turns(case["doomed"]):
                console.print(f"  {escape(text)}", soft_wrap=True)
        if case["page"]:
            console.print(f"  page: {escape(case['page'])}", soft_wrap=True)
        if case["smallest"]:
            console.print(f"  smallest: {escape(case['smallest'])}", soft_wrap=True)
    if len(ways) > _MOST_SHOWN:
        console.print(f"and {len(ways) - _MOST_SHOWN:,} more ways; --json has them all")
    if failed > len(ways[:_MOST_SHOWN]):
        console.print("--store keeps all cases, `ringhil explore query` shows them")


def _classes(document: dict[str, Any], console: Console) -> Table:
    found = table(
        "class",
        "cases",
        "detected",
        "located",
        "recovered",
        "worst",
        "bound",
        "transits",
        "where",
        "failed",
        "rate below",
        left=("class", "where"),
    )
    classes = sorted(document["classes"], key=lambda c: not (c["failed"] or c["errors"]))
    shown = [c for c in classes if c["depth"] <= 1]
    several = [c for c in classes if c["depth"] > 1]
    bad = [c for c in several if c["failed"] or c["errors"]]
    shown += several if len(several) <= _MOST_CLASSES else bad[:_MOST_CLASSES]
    for c in (*shown, {**document["total"], "class": "all"}):
        failed = c["failed"] + c["errors"]
        bound, worst = c["failure_rate_bound"], c["worst"] or "-"
        found.add_row(
            escape(c["class"]),
            f"{c['cases']:,}",
            *(_of(c[done], c[wanted]) for done, wanted in _COUNTS),
            _number(c["recovery"]),
            _number(c["bound"]),
            "-" if c["transits"] is None else f"{c['transits']:g}",
            escape(_short(worst) if console.is_terminal else worst),
            marked("failed", f"{failed:,}") if failed else "0",
            "-" if bound is None else f"{100 * bound:.3g} %",
        )
    if len(several) > _MOST_CLASSES:
        found.caption = f"{len(several):,} classes of several faults are in 'all'; only those with failures have a line"
        found.caption_justify = "left"
    return found


_COUNTS = (("detected", "to_detect"), ("located", "to_locate"), ("recovered", "to_recover"))


def _of(done: int, wanted: int) -> str:
    return f"{done:,}/{wanted:,}" if wanted else "-"


def _short(text: str, longest: int = _LONGEST) -> str:
    """What is cut ends in a mark; --json has it whole."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _run(run: dict[str, Any]) -> str:
    before = f", {run['already_done']:,} were done" if run["already_done"] else ""
    rate = "" if run["plays_per_second"] is None else f", {run['plays_per_second']:,} a second"
    stopped = {"time": "; stopped by --time", "number": "; stopped by --number", None: ""}[run["stopped"]]
    return f"played {run['played']:,} in {run['seconds']:,.1f} s{rate}{before}{stopped}"


def _meaning(total: dict[str, Any]) -> str:
    rate = rate_bound(total["cases"])
    if rate is None:
        return "no case was played"
    return (
        f"none of {total['cases']:,} failed: were they drawn at random, fewer than {100 * rate:.3g} % of all such "
        "schedules would fail, with 95 % confidence"
    )


def show_campaigns(campaigns: Sequence[dict[str, Any]], console: Console) -> None:
    """The campaigns of a store."""
    shown = table("campaign", "name", "seed", "results", "space", "version", "RTL", left=("name", "version", "RTL"))
    for c in campaigns:
        size = sum(c["space"].values())
        row = (str(c["campaign"]), escape(c["name"]), str(c["seed"]), f"{c['cases']:,}", f"{size:,}", c["version"])
        shown.add_row(*row, _short(c["rtl"], 20))
    print_table(console, shown)


def show_rows(document: dict[str, Any], console: Console) -> None:
    """Cases of a campaign."""
    shown = table(
        "case", "key", "verdict", "detected after", "recovered after", "bound", "transits", left=("key", "verdict")
    )
    for case in document["cases"]:
        verdict = marked(case["verdict"])
        transits = "-" if case["transits"] is None else f"{case['transits']:g}"
        times = (_number(case[name]) for name in ("detection", "recovery", "bound"))
        shown.add_row(str(case["number"]), escape(case["key"]), verdict, *times, transits)
    print_table(console, shown)
    for case in document["cases"]:
        for text in case["failures"][:3]:
            console.print(f"{case['number']}: {escape(text)}", soft_wrap=True)
        if case["file"]:
            console.print(f"{case['number']}: ringhil run {escape(case['file'])}", soft_wrap=True)
    console.print(f"{len(document['cases']):,} of {document['found']:,} cases of campaign {document['campaign']}")


def show_comparison(document: dict[str, Any], limit: int, console: Console) -> None:
    """What changed."""
    d = document
    for name, title in (
        ("worse", "passed before, and doesn't now"),
        ("better", "passes now"),
        ("other", "fails otherwise"),
    ):
        _changes(d[name], title, limit, console)
    _changes(d["slower"], "recovers later (cycles)", limit, console)
    for name in ("old", "new"):
        only = d[f"only_{name}"]
        if only:
            console.print(
                f"only in {escape(d[name]['store'])}: {len(only):,} cases, such as {escape(only[0])}", soft_wrap=True
            )
    console.print(
        f"{d['both']:,} cases in both: {len(d['worse']):,} worse, {len(d['better']):,} better, "
        f"{len(d['other']):,} fail otherwise; {len(d['slower']):,} recover later, {d['faster']:,} sooner"
    )


def _changes(changes: Sequence[dict[str, Any]], title: str, limit: int, console: Console) -> None:
    if not changes:
        return
    console.print(f"[bold]{title}: {len(changes):,}[/bold]")
    for change in changes[:limit]:
        console.print(f"  {escape(change['key'])}: {change['old']} -> {change['new']}", soft_wrap=True)
