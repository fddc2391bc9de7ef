"""What the page tells of a run that failed by what was expected, whatever its names are and however long it is."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads
from ringhil.emulator.trace.recording import Recording

from .conftest import viewed
from .test_page import is_at, now
from .test_reports import LISTEN

Opened = Callable[..., Page]
TURNED = "\u202etxt\u2066"
SEEN = "\\u202etxt\\u2066"
LOST = f"""
name: "two links cut {TURNED}"
server:
  cards: {{a: {{gpus: 3, host_links: [0, 1]}}}}
timeline:
  - {{at: 9000, fault: host_link_cut, gpu: a.0}}
  - {{at: 9100, fault: host_link_cut, gpu: a.1}}
expect:
  - {{at: 40000, reachable: {{a: true}}}}
until: 45000
"""


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lost") / f"{TURNED}.rec"
    record_run(path, loads(LOST), cells_library())
    return path


@pytest.fixture(scope="module")
def lost_url(lost: Path) -> Iterator[str]:
    with viewed(lost) as found:
        yield found


def test_it_opens_where_what_was_expected_was_not_so(opened: Opened, lost_url: str, lost: Path) -> None:
    """And there its mark is."""
    with Recording(lost) as recording:
        there = recording.at(40_000)
    assert there is not None
    page = opened(lost_url)
    is_at(page, there.number)
    assert now(page) == there.cycle
    marks = page.evaluate("async () => (await fetch('api/marks?buckets=1000')).json()")["buckets"]
    (failed,) = (each for each in marks if "F" in each["signs"])
    assert failed["first"] <= 40_000 <= failed["last"]
    page.keyboard.press("Home")
    page.get_by_role("button", name="fail").click()
    page.get_by_role("dialog").get_by_role("button", name="card a is reachable; found").click()
    is_at(page, there.number)
    page.get_by_role("button", name="fail").click()
    expect(page.get_by_role("dialog").get_by_role("listitem")).to_have_count(1)


@pytest.mark.rest
def test_of_a_card_out_of_reach_the_last_count_is_told(opened: Opened, lost_url: str) -> None:
    page = opened(lost_url)
    ring = page.locator("g.card")
    expect(ring).to_contain_text("unreachable")
    expect(ring).to_contain_text("3 of 3 GPUs counted")
    page.keyboard.press("Home")
    expect(ring).to_contain_text("not counted yet")
    expect(ring).not_to_contain_text("unreachable")


@pytest.mark.rest
def test_what_turns_the_order_of_letters_is_written_out(opened: Opened, lost_url: str, lost: Path) -> None:
    page = opened(lost_url)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"two links cut {SEEN}")
    page.get_by_role("button", name="Open in").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"{SEEN}.rec")
    assert not {"\u202e", "\u2066"} & set(page.content() + page.title())


@pytest.mark.rest
@pytest.mark.parametrize("width", [400, 1600])
def test_labels_of_a_long_time_line_keep_apart_and_whole(browser: Browser, lost_url: str, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.add_init_script(LISTEN.replace("push(text)", "push([text, this.measureText(text).width, ...where])"))
    for last in (45_000, 10_000_000, 123_456_789_012):
        page = context.new_page()
        page.route(re.compile("api/(about|marks)"), longer(last))
        page.goto(lost_url)
        page.locator(".row").first.wait_for()
        canvas = page.locator(".chart canvas")
        expect(canvas).to_be_visible()
        page.wait_for_timeout(200)  # its curves come later
        found = canvas.evaluate("each => each.said.filter(([text]) => /^[\\d,.]+$/.test(text))")
        most = canvas.evaluate("each => each.width")
        level = max(y for _, _, _, y in found)  # of the axis below
        spans = sorted((x - wide / 2, x + wide / 2) for _, wide, x, y in found if y == level)
        assert len(spans) > 1
        assert spans[-1][1] <= most
        assert all(before[1] + 4 < after[0] for before, after in pairwise(spans))
        page.close()
    context.close()


def longer(last: int) -> Callable[[Route], None]:
    """Answers of a run that takes so long."""

    def answer(route: Route) -> None:
        there = route.fetch()
        found = there.json()
        found["last_cycle" if "last_cycle" in found else "last"] = last
        route.fulfill(response=there, json=found)

    return answer
