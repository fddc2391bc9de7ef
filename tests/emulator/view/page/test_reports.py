"""Reports in a browser, opened from a disk: charts with round ticks, legends, values at the pointer and zoom; and links
into the page of the run."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.command import ringhil
from tests.emulator.campaign.explore.servers import LYING
from tests.emulator.coverage.test_report import functional
from tests.emulator.front.cli.charts import shown

from ringhil.emulator.coverage.report import write
from ringhil.emulator.coverage.result import CoverageReport
from ringhil.emulator.front.cli.main import main
from ringhil.emulator.pages import one_file
from ringhil.emulator.pages.charts import Chart
from ringhil.emulator.trace.recording import Recording

from .test_page import AXE, WIDER, is_at

Opened = Callable[..., Page]
SOURCE = Path(__file__).resolve().parents[4] / "emulator/view/page/src"
NODE = Path(sys.executable).with_name("node")
SHARE = """server: {cards: {a: {gpus: 3}}, settings: {device_memory: 400, context_switch: 20, default_slice: 100}}
sharing:
  applications:
    x: {gpu: a.1, steps: 9, compute: 400, memory: 100}
    "y": {gpu: a.1, steps: 9, compute: 400, memory: 200}
"""
SWITCH = """server: {cards: {a: {gpus: 3}}, settings: {device_memory: 200}}
switching:
  gpu: a.1
  rate: 1000
  first_preset: 190
  tasks:
    x: {start: 9000, clean: 900, layers: [{name: l, weights: 50000000, operations: 5000000000}]}
    "y": {start: 9000, clean: 900, layers: [{name: l, weights: 120000000, operations: 5000000000}]}
  requests: [{task: x}, {task: "y"}, {task: x}]
"""
FEW = ("--faults", "skip_count,link_cut", "--places", "a.1,a.1-a.2", "--phases", 1, "--lasts", "left", "--no-shrink")
NAMES = ("share", "switch", "explore", "coverage")
TIME = re.compile(r"(?P<number>[\d,.]+) (?P<unit>d|h|min|s|ms|us|ns)")
# What is written on canvases, by chart, since they were drawn last.
LISTEN = """
  const write = CanvasRenderingContext2D.prototype.fillText, clear = CanvasRenderingContext2D.prototype.clearRect;
  CanvasRenderingContext2D.prototype.clearRect = function (...where) {
    this.canvas.said = []; clear.apply(this, where);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
    (this.canvas.said ??= []).push(text); write.call(this, text, ...where);
  };
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a report of each kind, and the pages into which these lead."""
    found = tmp_path_factory.mktemp("reports")
    for name, text in (("s", SHARE), ("w", SWITCH), ("lying", LYING)):
        (found / f"{name}.yaml").write_text(text)
    for words in (
        ("share", "s.yaml", "--html", "share.html", "--record", "s.rec"),
        ("switch", "w.yaml", "--policy", "pipelined", "--html", "switch.html", "--record", "runs"),
        ("explore", "lying.yaml", *FEW, "--out", "out", "--record", "--report", "explore.html"),
    ):
        done = ringhil(*words, cwd=found)
        assert done.returncode == (1 if words[0] == "explore" else 0), done.stdout + done.stderr
    write(CoverageReport(None, functional()), found / "coverage.html")
    return found


@pytest.fixture
def report(folder: Path, opened: Opened) -> Callable[..., Page]:
    def open_report(name: str, **options: object) -> Page:
        return opened((folder / f"{name}.html").as_uri(), first="main table", **options)

    return open_report


def told(folder: Path, name: str) -> list[Chart]:
    return shown((folder / f"{name}.html").read_text())


def pictures(page: Page) -> list[Locator]:
    """That are drawn, in their order."""
    return page.locator("figure.plot").all()


def drag(page: Page, over: Locator, begin: float, end: float) -> None:
    """From one part of its width to another."""
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] - 5
    page.mouse.move(box["x"] + begin * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + (begin + end) / 2 * box["width"], y, steps=3)
    page.mouse.move(box["x"] + end * box["width"], y, steps=3)
    page.mouse.up()


@pytest.mark.rest(but_one_in=4, start=3)
@pytest.mark.parametrize(("width", "scheme"), [(1600, "light"), (400, "dark")])
@pytest.mark.parametrize("name", NAMES)
def test_a_report_needs_nothing_and_axe_finds_nothing(
    folder: Path, report: Callable[..., Page], name: str, width: int, scheme: str
) -> None:
    """Each chart names all that is in it, and says to those who don't see it what it shows."""
    page = report(name, width=width, color_scheme=scheme)
    expect(page.get_by_text("Charts need JavaScript")).to_have_count(0)
    for figure, chart in zip(pictures(page), told(folder, name), strict=True):
        names = [each.name for each in (*chart.kinds, *chart.curves, *chart.bounds)]
        for folded in figure.locator("xpath=ancestor::details").all():
            folded.locator("summary").first.click()
        expect(figure.locator(".legend > *")).to_have_text(names)
        words = figure.get_by_role("img").get_attribute("aria-label") or ""
        assert all(each in words for each in (chart.title, *names, *(lane.name for lane in chart.lanes)))
    page.evaluate(AXE.read_text())
    found = page.evaluate("async () => (await axe.run()).violations")
    assert not [(each["id"], [node["target"] for node in each["nodes"]]) for each in found]
    assert page.evaluate(WIDER, width) == []


