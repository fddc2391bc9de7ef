"""Reports as text: one environment, one set of templates; pages of HTML have the style and script of `make page`.

`templates/` holds what a report says and how it looks; whoever measured passes plain data. Files:

| file | is |
|---|---|
| `*.html.j2` | pages of HTML, each alone in its file (`one_file.report`); every text is escaped |
| `*.md.j2` | Markdown; texts go through the filters `cell` and `code` |
| `*.py.j2` | Python for pytest |

The room is low, and imports nothing of ours: campaigns and coverage both write reports, and neither may import the
command line.
"""

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")


def render(template: str, **values: object) -> str:
    """The text of a report: the same values are the same text. A value that the template lacks raises jinja2's
    UndefinedError."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # most commands write no report

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    from ringhil.emulator.pages.verdicts import tone

    filters = (breakable, cell, code, number, percent, rate, tone)
    environment.filters |= {function.__name__: function for function in filters}
    return environment


def visible(value: object) -> object:
    """What can't be seen in a text, or turns the order of its letters, is written out; markup is left alone."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return "".join(map(_visible, value))


def _visible(letter: str) -> str:
    if letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cf", "Cs"):
        return letter
    return f"\\x{ord(letter):02x}" if ord(letter) < 256 else f"\\u{ord(letter):04x}"


def breakable(name: str) -> Markup:
    """HTML in which a long name may be broken behind each underscore."""
    return escape(visible(name)).replace("_", Markup("_<wbr>"))


def cell(text: str) -> str:
    """A cell of a table in Markdown, or a line: no markup, no end of the cell, no end of the line."""
    return _joined(text).replace("<", "&lt;").replace("*", "\\*")


def code(text: str) -> str:
    """The same as a span of code; empty for an empty text."""
    words = _joined(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", words)), default=0))
    pad = " " if words.startswith("`") or words.endswith("`") else ""
    return f"{fence}{pad}{words}{pad}{fence}" if words else ""


def _joined(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def number(value: float | None) -> str:
    """The number with thousands apart; a dash when there is no number."""
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:g}"


def percent(share: float, digits: int = 1) -> str:
    """1.0 is all of it."""
    return f"{100 * share:.{digits}f} %"


def rate(bound: float | None) -> str:
    """An upper bound on a share of cases, in percent; a dash when there is none."""
    return "-" if bound is None else f"{100 * bound:.3g} %"
