"""A bug in the firmware is found by a campaign, and comes out as a small scenario that fails by itself."""

import html
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tests.emulator.campaign.explore.servers import RING, library

from ringhil.emulator.campaign.explore.document import document
from ringhil.emulator.campaign.explore.explorer import Conditions, explore
from ringhil.emulator.campaign.explore.failing import shrink_failing, write_cases
from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.report_html import report
from ringhil.emulator.campaign.explore.sorts import main_failures
from ringhil.emulator.campaign.explore.store import Store
from ringhil.emulator.campaign.explore.summary import by_class
from ringhil.emulator.front.cli.explore_tables import show
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import load, loads
from ringhil.firmware import census
from ringhil.firmware.observations import Counted
from ringhil.protocol.wire import CensusVerdict

_JOIN = census._join


def _forgets_one(arms: object, sequence: int, sent_at: int) -> Counted | str:
    """After a cut, the last GPU of the two arms is forgotten."""
    joined = _JOIN(arms, sequence, sent_at)  # type: ignore[arg-type]
    if isinstance(joined, Counted) and joined.verdict == CensusVerdict.ARMS and joined.members:
        return replace(joined, count=joined.count - 1, members=joined.members[:-1])
    return joined


@pytest.mark.rest
def test_what_lasts_and_what_passes_are_made_small_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut that is cleared is miscounted for a time, one that is left for good: the same words, two sorts."""
    monkeypatch.setattr(census, "_join", _forgets_one)
    plan = Plan(("link_cut",), phases=1, lasts=(1500, None), places=("a.*-a.*",))
    with Store(":memory:") as store:
        explored = explore(loads(RING), library(), plan, store, Conditions(jobs=2))
        rows = main_failures(store, explored.campaign)
        failing = write_cases(tmp_path, store.campaigns()[explored.campaign], rows)
        failing = shrink_failing(
            tmp_path, store.campaigns()[explored.campaign], failing, library(), 60, lambda text: None
        )
        page = report(store, explored.campaign, failing)
        told = document(store, explored, failing)
    assert [sort["lasts"] for sort in told["sorts"]] == sorted((s["lasts"] for s in told["sorts"]), reverse=True)
    assert {sort["lasts"] for sort in told["sorts"]} == {True, False}
    assert len({sort["shrunk"] for sort in told["sorts"]}) == len(told["sorts"])
    assert sum(sort["cases"] for sort in told["sorts"]) == told["total"]["failed"]
    output = StringIO()
    show(told, Console(file=output, width=200))
    ways = [" ".join(html.unescape(re.sub("<[^>]*>", "", page)).split()), output.getvalue()]
    for sort in told["sorts"]:
        assert all(sort["sort"] in text for text in ways)
        text = Path(sort["shrunk"]).read_text()
        small = load(Path(sort["shrunk"]))
        found = Run(small, library()).run().violations
        assert (found[0].lasts, found[0].sort) == (sort["lasts"], sort["sort"])
        assert text.splitlines()[0] == f"# Fails: {found[0].promise}: {found[0]}"
        assert " N" not in text.splitlines()[0]
        assert text in html.unescape(page)
    assert page.index(html.escape(told["sorts"][0]["sort"])) < page.index("<caption>Failures")


def test_a_bug_is_found_and_made_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census, "_join", _forgets_one)
    plan = Plan(("dead", "link_cut"), depth=2, phases=2, lasts=(None,), pairs="together", places=("a.2", "a.*-a.*"))
    with Store(":memory:") as store:
        found = explore(loads(RING), library(), plan, store, Conditions(jobs=2))
        classes = {c.cls: c for c in by_class(store.rows(found.campaign))}
        assert (classes["dead"].failed, classes["no fault"].failed) == (0, 0)
        assert classes["link_cut"].failed == classes["link_cut"].cases == 8
        assert classes["dead + link_cut"].failed > 0
        campaign = store.campaigns()[found.campaign]
        rows = list(store.rows(found.campaign, "verdict != 'pass'"))
        assert {row.result.violated for row in rows} == {"wrong_count"}
        failing = write_cases(tmp_path, campaign, rows)
        shrunk = shrink_failing(tmp_path, campaign, failing, library(), 60, lambda text: None)
    assert len(list(tmp_path.glob("*.yaml"))) == len(rows)
    files = {case.shrunk for case in shrunk}
    assert None not in files
    for file in files:
        assert file is not None
        small = load(file)
        assert len(small.timeline) == 1, "one cut is enough"
        outcome = Run(small, library()).run()
        assert [violation.promise for violation in outcome.violations][:1] == ["wrong_count"]
        monkeypatch.setattr(census, "_join", _JOIN)
        assert Run(small, library()).run().failures == ()  # it is the bug that fails, not the scenario
        monkeypatch.setattr(census, "_join", _forgets_one)