@pytest.mark.rest
@pytest.mark.parametrize("name", NAMES)
def test_without_scripts_its_tables_stand(browser: Browser, folder: Path, name: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / f"{name}.html").as_uri())
    assert page.locator("main table").count() > 0
    if told(folder, name):
        expect(page.get_by_text("Charts need JavaScript")).to_be_visible()
    context.close()


def test_ticks_are_round_all_in_one_unit_and_where_they_say(tmp_path: Path) -> None:
    """1, 2 or 5 times a power of ten apart, none too many, within what is seen; none is missing."""
    chance = random.Random(7)
    sizes = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "d": 86400.0}
    sizes |= {name: float(2 ** (10 * power)) for power, name in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))}
    sizes |= {"%": 0.01, "": 1.0, "cycles": 1.0}
    asked = []
    for _ in range(3000):
        begin = chance.choice((0.0, 10 ** chance.uniform(-6, 7)))
        quantity = chance.choice(("seconds", "bytes", "share", "count", "cycles"))
        asked.append((quantity, begin, begin + max(begin * 1e-6, 10 ** chance.uniform(-7, 8)), chance.randint(1, 20)))
    code = f"""
      import {{ readFileSync }} from "node:fs";
      import {{ ticks }} from {json.dumps((SOURCE / "ticks.ts").as_uri())};
      const asked = JSON.parse(readFileSync(0, "utf8"));
      console.log(JSON.stringify(asked.map((each) => ticks(...each))));
    """
    (tmp_path / "t.mts").write_text(code)
    done = subprocess.run(
        [NODE, tmp_path / "t.mts"], input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=True
    )
    for (_, begin, end, most), found in zip(asked, json.loads(done.stdout), strict=True):
        words = [tick["text"].partition(" ") for tick in found]
        units = {unit for _, _, unit in words}
        assert len(units) <= 1
        values = [Decimal(number.replace(",", "")) for number, _, _ in words]
        for value, tick in zip(values, found, strict=True):
            assert float(value) * sizes[next(iter(units))] == pytest.approx(tick["at"], rel=1e-9, abs=1e-15)
            assert begin - 1e-8 * end <= tick["at"] <= end * (1 + 1e-8)
        steps = {after - before for before, after in pairwise(values)}
        assert len(steps) <= 1
        for step in steps:
            assert "".join(map(str, step.normalize().as_tuple().digits)) in ("1", "2", "5")
        assert len(found) <= most + 1
        if steps and len(found) > 1:
            size = sizes[next(iter(units))]
            assert (end - begin) / size < (len(found) + 1) * float(next(iter(steps))) * (1 + 1e-6)


