"""Runs that can be looked at in the site without installing anything."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.command import ringhil

ROOT = Path(__file__).resolve().parents[4]
NAMES = [path.stem for path in sorted((ROOT / "docs/runs").glob("*.md"))]


@pytest.mark.rest
@pytest.mark.parametrize("name", NAMES)
def test_each_opens_from_a_disk_and_plays(name: str, opened: Callable[..., Page], tmp_path: Path) -> None:
    file = tmp_path / f"{name}.html"
    done = ringhil("view", ROOT / f"examples/{name}.yaml", "--html", file)
    assert (done.returncode, done.stderr) == (0, "")
    page = opened(file.as_uri())
    said = list[str]()
    page.on("console", lambda message: said.append(message.text))
    begin = page.get_by_test_id("now").locator("b").inner_text()
    page.get_by_label("Play").click()
    page.wait_for_function("() => document.querySelector('.rings canvas').dataset.frames > 0")
    page.get_by_label("Pause").click()
    expect(page.get_by_test_id("now").locator("b")).not_to_have_text(begin)
    page.get_by_label("To the end").click()
    expect(page.locator(".pill")).to_have_text("pass")
    assert not said


@pytest.mark.parametrize("page", ["README.md", "docs/howto/view.md"])
def test_each_is_linked(page: str) -> None:
    text = (ROOT / page).read_text()
    for name in NAMES:
        assert f"runs/{name}.md)" in text
