"""The page of `ringhil view`, used by mouse and keyboard: what it shows is what the Python API says."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.command import ringhil
from tests.emulator.debug.test_failures import LIAR
from tests.emulator.debug.test_replaying import record

from ringhil.emulator.debug.commands import NAMES, values
from ringhil.emulator.debug.condition import Condition, parse
from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads
from ringhil.protocol.registers import ControlBit, StatusBit

from .conftest import SERVER, viewed

Opened = Callable[..., Page]
AXE = Path(__file__).resolve().parents[4] / "emulator/view/page/node_modules/axe-core/axe.min.js"


def now(page: Page) -> int:
    """The cycle that is shown."""
    return int(page.get_by_test_id("now").locator("b").inner_text().replace(",", ""))


def chosen(page: Page) -> Locator:
    """The line of the list that is chosen."""
    return page.get_by_role("listbox", name="Messages and events").get_by_role("option", selected=True)


def is_at(page: Page, number: int) -> None:
    """A row is chosen, and what is known of it is shown."""
    expect(page.locator(f"#row-{number}[aria-selected=true]")).to_be_visible()
    expect(page.get_by_role("tabpanel")).to_contain_text(f"row {number:,} ")


def fields(page: Page) -> dict[str, str]:
    """Names and values that the panel shows."""
    rows = page.locator("#detail .detail > table.fields > tbody > tr").all()
    return {row.locator("> th").inner_text(): row.locator("> td").inner_text() for row in rows}


def holds(text: str, session: DebugSession) -> Condition:
    return parse(text, NAMES, values(session.recording.gpus))


@pytest.mark.rest
def test_of_a_run_that_failed_the_failure_comes_first(opened: Opened, tmp_path: Path) -> None:
    path = record(tmp_path / "r", firmware=LIAR)
    with viewed(path) as url, DebugSession(path, cells_library(), firmware=LIAR) as session:
        page = opened(url)
        found = session.failures[0]
        assert session.failure(found)
        is_at(page, session.number)
        expect(page.get_by_test_id("now").locator("b")).to_have_text(f"{session.cycle:,}")
        page.keyboard.press("Home")
        assert now(page) == 0
        page.get_by_role("button", name="fail").click()
        page.get_by_role("dialog").get_by_role("button", name=found["text"]).first.click()
        is_at(page, session.number)
        expect(page.get_by_test_id("now").locator("b")).to_have_text(f"{session.cycle:,}")
        page.close()


@pytest.mark.rest
def test_what_was_expected_and_was_not_so_is_said(opened: Opened, url: str) -> None:
    page = opened(url)
    page.get_by_role("button", name="fail").click()
    expect(page.get_by_role("dialog")).to_contain_text("expected at 17000: count of card a is 5; found card a: count 4")


def test_names_with_markup_are_text(opened: Opened, url: str) -> None:
    expect(opened(url).get_by_role("heading", level=1)).to_have_text('two cards & a <b onclick="alert(1)">dead</b> GPU')


def test_plays_pauses_and_goes_to_both_ends(opened: Opened, url: str, session: DebugSession) -> None:
    page = opened(url)
    last = session.recording.last_cycle
    page.get_by_label("To the start").click()
    assert now(page) == 0
    page.get_by_label("Speed").select_option("5000")
    page.get_by_label("Play").click()
    page.wait_for_function("() => +document.querySelector('.now b').textContent.replace(',', '') > 1000")
    page.get_by_label("Pause").click()
    stopped = now(page)
    page.wait_for_timeout(150)
    assert now(page) == stopped < last
    page.get_by_label("To the end").click()
    assert now(page) == last
    is_at(page, session.recording.last_number)
    slider = page.get_by_label("Cycle", exact=True)
    for cycle in (0, last // 3, last):
        slider.fill(str(cycle))
        assert now(page) == cycle


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("condition", ["kind == Counted and count < 5", "kind == election and way == to_cpu"])
def test_search_finds_what_step_finds(opened: Opened, url: str, session: DebugSession, condition: str) -> None:
    page = opened(url)
    page.keyboard.press("Home")
    page.keyboard.press("/")
    page.keyboard.insert_text(condition)
    page.keyboard.press("Enter")
    session.go(0)
    for _ in range(2):
        assert session.until(holds(condition, session))
        expect(page.locator(f"#row-{session.number}[aria-selected=true]")).to_be_visible()
        page.get_by_label("The next one").click()
    expect(page.locator(f"#row-{session.number}[aria-selected=true]")).to_have_count(0)
    page.get_by_label("The one before").click()
    expect(page.locator(f"#row-{session.number}[aria-selected=true]")).to_be_visible()


def test_a_wrong_condition_is_said_with_its_place(opened: Opened, url: str) -> None:
    page = opened(url)
    page.get_by_label("Condition to look for").fill("kind == Cuonted")
    with page.expect_event("console"):  # the refusal
        page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Counted")


@pytest.mark.rest
def test_a_frame_on_its_way_shows_its_message(opened: Opened, url: str) -> None:
    page = opened(url)
    page.get_by_label("Cycle", exact=True).fill("12345")
    page.wait_for_function("() => document.querySelector('canvas').dataset.frames > 0")
    place = page.evaluate(
        """() => {
          const canvas = document.querySelector("[data-testid=frames]"), box = canvas.getBoundingClientRect();
          const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          for (let at = 0; at < data.length; at += 4)
            if (data[at + 3] === 255) return [box.x + ((at / 4) % width), box.y + Math.floor(at / 4 / width) + 2];
        }"""
    )
    page.mouse.move(*place)
    said = page.locator(".tip").inner_text()
    page.mouse.click(*place)
    expect(page.locator("#detail .title")).to_have_text(said.split()[0])
    expect(page.locator("#detail")).to_contain_text("Links that it passed")


def _agrees(page: Page, session: DebugSession, number: int) -> None:
    """The page at a row that was found through its controls."""
    here = session.here
    assert here is not None
    expect(page.get_by_test_id("now").locator("b")).to_have_text(f"{here.cycle:,}")
    shown = fields(page)
    for name, value in session.fields(here).items():
        if name in ("number", "cycle", "gpu", "kind", "bad"):  # above the fields
            continue
        if isinstance(value, bool | str):
            assert shown[name] == str(value).lower() if isinstance(value, bool) else str(value), (number, name)
        elif isinstance(value, int):
            assert shown[name] == f"{value:,}", (number, name)
    expect(page.locator(f"svg[data-exact='{here.cycle}']")).to_have_count(1)
    for gpu in session.recording.gpus:
        registers, works = session.registers(gpu), session.firmware(gpu) is not None
        words = {
            "entry": registers["control"] & ControlBit.ENTRY if works else 0,
            "boundary": registers["control"] & ControlBit.BOUNDARY if works else 0,
            "bypassed": registers["status"] & (StatusBit.BYPASS_CW | StatusBit.BYPASS_CCW),
        }
        said = (page.locator(f"[data-gpu='{gpu}']").get_attribute("aria-label") or "").split()
        assert {word for word in words if word in said} == {word for word, bit in words.items() if bit}, (number, gpu)
    for card in session.scenario.server.cards:
        knows, said = session.card(card.name), page.locator("svg .card", has_text=f"card {card.name}")
        counts = session.recording.events(1, here.number)
        before = any(
            event.kind == "Counted" and session.recording.gpus[event.cell or 0][0] == card.name for event in counts
        )
        expect(said).to_contain_text(
            f"{knows['count']} of {card.gpus}" if knows["count"] else "GPUs counted" if before else "not counted yet"
        )
        expect(said.get_by_text("unreachable")).to_have_count(int(before and not knows["reachable"]))


@pytest.mark.rest
@pytest.mark.parametrize("moments", [4, pytest.param(100, marks=pytest.mark.slow(part="pages"))])
def test_at_random_moments_it_shows_what_python_says(
    opened: Opened, url: str, session: DebugSession, moments: int
) -> None:
    page, draw = opened(url), random.Random(moments)
    for _ in range(moments):
        number = draw.randint(1, session.recording.last_number)
        session.go(0)
        page.get_by_label("Cycle", exact=True).fill("0")
        page.get_by_label("Condition to look for").fill(f"number == {number}")
        page.keyboard.press("Enter")
        assert session.until(holds(f"number == {number}", session))
        is_at(page, number)
        _agrees(page, session, number)


@pytest.mark.rest
def test_a_gpu_shows_its_registers_and_a_card_what_the_cpu_knows(
    opened: Opened, url: str, session: DebugSession
) -> None:
    page = opened(url)
    session.go(12345)
    page.get_by_label("Cycle", exact=True).fill("12345")
    is_at(page, session.number)
    page.locator("[data-gpu='a.3'] .box").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("Registers")
    panel = page.get_by_role("tabpanel")
    for name, value in session.registers("a.3").items():
        expect(panel.get_by_role("row", name=re.compile(rf"^{name} {value:,}\b"))).to_have_count(1)
    page.get_by_role("tab", name="Card").click()
    page.get_by_role("combobox", name="Card").select_option("b")
    expect(panel).to_contain_text("What the CPU knows")
    expect(panel.get_by_role("row", name=f"count {session.card('b')['count']}", exact=True).first).to_be_visible()


WIDER = """width => document.documentElement.scrollWidth <= width ? [] : [...document.querySelectorAll("*")]
  .filter(each => each.getBoundingClientRect().right > width).map(each => each.tagName + "." + each.className)"""
FARTHER = "before => +document.querySelector('.now b').textContent.replaceAll(',', '') > before"
RING = """
server: {cards: {big: {gpus: 64}}}
workload: {units: 100, size: 1024}
until: 8000
"""
DRAWN = """() => new Promise(done => {
  const start = performance.now(), shown = new Set();
  const count = now => {
    shown.add(document.querySelector("[data-testid=frames]").dataset.drawn);
    if (now - start > 1500) done(1000 * shown.size / (now - start)); else requestAnimationFrame(count);
  };
  requestAnimationFrame(count);
})"""
SCHEMES = [(width, scheme) for width in (400, 1600) for scheme in ("light", "dark")]


@pytest.mark.rest(but_one_in=4, start=1)
@pytest.mark.parametrize(("width", "scheme"), SCHEMES)
def test_axe_finds_nothing(opened: Opened, url: str, width: int, scheme: str) -> None:
    page = opened(url, width, color_scheme=scheme)
    page.get_by_label("Cycle", exact=True).fill("12345")
    expect(page.locator("#detail")).to_contain_text("row ")

    def check(where: str) -> None:
        page.evaluate(AXE.read_text())
        found = page.evaluate("async () => (await axe.run()).violations")
        assert not [(where, each["id"], [node["target"] for node in each["nodes"]]) for each in found]

    check("message")
    page.get_by_role("tab", name="GPU").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("Registers")
    check("GPU")
    page.get_by_role("tab", name="Card").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("What the CPU knows")
    check("card")
    page.get_by_label("Keys").click()
    check("keys")
    assert page.evaluate(WIDER, width) == []


def test_all_of_it_goes_by_keyboard(opened: Opened, url: str, session: DebugSession) -> None:
    page = opened(url)
    press = page.keyboard.press
    press("End")
    is_at(page, session.recording.last_number)
    press("Home")
    expect(chosen(page)).to_have_count(1)
    expect(chosen(page)).not_to_have_id(f"row-{session.recording.last_number}")
    first = int(chosen(page).get_attribute("aria-posinset") or "")
    for key, by in (("ArrowRight", 1), ("l", 1), ("j", 1), ("ArrowUp", -1), ("h", -1), ("PageDown", 20), ("k", -1)):
        press(key)
        first += by
        is_at(page, first)
    kind = page.locator("#detail .title").inner_text()
    press(".")
    expect(chosen(page)).not_to_have_id(f"row-{first}")
    expect(page.locator("#detail .title")).to_have_text(kind)
    press(",")
    is_at(page, first)
    press("]")
    expect(page.locator("#detail .title")).to_have_text("GPU a.1")
    press("[")
    expect(page.locator("#detail .title")).to_have_text("GPU a.0")
    press(" ")
    expect(page.get_by_label("Pause")).to_be_visible()
    press("f")
    expect(page.get_by_label("Speed")).to_have_value("1000")
    press("s")
    press(" ")
    expect(page.get_by_label("Play")).to_be_visible()
    press("?")
    expect(page.get_by_role("dialog")).to_contain_text("play, pause")
    press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


@pytest.mark.rest
def test_every_control_is_reached_by_tab(opened: Opened, url: str) -> None:
    page = opened(url)
    wanted = page.evaluate("document.querySelectorAll('button:enabled, select, input, [tabindex=\"0\"]').length")
    reached = set()
    for _ in range(wanted + 5):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("""() => {
          const at = document.activeElement;
          return at.getAttribute("aria-label") || at.id || at.textContent;
        }""")
        )
    assert {"Messages and events", "Cycle", "Speed", "Condition to look for", "statistics", "tab-message"} <= reached
    assert any(label.startswith("GPU a.0") for label in reached)


@pytest.mark.rest
def test_a_run_that_goes_on_is_followed_to_its_end(opened: Opened, tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(SERVER + "until: 2000000\n")
    with viewed(file) as url:
        page = opened(url)
        live = page.get_by_text("live", exact=True)
        expect(live).to_be_visible()
        before = now(page)
        page.wait_for_function(FARTHER, arg=before)
        expect(live).to_have_count(0, timeout=60_000)
        last = page.get_by_test_id("now").inner_text().partition("/")[2]
        expect(page.get_by_test_id("now").locator("b")).to_have_text(last.strip())
        expect(page.get_by_role("button", name="fail")).to_be_visible()
        page.close()


@pytest.mark.rest
def test_64_gpus_are_drawn_30_times_a_second(opened: Opened, tmp_path: Path) -> None:
    record_run(tmp_path / "r", loads(RING), cells_library())
    with viewed(tmp_path / "r") as url:
        page = opened(url)
        page.keyboard.press("Home")
        page.get_by_label("Play").click()
        page.wait_for_function("() => document.querySelector('canvas').dataset.frames > 0")
        drawn = max(page.evaluate(DRAWN) for _ in range(3))  # other tests take their turns
        page.close()
    assert drawn >= 30


@pytest.mark.rest
def test_one_file_shows_the_rows_that_it_has(opened: Opened, recorded: Path, tmp_path: Path) -> None:
    """Of a short run all of them, without a server."""
    file = tmp_path / "r.html"
    assert ringhil("view", recorded, "--html", file).returncode == 0
    page = opened(file.as_uri())
    with DebugSession(recorded, cells_library()) as session:
        page.keyboard.press("End")
        is_at(page, session.recording.last_number)
        page.get_by_label("Words to look for").fill("Struck")
        page.keyboard.press("Enter")
        session.go(session.recording.last_cycle)
        assert session.back_until(holds("kind == Struck", session))
        page.get_by_label("The one before").click()
        is_at(page, session.number)
        page.get_by_label("Cycle", exact=True).fill("1000")
        page.get_by_label("Play").click()
        page.wait_for_function("() => document.querySelector('canvas').dataset.frames > 0")


@pytest.mark.rest
def test_the_same_moment_is_in_other_tools(opened: Opened, recorded: Path, session: DebugSession) -> None:
    """And an address names a moment."""
    with viewed(recorded) as url:
        page = opened(f"{url}#77")
        is_at(page, 77)
        page.keyboard.press("o")
        box = page.get_by_role("dialog")
        session.go_to(77)
        for tool, command in session.elsewhere().items():
            expect(box.get_by_role("heading", name=tool)).to_be_visible()
            if tool == "editor":
                expect(box.get_by_role("link")).to_have_attribute("href", command)
            else:
                expect(box.get_by_text(command, exact=True)).to_be_visible()
        page.keyboard.press("Escape")
        expect(box).to_be_hidden()
        page.close()