def test_at_a_point_the_value_is_that_of_the_point(tmp_path: Path) -> None:
    """Of steps from there on; of other curves also where it is the nearest."""
    chance, asked = random.Random(11), list[tuple[dict[str, Any], float]]()
    for _ in range(300):
        xs = sorted(chance.sample(range(1000), chance.randint(1, 12)))
        x = chance.choice((chance.choice(xs), chance.uniform(-10, 1010)))
        asked.append(({"xs": xs, "ys": [chance.random() for _ in xs], "steps": chance.random() < 0.5}, x))
    code = f"""
      import {{ readFileSync }} from "node:fs";
      import {{ valueAt }} from {json.dumps((SOURCE / "ticks.ts").as_uri())};
      console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((each) => valueAt(...each))));
    """
    (tmp_path / "v.mts").write_text(code)
    done = subprocess.run(
        [NODE, tmp_path / "v.mts"], input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=True
    )
    for (curve, x), found in zip(asked, json.loads(done.stdout), strict=True):
        points = list(zip(curve["xs"], curve["ys"], strict=True))
        if curve["steps"]:
            assert found == next((y for at, y in reversed(points) if at <= x), None)
        else:
            assert found == min(points, key=lambda point: abs(point[0] - x))[1]


@pytest.mark.rest
def test_on_a_narrow_screen_a_row_of_worst_cases_is_as_high_as_its_words(report: Callable[..., Page]) -> None:
    """And the table scrolls in its box, not the page."""
    page = report("explore", width=400)
    rows = page.locator("#worst tbody tr")
    assert rows.count()
    for row in rows.all():
        box = row.bounding_box()
        assert box is not None
        assert box["height"] < 250
    assert page.evaluate(WIDER, 400) == []


@pytest.mark.rest
def test_a_long_name_in_a_legend_is_broken(folder: Path, opened: Opened) -> None:
    text = (folder / "share.html").read_text()
    name = told(folder, "share")[0].curves[0].name
    assert f'"{name}"' in text
    (folder / "long.html").write_text(text.replace(f'"{name}"', json.dumps("application_" * 20)))
    page = opened((folder / "long.html").as_uri(), first="main table", width=400)
    expect(page.locator(".legend button", has_text="application_application").first).to_be_visible()
    assert page.evaluate(WIDER, 400) == []


def seen(figure: Locator) -> list[tuple[Decimal, str]]:
    """The ticks of time of a chart."""
    words = figure.locator("canvas").evaluate("each => each.said")
    found = [TIME.fullmatch(text) for text in words]
    return [(Decimal(each["number"].replace(",", "")), each["unit"]) for each in found if each]


