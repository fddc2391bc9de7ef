"""`ringhil rtl coverage`: one report of what tests of the RTL have exercised."""

import json
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
from ringhil.emulator.front.cli.options import json_option
from ringhil.emulator.pages.tables import print_table, table


@click.command("coverage")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Write a report to this file, *.html or *.md; may be repeated.",
)
@json_option
@click.option("--rtl", type=click.Path(path_type=Path), help="Directory of the sources, if the RTL isn't ours.")
@click.option("--waivers", "waived", type=click.Path(path_type=Path), help="JSON file of points that can't be reached.")
def coverage(
    files: tuple[Path, ...], output: tuple[Path, ...], as_json: bool, rtl: Path | None, waived: Path | None
) -> int:
    """Merge coverage: FILE is a coverage.dat of Verilator (*.dat) or functional coverage of a testbench (*.json).

    Our own RTL comes with its waivers; with --rtl there are none unless --waivers names them. Exit code 1: a
    combination was seen that is marked as impossible.
    """
    with explained():
        for path in output:
            if path.suffix not in FORMATS:
                raise CoverageError(f"{path}: found {path.suffix!r}; allowed are {' and '.join(FORMATS)}")
        report = gather(files, rtl or RTL, waived or (waivers.DEFAULT if rtl is None else None))
        for path in output:
            write(report, path)
    if as_json:
        click.echo(json.dumps(_document(report)))
    else:
        _show(report)
    wrong = [line for name, _ in report.crosses for line in report.contradictions(name)]
    for line in wrong:
        click.echo(line, err=True)
    return 1 if wrong else 0


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
