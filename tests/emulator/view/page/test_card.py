"""The page of a card at a management port: at any moment it shows what a Python client of the same card says."""

import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.emulator.serial.served import Served

from ringhil.emulator.serial.client import CardClient
from ringhil.protocol.line.management import LineFault
from ringhil.protocol.registers import ControlBit, StatusBit

from .conftest import viewed

SERVER = "server: {cards: {a: {gpus: 6, host_links: [0, 1]}}}\n"
LISTEN = ("--listen", "tcp://127.0.0.1:0")
CLOCK = ("--clock", "40000")
BYPASSED = StatusBit.BYPASS_CW | StatusBit.BYPASS_CCW
Opened = Callable[..., Page]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[list[str]]:
    """Two ports of one card."""
    with Served(tmp_path, SERVER, *LISTEN, *LISTEN, *CLOCK) as found:
        yield found.ports["a"]


def _settled(card: CardClient, count: int) -> None:
    end = time.monotonic() + 30
    while card.last_census().count != count:
        assert time.monotonic() < end
        time.sleep(0.1)


def _agrees(page: Page, card: CardClient) -> None:
    """What doesn't change any more is shown, soon."""
    census = card.last_census()
    expect(page.locator("svg .card")).to_contain_text(f"{census.count} of {card.info.gpus}")
    for gpu in range(card.info.gpus):
        control, status = card.read(gpu, "control"), card.read(gpu, "status")
        healthy = bool(status & StatusBit.HEALTHY)
        words = {"entry": healthy and bool(control & ControlBit.ENTRY), "bypassed": bool(status & BYPASSED)}
        place = page.locator(f"[data-gpu='a.{gpu}']")
        for word, holds in words.items():
            if holds:
                expect(place).to_have_attribute("aria-label", re.compile(rf"\b{word}\b"))
            else:
                expect(place).not_to_have_attribute("aria-label", re.compile(rf"\b{word}\b"))


@pytest.mark.rest
def test_a_gpu_that_is_struck_is_bypassed_the_count_falls_and_the_page_says_it(
    opened: Opened, served: list[str]
) -> None:
    with viewed(served[0]) as url, CardClient.open(served[1]) as card:
        page = opened(url)
        expect(page.locator(".pill.live")).to_be_visible()
        expect(page.locator(".legend").first).to_contain_text("A management port doesn't tell of frames")
        _settled(card, 6)
        _agrees(page, card)
        for gpu in (3, 0):  # the second is the entry GPU
            card.fault(LineFault.DEAD, gpu)
            _settled(card, 5 if gpu == 3 else 4)
            _agrees(page, card)
        card.clear(LineFault.DEAD, 3)
        _settled(card, 5)
        _agrees(page, card)
        rows = page.get_by_role("listbox", name="Messages and events")
        expect(rows.get_by_role("option", name=re.compile("Counted.*count 5")).last).to_be_visible()
        page.locator("[data-gpu='a.4'] .box").click()
        panel = page.get_by_role("tabpanel")
        expect(panel.get_by_role("row", name=f"weight {card.read(4, 'weight')}", exact=True)).to_be_visible()
        expect(panel).to_contain_text("not told over a management port")
        page.get_by_role("tab", name="Card").click()
        expect(panel).to_contain_text("What it says now")
        expect(panel.get_by_role("row", name="gpus 6", exact=True)).to_be_visible()
        # Back to where the first fault struck: the page shows the card as it was.
        page.get_by_label("Condition to look for").fill("kind == Struck and fault == dead and gpu == a.3")
        page.get_by_label("The one before").click()
        expect(page.locator("[data-gpu='a.3']")).to_have_attribute("aria-label", re.compile("dead"))
        expect(page.locator("svg .card")).to_contain_text("6 of 6")


@pytest.mark.rest
def test_a_line_that_is_lost_is_shown_and_tried_again(opened: Opened, tmp_path: Path) -> None:
    with Served(tmp_path, SERVER, *LISTEN, *CLOCK) as first:
        where = first.ports["a"][0]
        with viewed(where) as url:
            page = opened(url)
            assert first.end(signal.SIGTERM)[0] == 0
            expect(page.get_by_role("alert")).to_contain_text("tried again each second")
            with Served(tmp_path, SERVER.replace("6", "5"), "--listen", where.replace("socket", "tcp"), *CLOCK):
                expect(page.locator("svg .card")).to_contain_text("of 5")
                expect(page.get_by_role("alert")).to_have_count(0)