@pytest.mark.rest
def test_a_drag_looks_closer_and_a_double_click_shows_all(browser: Browser, folder: Path) -> None:
    """Both by keys as well; ticks are in one unit each time."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.add_init_script(LISTEN)
    page = context.new_page()
    page.goto((folder / "share.html").as_uri())
    figure = page.locator("figure.plot").first
    all_of_it = figure.get_by_role("button", name="all of it")
    expect(all_of_it).to_be_hidden()
    whole = seen(figure)
    over = figure.locator(".u-over")
    picture = figure.get_by_role("img")

    def closer(part: float) -> None:
        expect(all_of_it).to_be_visible()
        ticks = seen(figure)
        assert len({unit for _, unit in ticks}) == len({unit for _, unit in whole}) == 1
        sizes = {"s": 1_000_000, "ms": 1000, "us": 1}
        before, after = ((each[-1][0] - each[0][0]) * sizes[each[0][1]] for each in (whole, ticks))
        assert after < 2 * part * float(before)

    drag(page, over, 0.4, 0.6)
    closer(0.2)
    over.dblclick(position={"x": 50, "y": 5})
    expect(all_of_it).to_be_hidden()
    assert seen(figure) == whole
    picture.focus()
    page.keyboard.press("+")
    page.keyboard.press("+")
    closer(0.25)
    page.keyboard.press("0")
    expect(all_of_it).to_be_hidden()
    assert seen(figure) == whole
    page.keyboard.press("+")
    all_of_it.click()
    assert seen(figure) == whole
    context.close()


@pytest.mark.rest
def test_what_is_at_the_pointer_is_told_and_a_name_that_is_pressed_hides_its_curve(
    folder: Path, report: Callable[..., Page]
) -> None:
    page = report("share", width=1200)
    chart = told(folder, "share")[0]
    figure = page.locator("figure.plot").first
    over, key = figure.locator(".u-over"), figure.get_by_role("button", name="memory held")
    box = over.bounding_box()
    assert box is not None
    assert chart.x.end is not None
    for part in (0.1, 0.5, 0.97):
        over.hover(position={"x": part * box["width"], "y": box["height"] - 9})
        at = part * chart.x.end
        held = [y for x, y in zip(chart.curves[0].xs, chart.curves[0].ys, strict=True) if x <= at][-1]
        expect(key.locator("b")).to_have_text(f"{(held or 0) / 2**20:,.4g} MiB")
        expect(figure.get_by_role("status")).to_contain_text("s")
    expect(key).to_have_attribute("aria-pressed", "true")
    key.click()
    expect(key).to_have_attribute("aria-pressed", "false")


@pytest.mark.rest
@pytest.mark.parametrize(("name", "place", "recording"), [("share", 1, "s.rec"), ("switch", 0, "runs/pipelined.rec")])
def test_a_bar_leads_to_its_moment_of_the_run(
    folder: Path, report: Callable[..., Page], name: str, place: int, recording: str
) -> None:
    """To the last that was seen when it began."""
    chart = told(folder, name)[place]
    assert chart.x.begin is not None
    assert chart.x.end is not None
    begin, end = chart.x.begin, chart.x.end
    lane, bar = max(
        ((n, bar) for n, lane in enumerate(chart.lanes) for bar in lane.bars if begin <= bar.begin and bar.end <= end),
        key=lambda each: each[1].end - each[1].begin,
    )
    page = report(name, width=1200)
    figure = page.locator("figure.plot").nth(place)
    over = figure.locator(".u-over")
    box = over.bounding_box()
    assert box is not None
    x = ((bar.begin + bar.end) / 2 - begin) / (end - begin) * box["width"]
    at = {"x": x, "y": 24 * lane + (6 if chart.kinds[bar.kind].half == "upper" else 16)}
    over.hover(position=at)
    expect(figure.get_by_role("status")).to_contain_text(f"{bar.title}: ")
    over.click(position=at)
    page.wait_for_url(re.compile(re.escape(f"{Path(recording).name}.html#")))
    number = int(page.url.partition("#")[2])
    is_at(page, number)
    with Recording(folder / recording) as kept:
        (here,) = kept.all(number, number)
        after = next(kept.all(number + 1, number + 1), None)
    assert after is None or after.cycle > here.cycle
    if name == "share":  # in microseconds, as cycles are
        assert here.cycle <= round(bar.begin * 1e6) < (after or here).cycle
    assert bar.link is not None
    assert page.url.endswith(bar.link)


@pytest.mark.rest
def test_a_failing_case_leads_to_its_first_failure(folder: Path, report: Callable[..., Page]) -> None:
    page = report("explore")
    page.locator("#failures").get_by_role("row", name="skip_count").get_by_role("link").first.click()
    page.wait_for_url(re.compile(r"case-\d+-.*\.html#\d+$"))
    is_at(page, int(page.url.partition("#")[2]))
    data = page.evaluate("() => JSON.parse(document.getElementById('ringhil').textContent).about.failures")
    assert data[0]["row"] == int(page.url.partition("#")[2])


@pytest.mark.rest
def test_colours_are_those_of_the_page(report: Callable[..., Page]) -> None:
    page = report("coverage", color_scheme="dark")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.keyboard.press("t")
    assert page.evaluate(ground) != dark
    page.get_by_role("button", name="light").click()
    assert page.evaluate(ground) == dark


@pytest.mark.parametrize(
    "words",
    [
        ("share", "none.yaml", "--html", "r.html"),
        ("switch", "none.yaml", "--html", "r.html"),
        ("explore", "none.yaml", "--report", "r.html"),
        ("explore", "merge", "all.sqlite", "none.sqlite", "--report", "r.html"),
        ("rtl", "coverage", "none.json", "-o", "r.html"),
    ],
)
def test_without_what_the_page_is_built_of_no_work_is_begun(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """Not even their input is looked at, which isn't there."""
    monkeypatch.setattr(one_file, "BUILT", folder / "none")
    one_file.report_parts.cache_clear()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["ringhil", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    one_file.report_parts.cache_clear()
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("the page was not built: found no emulator/view/built/report.js; `make page` builds it")
    assert not (folder / "r.html").exists()
