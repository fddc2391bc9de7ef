"""Pages of `ringhil view` in a headless Chromium."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.command import started

from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads

SERVER = """
name: two cards & a <b onclick="alert(1)">dead</b> GPU
seed: 5
server:
  cards:
    a: {gpus: 5, host_links: [0, 1]}
    b: {gpus: 3, host_links: [0]}
  boundary_links:
    - {from: [a.2], to: [b.1]}
workload: {units: 40, size: 512, across: 25}
timeline:
  - {at: 9000, fault: dead, gpu: a.0}
  - {at: 18000, clear: dead, gpu: a.0}
expect:
  - {at: 17000, count: {a: 5}}
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "r.rec"
    record_run(path, loads(SERVER), cells_library())
    return path


@pytest.fixture(scope="module")
def session(recorded: Path) -> Iterator[DebugSession]:
    with DebugSession(recorded, cells_library()) as found:
        yield found


@contextmanager
def viewed(file: Path | str) -> Iterator[str]:
    """Where the page of a recording, a file, a database or a card is."""
    with started("view", file, "--json", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def url(recorded: Path) -> Iterator[str]:
    with viewed(recorded) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=20_000)  # states are played, on a busy machine
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page, and waits for its first line. At the end nothing has gone wrong in it, and it has asked nobody but
    its own server."""
    contexts, wrong, asked = [], [], []

    def open_page(url: str, width: int = 1600, height: int = 900, first: str = ".row", **options: object) -> Page:
        contexts.append(context := browser.new_context(viewport={"width": width, "height": height}, **options))
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if "Security Policy" in said.text else None)
        page.on(
            "response", lambda answer: wrong.append(f"{answer.url}: {answer.text()}") if answer.status >= 500 else None
        )
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on(
            "request", lambda request: asked.append(request.url) if not request.url.startswith((url, "data:")) else None
        )
        page.set_default_timeout(20_000)
        page.goto(url)
        page.locator(first).first.wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong
    assert all(each.startswith(("http://127.0.0.1:", "file:", "data:")) for each in asked)
