"""The report as Markdown."""

from collections.abc import Iterable, Sequence

from ringhil.emulator.coverage import heat, holes
from ringhil.emulator.coverage.hdl import Hdl, Source
from ringhil.emulator.coverage.result import MAX_ROWS, Report, share

MARKS = {"missed": "%", "partly": "~", "waived": "w"}


def text(report: Report) -> str:
    """All of it."""
    out = ["# Coverage", ""]
    rows = [[name, f"{t.reached:,}", f"{t.wanted:,}", share(t), f"{t.waived:,}"] for name, t in report.totals]
    out += _table(["", "reached", "of", "share", "left out"], rows)
    if report.hdl is not None:
        out += _hdl(report.hdl)
    for name, _ in report.crosses:
        out += _cross(report, name)
    return "\n".join(out).rstrip("\n") + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """The first `left` columns hold words, the others numbers."""
    rule = ["---" if column < left else "---:" for column in range(len(head))]
    return [_row(head), f"|{'|'.join(rule)}|", *(_row(row) for row in rows), ""]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(found: str) -> str:
    """A code span or plain text, as one cell."""
    found = "".join(c if c.isprintable() else "?" for c in found).replace("|", "\\|")
    return found if found.startswith("`") else found.replace("<", "&lt;").replace("*", "\\*")


def _code(found: str) -> str:
    return f"`{found}`" if found else ""


def _hdl(hdl: Hdl) -> list[str]:
    out = ["## RTL", "", "A line counts when every branch on it was taken; a toggle is one bit going one way.", ""]
    rows = []
    for source in hdl.sources:
        lines, toggles = source.line_tally, source.toggle_tally
        counts = [f"{lines.reached:,} of {lines.wanted:,}", f"{toggles.reached:,} of {toggles.wanted:,}"]
        rows.append([source.name, counts[0], share(lines), counts[1], share(toggles)])
    out += _table(["file", "lines", "share", "toggles", "share"], rows)
    if hdl.absent:
        out += [f"Not built, or nothing to count: {', '.join(hdl.absent)}", ""]
    if hdl.outside:
        out += [f"Built, but not of this RTL: {_cell(', '.join(hdl.outside))}", ""]
    if hdl.waived:
        out += ["## Waived", ""]
        rows = [[_code(w.file), _code(w.text), _code(w.signals), f"{points:,}", w.reason] for w, points in hdl.waived]
        out += ["| file | line | toggles of | points | reason |", "|---|---|---|---:|---|", *map(_row, rows), ""]
    out += ["## Lines not reached", "", "`%` not at all, `~` partly, `w` waived; with the highest count.", ""]
    for source in hdl.sources:
        out += _lines(source)
    out += ["## Toggles not reached", ""]
    for source in hdl.sources:
        out += _signals(source)
    return out


def _lines(source: Source) -> list[str]:
    rows = [
        f"{MARKS[line.state]} {line.number:5d} {line.most:9d}  {line.text.rstrip()}"
        for line in source.lines
        if line.state != "covered"
    ]
    return [f"### {source.name}", "", "```text", *rows, "```", ""] if rows else []


def _signals(source: Source) -> list[str]:
    rows = [
        [str(signal.line), _code(signal.name), f"{signal.reached:,}", f"{signal.toggles - signal.waived:,}"]
        for signal in source.signals
        if signal.reached + signal.waived < signal.toggles
    ]
    return [f"### {source.name}, toggles", "", *_table(["line", "signal", "reached", "of"], rows, 2)] if rows else []


def _cross(report: Report, name: str) -> list[str]:
    coverage = report.functional
    assert coverage is not None
    cross = coverage.crosses[name]
    out = [f"## Cross {_cell(name)}", "", "`.` was never seen, `-` is ignored.", ""]
    table = heat.table(coverage, name)
    if table is not None:
        rows = []
        for left, cells in table.rows:
            marks = {"hole": ".", "ignored": "-"}
            rows.append([*left, *(marks.get(cell.heat, f"{cell.count:,}") for cell in cells)])
        out += _table([*table.down, *table.across], rows, len(table.down))
    found = holes.rows(coverage, name)
    out += [f"### Holes of {_cell(name)}: {len(coverage.holes(name)):,}", ""]
    if found:
        out += _table(list(cross.axes), found[:MAX_ROWS], len(cross.axes))
    if len(found) > MAX_ROWS:
        out += [f"and {len(found) - MAX_ROWS:,} more rows", ""]
    if cross.ignore:
        out += [f"### Ignored in {_cell(name)}", ""]
        rows = [[ignore.when_text, ignore.reason] for ignore in cross.ignore]
        out += _table(["combination", "reason"], rows, 2)
    wrong = report.contradictions(name)
    if wrong:
        out += [f"### Seen although ignored in {_cell(name)}", "", *(f"- {_cell(line)}" for line in wrong), ""]
    return out
