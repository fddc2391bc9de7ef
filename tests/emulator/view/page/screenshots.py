"""The pictures of docs/howto/view.md and the one that moves in README.md, from a run:
`python -m tests.emulator.view.page.screenshots`. It needs ffmpeg."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from tests.command import ringhil
from tests.emulator.view.page.conftest import viewed

ROOT = Path(__file__).resolve().parents[4]
IMAGES = ROOT / "docs/img"
SHOWN = "cycle > 63690 and kind == statistics and way == to_firmware"  # a census of a new entry GPU comes home
FRAMES = 12  # a second
# From one cycle to another in so many seconds: work goes round, the entry GPU dies, its neighbour takes the role.
SCENES = ((59_940, 60_020, 4.5), (63_560, 63_680, 4.5))


def take(page: Page, url: str, name: str) -> None:
    """A picture of the moment, when all that is known of it is there."""
    page.goto(url)
    page.get_by_label("Condition to look for").fill(SHOWN)
    page.keyboard.press("Enter")
    page.get_by_text("Links that it passed").wait_for(timeout=60_000)
    page.wait_for_function("() => document.querySelector('canvas').dataset.frames > 0", timeout=60_000)
    page.locator("svg[data-exact]").wait_for(timeout=60_000)
    page.screenshot(path=IMAGES / name)


def cycles() -> Iterator[int]:
    """Of each frame; the last one of a scene stays for a while."""
    for first, last, seconds in SCENES:
        frames = round(seconds * FRAMES)
        yield from (first + (last - first) * frame // (frames - 1) for frame in range(frames))
        yield from [last] * (FRAMES // 2)


def film(page: Page, url: str, path: Path) -> None:
    """Each frame is a picture of the page when the frames on links have been read."""
    page.goto(url)
    page.locator("svg[data-exact]").wait_for(timeout=60_000)
    slider = page.get_by_label("Cycle", exact=True)
    with tempfile.TemporaryDirectory() as folder:
        for number, cycle in enumerate(cycles()):
            slider.fill(str(cycle))
            page.wait_for_function(
                "cycle => +document.querySelector('.rings canvas').dataset.drawn === cycle"
                " && !document.querySelector('.legend [role=status]')",
                arg=cycle,
                timeout=60_000,
            )
            page.wait_for_timeout(60)  # the list has been read
            page.screenshot(path=Path(folder) / f"{number:03}.png")
        made = ["-framerate", FRAMES, "-i", Path(folder) / "%03d.png", "-vf", "scale=1000:-1:flags=lanczos"]
        webp = ["-c:v", "libwebp_anim", "-quality", 55, "-compression_level", 6, "-loop", 0, path]
        subprocess.run(["ffmpeg", "-loglevel", "error", "-y", *map(str, [*made, *webp])], check=True)


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
            film(browser.new_page(viewport={"width": 1250, "height": 780}), url, IMAGES / "view.webp")
        browser.close()


if __name__ == "__main__":
    main()
