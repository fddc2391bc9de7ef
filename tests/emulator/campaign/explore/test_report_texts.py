"""Whatever is in a store stays text on the page, and cases are found again by their commands."""

import shlex
import unicodedata
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emulator.campaign.explore.reported import PASSED, PLAN, campaign, filled, space
from tests.emulator.pages.page import Page, assert_stands_alone

from ringhil.emulator.campaign.explore.query import Wanted, find
from ringhil.emulator.campaign.explore.report_html import replay, report
from ringhil.emulator.campaign.explore.space import Case, Schedule
from ringhil.emulator.campaign.explore.store import Store, StoredCampaign

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
PIECES = (
    "<",
    ">",
    '"',
    "'",
    "&",
    "\n",
    "\r",
    "\t",
    "[",
    "*",
    "`",
    "\u202e",
    "<b>",
    "</td>",
    "&amp;",
    "<!--",
    "<script>",
)
TEXTS = st.lists(LETTERS | st.sampled_from(PIECES), min_size=1, max_size=20).map("".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=8, max_size=8), st.integers(0, 3))
def test_texts_stay_texts(texts: list[str], depth: int) -> None:
    name, hash_, rtl, key, cls, place, said, slowest = texts
    kept = StoredCampaign(name, hash_, rtl, rtl, said, 1, {name: said, "kinds": [cls]}, {place: 3, "pairs": 2})
    result = replace(PASSED, verdict="fail", failures=(said,), violated=cls, slowest=slowest)
    events = next(case for case in space(PLAN) if case.depth == 1).schedule.events
    with Store(":memory:") as store:
        filled(store, kept, [(Case(key, cls, place, 7, Schedule(events), depth), result)])
        page = assert_stands_alone(report(store, 1))
    assert page.texts["h1"] == [f"Faults explored: {seen(name)}"]
    (failure,) = page.table("Failures")[1:]
    assert failure[1:5] == [f"fail: {seen(cls)}" if cls != "fail" else "fail", seen(cls), seen(key), seen(said)]
    assert page.table("Worst recoveries")[1][5:7] == [seen(slowest), seen(key)]
    assert page.texts["pre"] == [seen(rtl)]


def seen(text: str) -> str:
    """What a reader gets to see: control characters, and those that turn the order of others, are written out."""
    odd = {c for c in text if unicodedata.category(c) in ("Cc", "Cf")} - set("\n\t")
    return "".join((f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}") if c in odd else c for c in text)


def test_markup_is_text_everywhere() -> None:
    markup = "</style></td></code></pre>\"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;"
    kept = replace(campaign(PLAN), name=markup, scenario=markup, rtl=markup, version=markup, space={markup: 1})
    result = replace(PASSED, verdict="fail", failures=(markup,), violated=markup, slowest=markup)
    events = next(case for case in space(PLAN) if case.depth == 1).schedule.events
    with Store(":memory:") as store:
        filled(store, kept, [(Case(f"{markup}{n}", markup, markup, 7, Schedule(events), n), result) for n in range(3)])
        page = assert_stands_alone(report(store, 1))
    assert page.texts["h1"] == [f"Faults explored: {markup}"]
    assert page.texts["pre"] == [markup]


@given(TEXTS)
def test_a_key_is_found_again_whatever_it_is(key: str) -> None:
    with Store(":memory:") as store:
        cases = [Case(k, "dead", "a.1", 0, Schedule(())) for k in dict.fromkeys((key, f"{key}x", "a", "*"))]
        filled(store, campaign(PLAN), [(case, PASSED) for case in cases])
        row = next(row for row in store.rows(1) if row.key == key)
        words = shlex.split(replay(row, "s.sqlite", 1))
        found, number = find(store, 1, Wanted(key=words[words.index("--key") + 1]))
    assert ([row.key for row in found], number) == ([key], 1)


def test_what_turns_or_hides_letters_is_written_out() -> None:
    kept = replace(campaign(PLAN), name="a\u202eb\x00c\x1b[0m\rd\u200be\nf g")
    with Store(":memory:") as store:
        filled(store, kept, ())
        (title,) = Page(report(store, 1)).texts["h1"]
    assert title == "Faults explored: a\\u202eb\\x00c\\x1b[0m\\x0dd\\u200be\nf g"
