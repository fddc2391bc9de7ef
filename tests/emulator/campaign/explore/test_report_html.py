"""The report says what a campaign has found, alone, for all readers, and nothing more than that."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

from tests.emulator.campaign.explore.reported import PASSED, PLAN, campaign, filled, played, space
from tests.emulator.pages.page import Page, assert_stands_alone

from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.report_cases import replay
from ringhil.emulator.campaign.explore.report_html import MOST_FAILURES, MOST_WORST, report, write_report
from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.campaign.explore.store import Store
from ringhil.emulator.campaign.explore.summary import by_class


def test_the_page_stands_alone_and_is_the_same_bytes_again(tmp_path: Path) -> None:
    with played() as store:
        write_report(store, 1, tmp_path / "a.html")
        write_report(store, 1, tmp_path / "b.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert_stands_alone(text)
    assert "http:" not in text
    assert "https:" not in text
    assert (tmp_path / "b.html").read_text(encoding="utf-8") == text
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_it_can_be_read_without_eyes_for_colours() -> None:
    with played() as store:
        page = Page(report(store, 1))
    names = [tag for tag, _ in page.elements]
    assert names.count("caption") == names.count("table") > 8
    assert all(attributes.get("scope") in ("row", "col") for tag, attributes in page.elements if tag == "th")
    assert all(attributes.get("role") == "img" for tag, attributes in page.elements if tag == "svg")
    assert len(page.texts["title"]) == 1 + names.count("svg") > 4
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
    rows = {row[0]: row for caption in ("Classes", "Classes of several") for row in classes_table(page, caption)}
    assert len(rows) == len(classes) + 1
    for c in classes:
        cells = rows[c.cls]
        assert cells[1] == f"{c.cases:,}"
        assert cells[2] == (f"{c.detected:,} of {c.to_detect:,}" if c.to_detect else "-")
        assert cells[5].removeprefix("✗ ") == f"{c.failed + c.errors:,}"
        assert cells[6:8] == ["-" if n is None else f"{n:,}" for n in (c.recovery, c.bound)]
        assert cells[10] == (c.worst or "-")
        rate = c.failure_rate_bound
        assert cells[11] == ("-" if rate is None else f"{100 * rate:.3g} %")
    assert int(rows["all"][1].replace(",", "")) == sum(c.cases for c in classes)


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
    assert [(cells[0], cells[3]) for cells in listed] == [(str(row.number), row.key) for row in failed]
    assert [cells[5] for cells in listed] == [replay(row, ":memory:", 1) for row in failed]
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
    assert "none: no case was played" in page.words
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
