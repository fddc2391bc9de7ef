"""The page says since when a run was lost: a curve above its time line, and two moments to go to."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.view.alone import add_doomed, leave_page
from ringhil.emulator.view.messages import ViewDoomed

from .conftest import viewed

Opened = Callable[..., Page]


def said_of(page: Page, found: ViewDoomed) -> None:
    """Both moments are named, and a press goes there."""
    assert found.likely is not None
    assert found.certain is not None
    for name, turn in (("likely", found.likely), ("certain", found.certain)):
        page.keyboard.press("Home")
        page.get_by_role("button", name=f"{name} from {turn.cycle:,} on {turn.text}").click(timeout=120_000)
        expect(page.get_by_test_id("now").locator("b")).to_have_text(f"{turn.cycle:,}")
        expect(page.locator(f"#row-{turn.row}[aria-selected=true]")).to_be_visible()
    expect(page.get_by_role("group", name="Since when it was lost")).to_contain_text(f"{found.futures} futures")


def pixels(page: Page) -> str:
    """Of the time line."""
    data: str = page.evaluate("() => document.querySelector('.chart canvas').toDataURL()")
    return data


@pytest.mark.rest
def test_a_page_that_is_served_plays_futures_when_it_is_asked_to(
    opened: Opened, lost: Path, doomed: ViewDoomed
) -> None:
    with viewed(lost) as url:
        page = opened(url)
        before = pixels(page)
        page.get_by_role("button", name="Since when was it lost?").click()
        said_of(page, doomed)
        assert pixels(page) != before
        again = opened(url)  # another page knows it, too
        expect(again.get_by_role("group", name="Since when it was lost")).to_be_visible()


@pytest.mark.rest
def test_a_page_that_stands_alone_has_what_was_found(opened: Opened, lost: Path, doomed: ViewDoomed) -> None:
    path = leave_page(lost, cells_library()).path
    assert path is not None
    without = opened(path.as_uri())
    expect(without.get_by_text("Since when was it lost?")).to_have_count(0)
    add_doomed(path, doomed)
    said_of(opened(path.as_uri()), doomed)
