"""One report of all that was measured, as Markdown or as a page of HTML; the same results are the same bytes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ringhil.emulator.coverage import verilator_dat, waivers
from ringhil.emulator.coverage.errors import CoverageError
from ringhil.emulator.coverage.functional import FunctionalCoverage
from ringhil.emulator.coverage.hdl import measure
from ringhil.emulator.coverage.result import MAX_ROWS, CoverageReport, share
from ringhil.emulator.documents import shown
from ringhil.emulator.files import reason_of, write_whole
from ringhil.emulator.pages import render
from ringhil.emulator.pages.one_file import report as report_text

FORMATS = (".html", ".md")
# For Markdown, which has no colours: states of lines, and cells of a cross without a count.
_MARKS = {"missed": "%", "partly": "~", "waived": "w", "hole": ".", "ignored": "-"}


def gather(files: Sequence[Path], rtl: Path, waived: Path | None) -> CoverageReport:
    """Read and merge *.dat of Verilator and *.json of `FunctionalCoverage`; raises CoverageError."""
    points: list[verilator_dat.Points] = []
    functional: FunctionalCoverage | None = None
    for path in files:
        if path.suffix == ".dat":
            points.append(verilator_dat.read(path))
        elif path.suffix == ".json":
            loaded = FunctionalCoverage.load(path)
            if functional is None:
                functional = loaded
            else:
                functional.merge(loaded, str(path))
        else:
            raise CoverageError(
                f"{path}: found {shown(path.suffix)}; allowed are *.dat of Verilator and *.json of ours"
            )
    hdl = None
    if points:
        hdl = measure(verilator_dat.merge(points), rtl, waivers.load(waived) if waived else ())
    return CoverageReport(hdl, functional)


def text(report: CoverageReport, suffix: str) -> str:
    """The text in a format of FORMATS. Raises PageError."""
    given: dict[str, Any] = {"report": report, "share": share, "most": MAX_ROWS, "marks": _MARKS}
    return report_text("coverage.html.j2", **given) if suffix == ".html" else render(f"coverage{suffix}.j2", **given)


def write(report: CoverageReport, path: Path) -> None:
    """Write *.html or *.md; the file appears whole or not at all. Raises CoverageError and PageError."""
    if path.suffix not in FORMATS:
        raise CoverageError(f"{path}: found {shown(path.suffix)}; allowed are {' and '.join(FORMATS)}")
    try:
        write_whole(path, text(report, path.suffix))
    except OSError as error:
        raise CoverageError(f"{path}: cannot be written: {reason_of(error)}") from None
