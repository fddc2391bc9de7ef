"""A reader of the pages of HTML that reports are."""

import html.parser
import re
from collections.abc import Sequence
from pathlib import Path

_PARTS = (
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "h1",
    "h2",
    "h3",
    "nav",
    "a",
    "section",
    "p",
    "div",
    "ul",
    "li",
)
_TABLES = ("table", "caption", "thead", "tbody", "tr", "th", "td", "wbr", "code", "pre", "details", "summary")
ALLOWED = frozenset((*_PARTS, *_TABLES, "svg", "path", "span", "i", "h3"))


class Page(html.parser.HTMLParser):
    """Elements, attributes, texts and tables of a page; complains about elements that are not closed in order."""

    VOID = frozenset({"meta", "wbr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.tables: list[list[list[str]]] = []
        self.cells: list[tuple[str, str]] = []  # class and text of each <td>
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    @classmethod
    def of(cls, path: Path) -> "Page":
        return cls(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in self.VOID:
            return
        self.open.append(tag)
        self.texts.setdefault(tag, []).append("")
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            if tag == "td":
                self.cells.append((dict(attrs).get("class") or "", ""))
        elif tag == "li" and self.tables[-1][-1][-1]:
            self.tables[-1][-1][-1] += "\n"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.words += data
        for tag in set(self.open):
            self.texts[tag][-1] += data
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data
        if "td" in self.open:
            self.cells[-1] = (self.cells[-1][0], self.cells[-1][1] + data)

    def table(self, caption: str) -> list[list[str]]:
        """Rows of the one table whose caption begins so."""
        (found,) = (n for n, words in enumerate(self.texts["caption"]) if words.startswith(caption))
        return self.tables[found]


def assert_stands_alone(text: str) -> Page:
    """It needs nothing from elsewhere, and nothing on it runs."""
    page = Page(text)
    assert {tag for tag, _ in page.elements} <= ALLOWED
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset")]
        assert re.fullmatch(r"width:\d+%", attributes.get("style") or "width:0%")
        assert attributes.get("href", "#").startswith("#"), tag  # type: ignore[union-attr]
    policy = {"http-equiv": "Content-Security-Policy", "content": "default-src 'none'; style-src 'unsafe-inline'"}
    assert ("meta", policy) in page.elements
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    return page
