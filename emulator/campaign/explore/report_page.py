"""Pieces of a page of HTML that needs nothing else; every text that goes in is escaped here."""

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --good: #2a9d5a; --bad: #d1495b; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 84rem; padding: 0 1rem; }
nav a { margin-right: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .6rem 0 1.2rem; }
caption { text-align: left; font-weight: 600; padding: .2rem 0; }
th, td { border: 1px solid var(--line); padding: .15rem .5rem; text-align: left; vertical-align: top; }
th { font-weight: 600; }
tbody th { font-weight: 500; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.long, code { overflow-wrap: anywhere; }
table.map { font-size: 12px; }
table.map td { text-align: center; white-space: nowrap; }
pre, code { font: 12.5px/1.4 ui-monospace, monospace; white-space: pre-wrap; }
summary { cursor: pointer; padding: .2rem 0; }
ul { margin: 0; padding-left: 1.1rem; }
.pass { border-left: 5px solid var(--good); font-weight: 700; }
.fail { border-left: 5px solid var(--bad); font-weight: 700; }
.none { background: #8882; }
.hole { background: #d1495b66; font-weight: 700; }
.q1 { background: #e0a03066; } .q2 { background: #e0a03044; } .q3 { background: #e0a03022; }
.full { background: #2a9d5a55; }
.wrong { outline: 3px solid var(--bad); outline-offset: -3px; }
svg { display: block; width: 15rem; height: 3rem; }
svg .in { fill: var(--good); } svg .over { fill: var(--bad); }
svg .axis { stroke: currentColor; stroke-width: .5; } svg .bound { stroke: var(--bad); stroke-dasharray: 2 2; }
"""


def text(value: object) -> str:
    """Escaped, for elements and attributes; what can't be seen, or turns the order of letters, is written out."""
    words = str(value)
    return escape(words if words.isprintable() else "".join(map(_visible, words)))


def _visible(letter: str) -> str:
    if letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cf", "Cs"):
        return letter
    return f"\\x{ord(letter):02x}" if ord(letter) < 256 else f"\\u{ord(letter):04x}"


def page(title: str, body: Iterable[str]) -> str:
    """The whole of it."""
    head = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{text(title)}</h1>
"""
    return "".join([head, *body, "</body>\n</html>\n"])


def td(value: object, kind: str = "", title: str = "") -> str:
    """A cell."""
    attributes = (f' class="{kind}"' if kind else "") + (f' title="{text(title)}"' if title else "")
    return f"<td{attributes}>{text(value)}</td>"


def number(value: float | None) -> str:
    """A cell with a number, a dash when there is none."""
    shown = "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return td(shown, "n")


def percent(share: float, digits: int = 1) -> str:
    """1.0 is all of it."""
    return f"{100 * share:.{digits}f} %"


def row_head(value: object) -> str:
    """The cell that names its row."""
    return f'<th scope="row">{text(value)}</th>'


def code(value: object) -> str:
    """Text of a program or for a shell."""
    return f"<code>{text(value)}</code>"


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """`rows` are cells, ready-made; the first one of each names its row."""
    names = "".join(f'<th scope="col">{_breakable(name)}</th>' for name in columns)
    return _table(caption, f"<thead><tr>{names}</tr></thead>\n", rows, kind)


def facts(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of names, and cells that are ready-made."""
    return _table(caption, "", ([row_head(name), cell] for name, cell in rows), "")


def _table(caption: str, head: str, rows: Iterable[Sequence[str]], kind: str) -> str:
    body = "".join(f"<tr>{''.join(row)}</tr>\n" for row in rows)
    attribute = f' class="{kind}"' if kind else ""
    return (
        f'<div class="wide"><table{attribute}>\n<caption>{text(caption)}</caption>\n'
        f"{head}<tbody>\n{body}</tbody></table></div>\n"
    )


def details(summary: str, content: Iterable[str], *, shown: bool = False) -> str:
    """What is unfolded when somebody wants to see it."""
    state = " open" if shown else ""
    return f"<details{state}><summary>{text(summary)}</summary>\n{''.join(content)}</details>\n"


def section(name: str, title: str, content: Iterable[str]) -> str:
    """`name` is what links on the page lead to."""
    return f'<section id="{name}">\n<h2>{text(title)}</h2>\n{"".join(content)}</section>\n'


def paragraph(words: str) -> str:
    """Plain text."""
    return f"<p>{text(words)}</p>\n"


def _breakable(name: str) -> str:
    return text(name).replace("_", "_<wbr>")
