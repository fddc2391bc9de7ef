"""The pictures of docs/howto/view.md, from a run: `python -m tests.emulator.view.page.screenshots`."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from tests.command import ringhil
from tests.emulator.view.page.conftest import viewed

ROOT = Path(__file__).resolve().parents[4]
IMAGES = ROOT / "docs/img"
SHOWN = "cycle > 63690 and kind == statistics and way == to_firmware"  # a census of a new entry GPU comes home


def take(page: Page, url: str, name: str) -> None:
    """A picture of the moment, when all that is known of it is there."""
    page.goto(url)
    page.get_by_label("Condition to look for").fill(SHOWN)
    page.keyboard.press("Enter")
    page.get_by_text("Links that it passed").wait_for(timeout=60_000)
    page.wait_for_function("() => document.querySelector('canvas').dataset.frames > 0", timeout=60_000)
    page.locator("svg[data-exact]").wait_for(timeout=60_000)
    page.screenshot(path=IMAGES / name)


def main() -> None:
    """Write them all."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        recording = Path(folder) / "f.rec"
        ringhil("run", ROOT / "examples/fail-over.yaml", "--record", recording)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        with viewed(recording) as url:
            for name, width, height, scheme in (
                ("view.png", 1600, 900, "light"),
                ("view-narrow.png", 400, 800, "dark"),
            ):
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
                take(context.new_page(), url, name)
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
