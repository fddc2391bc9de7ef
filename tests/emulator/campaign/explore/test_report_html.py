"""The report says what a campaign has found, alone, for all readers, and nothing more than that."""

import html
import itertools
import json
import random
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from tests.emulator.campaign.explore.reported import PASSED, PLAN, campaign, drawn, filled, played, space
from tests.emulator.pages.page import Page, assert_stands_alone, said

from ringhil.emulator.campaign.explore.failing import write_cases
from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.report_html import MOST_FAILURES, MOST_WORST, replay, report, write_report
from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.campaign.explore.sorts import sorts
from ringhil.emulator.campaign.explore.store import Store
from ringhil.emulator.campaign.explore.summary import by_class, joined
from ringhil.emulator.scenario import FAULTS


def test_the_page_stands_alone_and_is_the_same_bytes_again(tmp_path: Path) -> None:
    with played() as store:
        write_report(store, 1, tmp_path / "a.html")
        write_report(store, 1, tmp_path / "b.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert_stands_alone(text)
    assert "http:" not in said(text)
    assert "https:" not in said(text)
    assert (tmp_path / "b.html").read_text(encoding="utf-8") == text
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_what_was_made_small_and_recorded_is_played_by_the_same_options(tmp_path: Path) -> None:
    options = " --rtl 'my rtl' --top node --firmware '*=mine:Program'"
    with played() as store:
        kept, ways = store.campaigns()[1], sorts(store, 1)
        shrunk, recording = tmp_path / "it's small.yaml", tmp_path / "it's.rec"
        shrunk.write_text("small")
        written = write_cases(tmp_path / "a b", kept, [way.first for way in ways], options)
        failing = [replace(case, shrunk=shrunk, recording=recording) for case in written]
        cells = [row[4] for row in Page(report(store, 1, failing)).table("Ways to fail")[1:]]
    assert cells == [f"ringhil run {shlex.quote(str(shrunk))}{options}"] * len(ways)
    assert {case.step for case in failing} == {f"ringhil step {shlex.quote(str(recording))}{options}"}


def test_it_can_be_read_without_eyes_for_colours() -> None:
    with played() as store:
        page = Page(report(store, 1))
    names = [tag for tag, _ in page.elements]
    assert names.count("caption") == names.count("table") > 8
    assert all(attributes.get("scope") in ("row", "col") for tag, attributes in page.elements if tag == "th")
    assert names.count("figure") == 2  # whose figures are in tables as well
    for tag, attributes in page.elements:
        kind = (attributes.get("class") or "").split()
        if tag == "td" and {"hole", "none", "full", "q1", "q2", "q3"} & set(kind):
            assert attributes["title"]
    for row in page.table("Pairs: first kind")[1:]:
        assert all(cell for cell in row)


def test_its_figures_are_those_of_the_summary() -> None:
    with played() as store:
        page = Page(report(store, 1))
        classes = by_class(store.rows(1))
    rows = [row for caption in ("Classes", "Classes of several") for row in classes_table(page, caption)]
    for c in classes:
        mine = [row for row in rows if row[0] == c.cls]
        assert sum(int(row[2].replace(",", "")) for row in mine) == c.cases
        assert added(row[3] for row in mine) == (c.detected, c.to_detect)
        assert added(row[5].removeprefix("✗ ") for row in mine) == (c.recovered, c.to_recover)
        assert sum(int(row[6].removeprefix("✗ ").replace(",", "")) for row in mine) == c.failed + c.errors
        if c.worst is not None:
            (worst,) = (row for row in mine if row[10] == c.worst)
            assert worst[7] == f"{c.recovery:,} of {c.bound:,}"
    (every,) = (row for row in rows if row[0] == "all")
    total = joined("all", classes)
    assert every[2] == f"{total.cases:,}"
    assert every[11] == "-"


def added(cells: Iterable[str]) -> tuple[int, int]:
    """The sum of cells such as "1,000 of 1,200"."""
    pairs = [cell.replace(",", "").split(" of ") for cell in cells if cell != "-"]
    return sum(int(done) for done, _ in pairs), sum(int(wanted) for _, wanted in pairs)


def test_what_is_left_and_what_is_cleared_are_told_apart() -> None:
    """A kind that recovers when it is cleared, and never when it isn't: no figure speaks for both."""
    lost = replace(PASSED, verdict="fail", violated="bounded_recovery", recovered=False, recovery=None, bound=None)
    near = replace(PASSED, recovery=910)
    cases = [case for case in space(PLAN) if case.cls == "hang"]
    with Store(":memory:") as store:
        filled(store, campaign(PLAN), ((c, lost if c.key.endswith("left") else near) for c in cases))
        page = Page(report(store, 1))
    cleared, left, _ = classes_table(page, "Classes")
    assert (cleared[:3], cleared[5:9]) == (["hang", "cleared", "16"], ["16 of 16", "0", "910 of 1,000", "91.0 %"])
    assert (left[:3], left[5:9]) == (["hang", "left", "16"], ["✗ 0 of 16", "✗ 16", "-", "-"])
    rows = {tuple(row[:2]): row for row in page.table("Recovery")[1:]}
    assert rows["hang", "cleared"][2:4] == ["16", "0"]
    assert rows["hang", "left"][2:4] == ["0", "✗ 16"]


def test_a_case_that_recovers_from_one_of_two_events_has_no_recovery_time() -> None:
    half = replace(PASSED, verdict="fail", violated="bounded_recovery", recovered=False, recovery=10, bound=1000)
    late = replace(half, recovery=1100)
    cases = [case for case in space(PLAN) if case.cls == "hang"][:2]
    with Store(":memory:") as store:
        filled(store, campaign(PLAN), zip(cases, (half, late), strict=True))
        page = Page(report(store, 1))
    assert [row[1] for row in page.table("Worst recoveries")[1:]] == ["✗ 110.0 %"]
    assert sum(int(row[2]) for row in page.table("Recovery")[1:] if row[0] == "hang") == 1


def test_failures_come_first() -> None:
    wrong = replace(PASSED, verdict="fail", violated="one_grant")
    with Store(":memory:") as store:
        filled(store, campaign(PLAN), ((c, wrong if c.cls == "link_cut" else PASSED) for c in space(PLAN)))
        text = report(store, 1)
    page = Page(text)
    assert page.texts["h2"][0] == "Failures"
    assert page.texts["a"][0] == "Failures"
    assert [row[0] for row in classes_table(page, "Classes")][:3] == ["link_cut", "link_cut", "no fault"]


def filled_with(result: CaseResult, number: int) -> Store:
    store = Store(":memory:")
    filled(store, campaign(PLAN), ((case, result) for case in islice(space(PLAN), number)))
    return store


def test_a_campaign_that_is_not_done_says_how_much_was_played() -> None:
    with played(number=50) as store:
        verdict = Page(report(store, 1)).table("Campaign")[0][1]
        passed = Page(report(filled_with(PASSED, 50), 1)).table("Campaign")[0][1]
    assert passed.startswith("incomplete, as far as it was played: 50 of ")
    assert verdict.endswith(f", as far as it was played: 50 of {sum(campaign(PLAN).space.values()):,} cases")
    with played() as store:
        assert Page(report(store, 1)).table("Campaign")[0][1] == "✗ fail"


@pytest.mark.slow(part="benches")
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium isn't installed: apt-get install chromium")
def test_no_table_is_wider_than_a_window_of_1100_pixels(tmp_path: Path) -> None:
    server = "server: {cards: {a: {gpus: 64, host_links: [0, 1, 2]}}}\n"
    plan = Plan(tuple(FAULTS), depth=3, phases=100, random=1000, pairs="together", lasts=(None, 9, 99))
    cases, rng = space(plan, server, a=268), random.Random(3)
    with Store(":memory:") as store:
        some = itertools.chain(itertools.islice(cases, 0, 60_000, 40), itertools.islice(cases, 100_000, 200_000, 40))
        filled(store, campaign(plan, server, a=268), ((case, drawn(rng)) for case in some))
        text = report(store, 1)
    # The page forbids scripts; this one measures, and has nothing else on its page.
    measured = re.sub("<meta http-equiv[^>]*>", "", text).replace("</body>", f"<script>{_MEASURE}</script></body>")
    (tmp_path / "page.html").write_text(measured)
    command = ["chromium", "--headless", "--no-sandbox", "--window-size=1100,1600", "--dump-dom", "page.html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    (found,) = re.findall("<pre>(.*?)</pre>", done.stdout)
    widths = json.loads(html.unescape(found))
    assert len(widths) == 1 + text.count('class="wide"') > 10
    assert [name for name, needed, there in widths if needed > there] == []


_MEASURE = """
for (const folded of document.querySelectorAll("details")) folded.open = true;
const found = [["page", document.documentElement.scrollWidth, window.innerWidth]];
for (const wide of document.querySelectorAll(".wide"))
  found.push([wide.querySelector("caption").textContent, wide.scrollWidth, wide.clientWidth]);
document.body.innerHTML = "<pre></pre>";
document.querySelector("pre").textContent = JSON.stringify(found);
"""


def classes_table(page: Page, caption: str) -> list[list[str]]:
    (found,) = (n for n, words in enumerate(page.texts["caption"]) if words in (caption, f"{caption} faults"))
    return page.tables[found][1:]


def test_failures_and_worst_cases_are_listed_with_their_replay() -> None:
    with played() as store:
        page = Page(report(store, 1))
        rows = list(store.rows(1))
    failed = [row for row in rows if row.result.verdict != "pass"]
    assert 0 < len(failed) < MOST_FAILURES
    listed = page.table("Failures")[1:]
    assert sorted((cells[0], cells[3]) for cells in listed) == sorted((str(row.number), row.key) for row in failed)
    assert {cells[5] for cells in listed} == {replay(row, ":memory:", 1) for row in failed}
    ways = page.table("Ways to fail")[1:]
    assert [cells[0] for cells in listed[: len(ways)]] == [cells[3].partition(":")[0] for cells in ways]
    assert sum(int(cells[0]) for cells in ways) == len(failed)
    shares = sorted((row.result.recovery / row.result.bound for row in rows if row.result.recovery), reverse=True)  # type: ignore[operator]
    worst = page.table("Worst recoveries")[1:]
    assert len(worst) == MOST_WORST
    assert [cells[1].removeprefix("✗ ") for cells in worst] == [f"{100 * s:.1f} %" for s in shares[:MOST_WORST]]
    assert "✗ fail" in page.words


def test_many_failures_are_cut_and_counted() -> None:
    with Store(":memory:") as store:
        wrong = CaseResult("fail", tuple(f"number {n} " + "x" * 1000 for n in range(20)), "wrong_count")
        filled(store, campaign(PLAN), ((case, wrong) for case in islice(space(PLAN), 250)))
        text = report(store, 1)
    page = Page(text)
    assert len(page.table("Failures")) == 1 + MOST_FAILURES
    assert "and 50 more" in page.words
    assert len(text) < 1_500_000


def test_a_campaign_without_results_says_that_nothing_was_played() -> None:
    with Store(":memory:") as store:
        filled(store, campaign(PLAN), ())
        page = assert_stands_alone(report(store, 1))
    assert "not judged: no case was played" in page.words
    assert "pass" not in page.table("Campaign")[0][1]
    assert ["single faults", "96", "0", "0.00 %", "0", "-"] in page.table("Parts of the space")
    dead = [row[1] for row in page.table("Single faults: kinds of fault by GPUs")[1:]]
    assert dead == ["0"] * 4


def test_a_sample_without_failures_has_its_meaning_said() -> None:
    plan = Plan(("dead",), depth=3, phases=2, random=100, parts=("singles", "random"))
    with Store(":memory:") as store:
        filled(store, campaign(plan), ((case, PASSED) for case in space(plan)))
        page = Page(report(store, 1))
    assert "None of 117 cases failed. Were they drawn at random, fewer than 2.53 %" in page.words
    assert "Single faults were played as a whole: there are no others, and none has failed." in page.words
    assert "100 random schedules really were drawn" in page.words
    assert "fewer than 2.95 % fail, with 95 % confidence" in page.words  # 1 - 0.05 ** (1 / 100)
    assert "✓ pass" in page.words


def test_neither_a_part_nor_failures_are_said_to_mean_more_than_they_do() -> None:
    with played(number=50) as store:
        meaning = words_of(report(store, 1), "meaning")
    assert "as a whole" not in meaning
    with played() as store:
        whole = words_of(report(store, 1), "meaning")
    assert "cases failed, so there is no bound" in whole
    assert "Single faults were played as a whole: there are no others, and" in whole
    assert "really were drawn" not in whole
    assert "none has failed" not in whole


def words_of(text: str, section: str) -> str:
    """The text of a section of the page."""
    return Page(text[text.index(f'<section id="{section}"') :].partition("</section>")[0] + "</section>").words


def test_cases_without_a_recovery_are_none_of_the_worst() -> None:
    results = [PASSED, replace(PASSED, recovery=900), *[replace(PASSED, recovery=None)] * 9]
    with Store(":memory:") as store:
        filled(store, campaign(PLAN), zip(space(PLAN), results, strict=False))
        page = Page(report(store, 1))
    assert [row[:3] for row in page.table("Worst recoveries")[1:]] == [["1", "90.0 %", "900"], ["0", "40.0 %", "400"]]


def test_failures_are_marked_where_they_struck() -> None:
    cases = [case for case in space(PLAN) if case.depth == 1]
    wrong = replace(PASSED, verdict="fail", violated="one_grant")
    with Store(":memory:") as store:
        filled(store, campaign(PLAN), ((c, wrong if (c.cls, c.place) == ("hang", "a.2") else PASSED) for c in cases))
        page = Page(report(store, 1))
    head, *rows = page.table("Single faults: kinds of fault by GPUs")
    assert {row[0]: row[head.index("hang")] for row in rows} == {"a.0": "8", "a.1": "8", "a.2": "8 ✗8", "a.3": "8"}
    assert "✗" not in "".join(row[head.index("dead")] for row in rows)


def test_a_part_of_a_campaign_says_so() -> None:
    kept = campaign(PLAN)
    with Store(":memory:") as store:
        filled(store, replace(kept, arguments={**kept.arguments, "shard": [2, 5]}), ())
        assert "part 2 of 5" in Page(report(store, 1)).words
