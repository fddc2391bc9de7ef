"""The picture of docs/howto/sharing.md, from a run: `python -m tests.emulator.view.page.screenshots_reports`."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from tests.command import ringhil

ROOT = Path(__file__).resolve().parents[4]
TURNS = 1  # the second chart
CLOSER = 3  # times twice as close


def main() -> None:
    """Write it."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "sharing.html"
        ringhil("share", ROOT / "examples/sharing-slices.yaml", "--html", page)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        shown = browser.new_page(viewport={"width": 1200, "height": 880}, color_scheme="light")
        shown.goto(page.as_uri())
        turns = shown.locator("figure.plot").nth(TURNS)
        turns.get_by_role("img").focus()
        for _ in range(CLOSER):
            shown.keyboard.press("+")
        shown.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
        turns.locator(".u-over").hover(position={"x": 20, "y": 12})  # the long turn of test1
        shown.screenshot(path=ROOT / "docs/img/sharing.png")
        browser.close()


if __name__ == "__main__":
    main()
