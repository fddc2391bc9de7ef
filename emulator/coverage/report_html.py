"""The report as one page of HTML that needs nothing else: no scripts, no pictures, no fonts from elsewhere."""

from collections.abc import Iterable, Sequence
from html import escape

from ringhil.emulator.coverage import heat, holes
from ringhil.emulator.coverage.hdl import Hdl, Line, Source, Tally
from ringhil.emulator.coverage.result import MAX_ROWS, Report, share

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --good: #2a9d5a; --bad: #d1495b; --part: #e0a030; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: .6rem 0 1.2rem; }
th, td { border: 1px solid var(--line); padding: .15rem .5rem; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
table.heat { font-size: 12px; }
table.heat th { font-weight: 500; }
pre { overflow-x: auto; margin: .4rem 0 1rem; font: 12.5px/1.4 ui-monospace, monospace; }
pre span { display: block; padding-left: .4rem; border-left: 4px solid transparent; }
summary { cursor: pointer; padding: .2rem 0; }
.missed { border-color: var(--bad) !important; background: #d1495b22; }
.partly { border-color: var(--part) !important; background: #e0a03022; }
.waived { border-color: #888 !important; background: #8882; }
.bar { display: inline-block; width: 7rem; height: .7rem; background: #d1495b55; vertical-align: middle; }
.bar i { display: block; height: 100%; background: var(--good); }
.hole { background: #d1495b55; }
.ignored { background: #8882; color: #8888; }
.contradiction { background: #b04bd1; color: #fff; }
.d1 { background: #2a9d5a33; } .d2 { background: #2a9d5a66; } .d3 { background: #2a9d5a99; }
.d4 { background: #2a9d5acc; }
"""

_HEAD = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Coverage</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Coverage</h1>
"""


def page(report: Report) -> str:
    """All of it."""
    out = [_HEAD]
    rows = [[_td(name), *_tally(tally)] for name, tally in report.totals]
    out += _table(["", "reached", "of", "left out", "share", ""], rows)
    if report.hdl is not None:
        out += _hdl(report.hdl)
    for name, _ in report.crosses:
        out += _cross(report, name)
    return "".join([*out, "</body>\n</html>\n"])


def _td(text: str, kind: str = "") -> str:
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"


def _tally(tally: Tally) -> list[str]:
    bar = f'<td><span class="bar"><i style="width:{int(tally.percentage)}%"></i></span></td>'
    numbers = [f"{tally.reached:,}", f"{tally.wanted:,}", f"{tally.waived:,}", share(tally)]
    return [*(_td(number, "n") for number in numbers), bar]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> list[str]:
    """`rows` are cells, ready-made."""
    out = [f'<table class="{kind}">' if kind else "<table>", "<tr>"]
    out += [f"<th>{escape(name)}</th>" for name in head]
    for row in rows:
        out += ["</tr>\n<tr>", *row]
    return [*out, "</tr>\n</table>\n"]


def _hdl(hdl: Hdl) -> list[str]:
    out = ["<h2>RTL</h2>\n<p>A line counts when every branch on it was taken; a toggle is one bit going one way.</p>\n"]
    head = ["file", "lines", "of", "waived", "share", "", "toggles", "of", "waived", "share", ""]
    rows = [[_td(s.name), *_tally(s.line_tally), *_tally(s.toggle_tally)] for s in hdl.sources]
    out += _table(head, rows)
    if hdl.absent:
        out.append(f"<p>Not built, or nothing to count: {escape(', '.join(hdl.absent))}</p>\n")
    if hdl.outside:
        out.append(f"<p>Built, but not of this RTL: {escape(', '.join(hdl.outside))}</p>\n")
    if hdl.waived:
        rows = [
            [_td(w.file), _td(w.text), _td(w.signals), _td(f"{points:,}", "n"), _td(w.reason)]
            for w, points in hdl.waived
        ]
        out += ["<h2>Waived</h2>\n", *_table(["file", "line", "toggles of", "points", "reason"], rows)]
    out.append("<h2>Not reached</h2>\n<p>Red: not at all; amber: partly; grey: waived. With the highest count.</p>\n")
    for source in hdl.sources:
        out += _source(source)
    return out


def _source(source: Source) -> list[str]:
    lines = [line for line in source.lines if line.state != "covered"]
    signals = [signal for signal in source.signals if signal.reached + signal.waived < signal.toggles]
    if not lines and not signals:
        return []
    title = f"{source.name}: {len(lines):,} lines, {len(signals):,} signals"
    out = [f"<details><summary>{escape(title)}</summary>\n"]
    if lines:
        out += ["<pre>", *map(_line, lines), "</pre>\n"]
    if signals:
        rows = [
            [_td(str(s.line), "n"), _td(s.name), _td(f"{s.reached:,}", "n"), _td(f"{s.toggles - s.waived:,}", "n")]
            for s in signals
        ]
        out += _table(["line", "signal", "toggles", "of"], rows)
    return [*out, "</details>\n"]


def _line(line: Line) -> str:
    text = escape(line.text.rstrip())
    return f'<span class="{line.state}">{line.number:5d} {line.most:9d}  {text}</span>'


def _cross(report: Report, name: str) -> list[str]:
    coverage = report.functional
    assert coverage is not None
    cross = coverage.crosses[name]
    out = [f"<h2>Cross {escape(name)}</h2>\n"]
    table = heat.table(coverage, name)
    if table is not None:
        out.append(f"<p>Columns: {escape(table.axis)}. Red was never seen; grey is ignored.</p>\n")
        rows = [[*(_td(value) for value in left), *map(_cell, cells)] for left, cells in table.rows]
        out += _table([*table.down, *table.across], rows, "heat")
    found = holes.rows(coverage, name)
    out.append(f"<details><summary>{len(coverage.holes(name)):,} holes</summary>\n")
    out += _table(list(cross.axes), [[_td(value) for value in row] for row in found[:MAX_ROWS]])
    if len(found) > MAX_ROWS:
        out.append(f"<p>and {len(found) - MAX_ROWS:,} more rows</p>\n")
    out.append("</details>\n")
    if cross.ignore:
        rows = [[_td(ignore.when_text), _td(ignore.reason)] for ignore in cross.ignore]
        out += ["<h3>Ignored</h3>\n", *_table(["combination", "reason"], rows)]
    wrong = report.contradictions(name)
    if wrong:
        items = "".join(f"<li>{escape(line)}</li>" for line in wrong)
        out.append(f"<h3>Seen although ignored</h3>\n<ul>{items}</ul>\n")
    return out


def _cell(cell: heat.Cell) -> str:
    title = f' title="{escape(cell.reason)}"' if cell.reason is not None else ""
    return (
        f'<td class="n {cell.heat}"{title}>{cell.count:,}</td>'
        if cell.count
        else f'<td class="{cell.heat}"{title}></td>'
    )
