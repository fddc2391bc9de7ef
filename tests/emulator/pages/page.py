"""A reader of the pages of HTML that reports are."""

import base64
import hashlib
import html.parser
import json
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
    "header",
    "main",
    "button",
    "script",
    "noscript",
    "figure",
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
ALLOWED = frozenset((*_PARTS, *_TABLES, "svg", "rect", "span", "h3"))


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
        if "style" in self.open or "script" in self.open:
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


def said(text: str) -> str:
    """What a page says, without the script and style that all of them have."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.S)


def assert_stands_alone(text: str) -> Page:
    """It needs nothing from elsewhere, and nothing runs on it but what its policy names by hashes."""
    page = Page(text)
    assert {tag for tag, _ in page.elements} <= ALLOWED
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "style")]
        assert attributes.get("href", "#").startswith("#"), tag  # type: ignore[union-attr]
    (policy,) = (each["content"] for tag, each in page.elements if each.get("http-equiv") == "Content-Security-Policy")
    allowed = dict(part.split(" ", 1) for part in (policy or "").split("; "))
    assert allowed["default-src"] == "'none'"
    for element, wanted in (
        (r"<style>(.*?)</style>", "style-src"),
        (r'<script type="module">(.*?)</script>', "script-src"),
    ):
        (content,) = re.findall(element, text, re.S)
        assert allowed[wanted] == f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
        assert "@import" not in content or element != r"<style>(.*?)</style>"
    assert len(re.findall("<script", text)) == 2
    (data,) = re.findall(r'<script type="application/json" id="charts">(.*?)</script>', text, re.S)
    json.loads(data)
    return page
