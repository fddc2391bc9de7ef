"""Campaigns that nobody has played, and a reader of the pages that are made of them."""

import html.parser
import random
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from tests.emulator.campaign.explore.servers import RING

from ringhil.emulator.campaign.explore.case import Case
from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.result import Result
from ringhil.emulator.campaign.explore.space import Round, Space
from ringhil.emulator.campaign.explore.store import Campaign, Store
from ringhil.emulator.scenario import loads

PLAN = Plan(("dead", "hang", "link_cut"), depth=3, phases=4, random=50)
PASSED = Result("pass", (), None, True, True, True, 20, 400, 1000, 12.5, "fault dead a.1", 5000, 5000)

_PARTS = ("html", "head", "meta", "title", "style", "body", "h1", "h2", "nav", "a", "section", "p", "div", "ul", "li")
_TABLES = ("table", "caption", "thead", "tbody", "tr", "th", "td", "wbr", "code", "pre", "details", "summary")
ALLOWED = frozenset((*_PARTS, *_TABLES, "svg", "path"))


def space(plan: Plan, text: str = RING, **rounds: int) -> Space:
    """The cases of a plan; `rounds`: length of each card's."""
    server = loads(text).server
    return Space(server, {card.name: Round(1000, 1000 + rounds.get(card.name, 40)) for card in server.cards}, plan)


def campaign(plan: Plan, text: str = RING, **rounds: int) -> Campaign:
    """As a campaign of it is kept."""
    arguments = {**plan.to_json(), "after": 0, "shard": [1, 1], "whole": False}
    sizes = space(plan, text, **rounds).sizes
    return Campaign("ring", "sha256:5ce", f"name: ring\n{text}", "sha256:471", "0.3 abc", plan.seed, arguments, sizes)


def drawn(rng: random.Random) -> Result:
    """A result as it might be."""
    bound = rng.randrange(500, 2000)
    took = rng.randrange(1, bound + bound // 20)
    verdict = rng.choices(("pass", "fail", "error", "hung"), (900, 30, 20, 10))[0]
    wrong = {"pass": None, "fail": "bounded_recovery"}.get(verdict, verdict)
    said = () if wrong is None else ("fault dead of a.1: not recovered", "another")
    flags = (rng.random() < 0.99, rng.choice([None, True]), took <= bound)
    return Result(verdict, said, wrong, *flags, took // 2, took, bound, took / 34, "fault dead a.1", 9000, 9000)  # type: ignore[arg-type]


def filled(store: Store, kept: Campaign, cases: Iterable[tuple[Case, Result]]) -> int:
    """The number of the campaign, now in the store."""
    number = store.begin(kept)
    store.add(number, ((n, case, result) for n, (case, result) in enumerate(cases)))
    return number


def played(plan: Plan = PLAN, number: int = 10**6, seed: int = 1) -> Store:
    """A store with a campaign that was played up to a number of cases."""
    store, rng = Store(":memory:"), random.Random(seed)
    filled(store, campaign(plan), ((case, drawn(rng)) for case in islice(space(plan), number)))
    return store


class Page(html.parser.HTMLParser):
    """Elements, attributes, texts and tables of a page; complains about elements that are not closed in order."""

    VOID = frozenset({"meta", "wbr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.tables: list[list[list[str]]] = []
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

    def table(self, caption: str) -> list[list[str]]:
        """Rows of the one table whose caption begins so."""
        (found,) = (n for n, words in enumerate(self.texts["caption"]) if words.startswith(caption))
        return self.tables[found]


def assert_stands_alone(text: str) -> Page:
    page = Page(text)
    assert {tag for tag, _ in page.elements} <= ALLOWED
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "style")]
        assert attributes.get("href", "#").startswith("#"), tag  # type: ignore[union-attr]
    policy = {"http-equiv": "Content-Security-Policy", "content": "default-src 'none'; style-src 'unsafe-inline'"}
    assert ("meta", policy) in page.elements
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    return page
