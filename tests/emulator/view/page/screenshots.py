"""The pictures of docs/howto/view.md, cluster.md and lending.md, and the one that moves in README.md, each from a run:
`python -m tests.emulator.view.page.screenshots`, or with the names of some: `view`, `cluster`, `loans`. The one that
moves needs ffmpeg."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from tests.command import ringhil, started
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


def view(browser: Browser, folder: Path) -> None:
    """Two rings, one of which loses its entry GPU."""
    recording = folder / "f.rec"
    ringhil("run", ROOT / "examples/fail-over.yaml", "--record", recording)
    with viewed(recording) as url:
        for name, width, height, scheme in (("view.png", 1600, 900, "light"), ("view-narrow.png", 400, 800, "dark")):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            take(context.new_page(), url, name)
            context.close()
        film(browser.new_page(viewport={"width": 1250, "height": 780}), url, IMAGES / "view.webp")


def cluster(browser: Browser, folder: Path) -> None:
    """Nine servers by four policies, when most is used."""
    policies = [word for name in ("pack-first", "power-first", "best-fit", "pwr") for word in ("--policy", name)]
    ringhil("place", ROOT / "examples/cluster.yaml", *policies, "--fleet", "table", "--html", folder / "c.html")
    page = browser.new_page(viewport={"width": 1600, "height": 900})
    page.goto((folder / "c.html").as_uri())
    page.get_by_label("Curves of").select_option("Power")
    page.get_by_role("combobox", name="Server").select_option("mixed")
    page.screenshot(path=IMAGES / "cluster.png")


LENDER = """
name: lender
server:
  cards:
    a: {gpus: 6, host_links: [0, 1], types: {default: T4}}
  power:
    T4: {run_power: 700, idle_power: 100}
"""
KINDS = ("training", "serving", "video")


def loans(browser: Browser, folder: Path) -> None:
    """A lender with three guests at a time, one of which still has its GPU."""
    (folder / "server.yaml").write_text(LENDER)
    words = ("lend", "serve", "server.yaml", "--attachment", "sim", "--work", 1.5, "--sample", 0.2)
    with started(*words, "--json", stdout=subprocess.PIPE, cwd=folder) as server:
        ready = json.loads(server.stdout.readline())

        def asked(method: str, path: str, **what: object) -> dict[str, object]:
            head = {"Authorization": f"Bearer {ready['token']}", "Content-Type": "application/json"}
            body = json.dumps(what).encode() if what else None
            with urllib.request.urlopen(
                urllib.request.Request(ready["url"] + path, body, head, method=method)
            ) as answer:
                found: dict[str, object] = json.load(answer)
            return found

        there = list[object]()
        for guest in range(9):
            loan = asked("POST", "/v1/loans", node=f"i-{guest + 32:08x}", kind=KINDS[guest % 3], size=1 << 30)
            there.append(loan["id"])
            time.sleep(1.2)
            if len(there) > 2:
                asked("DELETE", f"/v1/loans/{there.pop(0)}")
        time.sleep(1.5)
        server.terminate()
    ringhil("lend", "usage", "--html", "l.html", cwd=folder)
    page = browser.new_page(viewport={"width": 1600, "height": 900})
    page.goto((folder / "l.html").as_uri())
    page.get_by_role("option").filter(has_text="lent").nth(4).click()
    page.screenshot(path=IMAGES / "loans.png")


def main(names: list[str]) -> None:
    """Write them."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for picture in (view, cluster, loans):
            if not names or picture.__name__ in names:
                picture(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
