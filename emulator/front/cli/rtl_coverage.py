"""`ringhil rtl coverage`: one report of what tests of the RTL have exercised."""

from pathlib import Path
from typing import Any

import click

from ringhil.emulator.coverage import CoverageError, waivers
from ringhil.emulator.coverage.hdl import Tally
from ringhil.emulator.coverage.report import FORMATS, gather, write
from ringhil.emulator.coverage.result import CoverageReport, share
from ringhil.emulator.engine.library import RTL
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, json_option
from ringhil.emulator.pages.one_file import report_parts
from ringhil.emulator.pages.tables import print_table, table


@click.command("coverage")
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    type=FILE,
    multiple=True,
    help="Write a report to this file, *.html or *.md; may be repeated.",
)
@json_option
@click.option("--rtl", type=FILE, help="Directory of the sources, if the RTL isn't ours.")
@click.option(
    "--at-least",
    type=click.FloatRange(0, 1),
    default=0,
    metavar="SHARE",
    help="Fail when a smaller share of the lines, or of the combinations of a cross, was reached, 0 to 1.",
)
@click.option("--waivers", "waived", type=FILE, help="JSON file of points that can't be reached.")
def coverage(
    files: tuple[Path, ...],
    output: tuple[Path, ...],
    as_json: bool,
    rtl: Path | None,
    at_least: float,
    waived: Path | None,
) -> int:
    """Merge coverage: FILE is a coverage.dat of Verilator (*.dat) or functional coverage of a testbench (*.json).

    Our own RTL comes with its waivers; with --rtl there are none unless --waivers names them. Exit code 1: a
    combination was seen that is marked as impossible, or too little was reached (--at-least); 2: there is nothing of
    which anything could be reached.
    """
    with explained():
        for path in output:
            if path.suffix not in FORMATS:
                raise CoverageError(f"{path}: found {path.suffix!r}; allowed are {' and '.join(FORMATS)}")
            if path.suffix == ".html":
                report_parts()
        for option, value in (("--rtl", rtl), ("--waivers", waived)):
            if value is not None and all(path.suffix != ".dat" for path in files):
                raise CoverageError(f"{option} {value}: is for *.dat of Verilator; there is none among the files")
        report = gather(files, rtl or RTL, waived or (waivers.DEFAULT if rtl is None else None))
        for path in output:
            write(report, path)
    empty = [name for name, tally in report.totals if not tally.wanted] or ["coverage"] * (not report.totals)
    wrong = [line for name, _ in report.crosses for line in report.contradictions(name)]
    wrong += _too_little(report, at_least)
    verdict = "not judged" if empty else "fail" if wrong else "pass"
    if as_json:
        terminal.print_json("rtl-coverage", {"verdict": verdict, "at_least": at_least, **_document(report)})
    else:
        _show(report)
    for name in empty[:1]:
        of = f"of {rtl or RTL}" if report.totals else "in " + " and ".join(map(str, files))
        click.echo(f"ringhil: {name}: 0 of 0 were reached: nothing {of} was counted", err=True)
    for line in wrong:
        click.echo(line, err=True)
    return {"not judged": 2, "fail": 1, "pass": 0}[verdict]


def _too_little(report: CoverageReport, at_least: float) -> list[str]:
    """Lines and crosses of which a smaller share was reached. Missing toggles are mostly high bits."""
    return [
        f"{name}: {tally.reached:,} of {tally.wanted:,} were reached: --at-least asks for {100 * at_least:g} % of them"
        for name, tally in report.totals
        if name != "toggles" and tally.wanted and tally.reached < at_least * tally.wanted
    ]


def _show(report: CoverageReport) -> None:
    totals = table("", "reached", "of", "share", "left out", left=("",))
    for name, tally in report.totals:
        totals.add_row(name, f"{tally.reached:,}", f"{tally.wanted:,}", share(tally), f"{tally.waived:,}")
    console = terminal.output()
    print_table(console, totals)
    if report.hdl is None:
        return
    files = table("file", "lines", "of", "share", "toggles", "of", "share", left=("file",))
    for source in report.hdl.sources:
        lines, toggles = source.line_tally, source.toggle_tally
        counts = (f"{lines.reached:,}", f"{lines.wanted:,}", share(lines), f"{toggles.reached:,}")
        files.add_row(source.name, *counts, f"{toggles.wanted:,}", share(toggles))
    print_table(console, files)
    if report.hdl.absent:
        console.print(f"not built, or nothing to count: {', '.join(report.hdl.absent)}", soft_wrap=True)


def _document(report: CoverageReport) -> dict[str, Any]:
    """Numbers of the report; `left_out` are waived points and ignored combinations."""
    totals = {name: _numbers(tally) for name, tally in report.totals}
    if report.hdl is None:
        return {"totals": totals}
    files = {s.name: {"lines": _numbers(s.line_tally), "toggles": _numbers(s.toggle_tally)} for s in report.hdl.sources}
    waived = [
        {"file": w.file, "text": w.text, "toggles": w.signals or None, "points": points, "reason": w.reason}
        for w, points in report.hdl.waived
    ]
    hdl = {"files": files, "absent": list(report.hdl.absent), "outside": list(report.hdl.outside), "waived": waived}
    return {"totals": totals, **hdl}


def _numbers(tally: Tally) -> dict[str, int]:
    return {"reached": tally.reached, "of": tally.wanted, "left_out": tally.waived}
