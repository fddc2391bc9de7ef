"""The page of a cluster, used by mouse and keyboard: what it shows is what was played."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect
from tests.command import ringhil
from tests.emulator.cluster.clusters import ONE, cluster, server

from ringhil.emulator.cluster.cluster import WHOLE, ClusterFault, ClusterTask, GpuCluster, TaskNeeds
from ringhil.emulator.cluster.play import PlacementRun, play
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.front.cli.place_page import about, run_view
from ringhil.emulator.view.alone import in_one
from ringhil.emulator.view.files import built
from ringhil.emulator.view.fleet import CLUSTER

from .conftest import viewed
from .test_page import AXE, SCHEMES, WIDER

Opened = Callable[..., Page]
HOSTILE = "<img src=x onerror=alert(1)>\u202etxt"
SEEN = "<img src=x onerror=alert(1)>\\u202etxt"
END = 100.0
EXAMPLE = Path(__file__).resolve().parents[4] / "examples/cluster.yaml"


class Shown(NamedTuple):
    """A page, and what it shows."""

    url: str
    cluster: GpuCluster
    played: dict[str, PlacementRun]


def given() -> GpuCluster:
    """Of every state and happening some: shares, gangs, tasks without a GPU, what waits, what fails."""
    servers = [server("a", [70, 70], 5.0), server(HOSTILE, [70, 40, 40], 2.0, busy=[2]), server("c", [40] * 9, 7.0)]
    tasks = [
        ClusterTask("memory", TaskNeeds(0, WHOLE, 0, 64, ()), 1.0, 70.0),  # wakes nobody
        ClusterTask(HOSTILE, TaskNeeds(1, 300, 1000, 0, ()), 3.0, 30.0),
        ClusterTask("other", TaskNeeds(1, 500, 1000, 0, ()), 5.0, 90.0),
        ClusterTask("two", replace(ONE, gpus=2), 10.0, 50.0),
        ClusterTask("cpus", TaskNeeds(0, WHOLE, 1000, 0, ()), 20.0, 20.0),
        ClusterTask("gang", replace(ONE, gpus=2), 30.0, 30.0, members=3),
        ClusterTask("late", replace(ONE, gpus=8), 35.0, 30.0),
        ClusterTask("never", replace(ONE, gpus=10), 40.0, 60.0),
    ]
    faults = (ClusterFault(50.0, 70.0, 0), ClusterFault(61.0, float("inf"), 2, gpu=8))
    return replace(cluster(servers, tasks), until=END, faults=faults, census=5.0, name=f"cluster {HOSTILE}")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    found = given()
    played = {name: play(found, POLICIES[name], 0) for name in ("pack-first", "random", "fgd")}
    told = about(found, "3 servers", ["policy"], [[name] for name in played], ["said"], run_view(found, played))
    path = tmp_path_factory.mktemp("cluster") / "c.html"
    path.write_text(in_one(built(), told, CLUSTER))
    return Shown(path.as_uri(), found, played)


def states(found: GpuCluster, run: PlacementRun, now: float) -> list[list[str]]:
    """Of each GPU of each server, from what was played."""
    on = [
        (each.task.needs, placed)
        for each in run.tasks.values()
        for began, ended, where in (
            (each.began, each.ended, each.everywhere),
            *((lost.began, lost.ended, lost.everywhere) for lost in each.lost),
        )
        if began is not None and began <= now and (ended is None or ended > now)
        for placed in where
    ]
    awake = {placed.server for needs, placed in on if needs.gpus or needs.cpus}

    def state(row: int, gpu: int) -> str:
        if any(fault.strikes(row, gpu) and fault.at <= now < fault.ends for fault in found.faults):
            return "failed"
        if gpu in found.servers[row].busy:
            return "taken"
        shares = [needs.share for needs, placed in on if placed.server == row and gpu in placed.gpus]
        if shares:
            return "used" if WHOLE in shares else "shared"
        return "idle" if row in awake or found.servers[row].busy else "sleeping"

    return [[state(row, gpu) for gpu in range(len(each.types))] for row, each in enumerate(found.servers)]


def seen(page: Page, servers: int) -> list[list[str]]:
    """What the page says of each GPU, server by server."""
    found = []
    for row in range(servers):
        page.get_by_role("combobox", name="Server").select_option(str(row))
        found.append(page.locator("table.gpus [data-state]").all_inner_texts())
    return found


def counts(page: Page) -> dict[str, int]:
    """What it has counted of each state."""
    return {
        each.get_attribute("data-count") or "": int(each.inner_text()) for each in page.locator("[data-count]").all()
    }


def now(page: Page) -> str:
    """The moment that is shown."""
    return page.get_by_test_id("now").locator("b").inner_text()


@pytest.mark.rest
def test_at_any_moment_every_gpu_is_as_it_was_played(opened: Opened, shown: Shown) -> None:
    page, draw = opened(shown.url), random.Random(5)
    everything = set[str]()
    moments = [(draw.choice([*shown.played]), draw.uniform(0, END)) for _ in range(20)]
    for policy, moment in [("random", 2.0), *moments]:
        page.get_by_label("Policy").select_option(policy)
        page.get_by_label("Moment").fill(f"{moment:.3f}")
        wanted = states(shown.cluster, shown.played[policy], moment)
        assert seen(page, len(wanted)) == wanted
        sums = Counter(state for each in wanted for state in each)
        assert counts(page) == {state: sums[state] for state in counts(page)}
        everything |= {*sums}
    assert everything == {"idle", "used", "shared", "sleeping", "taken", "failed"}


def test_what_happened_is_listed_in_order_and_each_goes_there(opened: Opened, shown: Shown) -> None:
    page = opened(shown.url)
    run = shown.played["pack-first"]
    tries = (at for each in run.tasks.values() for at in (each.began, *(lost.began for lost in each.lost)))
    began = sorted(at for at in tries if at is not None)
    page.keyboard.press("Home")
    assert now(page) == "0 s"
    rows = page.get_by_role("listbox").get_by_role("option")
    assert [float(text.split()[0]) for text in rows.locator(".cycle").all_inner_texts()] == sorted(
        float(text.split()[0]) for text in rows.locator(".cycle").all_inner_texts()
    )
    placed = rows.filter(has=page.get_by_text("placed", exact=True))
    assert [float(text.split()[0]) for text in placed.locator(".cycle").all_inner_texts()] == began
    for kind in ("waits", "failed", "well again", "ended"):
        rows.filter(has=page.get_by_text(kind, exact=True)).first.click()
        chosen = page.locator("[role=option][aria-selected=true]")
        assert chosen.locator(".kind").inner_text() == kind
        assert now(page) == chosen.locator(".cycle").inner_text()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[role=option][aria-selected=true]")).to_have_count(1)


@pytest.mark.rest
def test_a_task_is_told_with_all_its_members(opened: Opened, shown: Shown) -> None:
    page = opened(shown.url)
    page.get_by_role("listbox").get_by_role("option").filter(has_text="gang").first.click()
    detail = page.locator("#detail")
    expect(detail.locator(".title")).to_have_text("gang")
    gang = shown.played["pack-first"].tasks["gang"]
    told = detail.locator("ul.plain li").all_inner_texts()
    assert [text.split()[-2:] for text in told] == [
        [f"a.{one},", f"a.{other}"] for one, other in (placed.gpus for placed in gang.everywhere)
    ]
    fields = dict(
        zip(detail.locator(".fields th").all_inner_texts(), detail.locator(".fields td").all_inner_texts(), strict=True)
    )
    assert (fields["came"], fields["began"]) == (f"{gang.task.at:g} s", f"{gang.began:g} s")
    assert fields["waited"] == f"{(gang.began or 0) - gang.task.at:g} s"
    assert "try" not in fields


@pytest.mark.rest
def test_tries_that_were_lost_are_told_each(opened: Opened, shown: Shown) -> None:
    page = opened(shown.url)
    (lost,) = shown.played["pack-first"].tasks["two"].lost
    rows = page.get_by_role("listbox").get_by_role("option")
    row = rows.filter(has=page.get_by_text("lost", exact=True)).filter(has_text="two")
    assert row.locator(".cycle").inner_text() == f"{lost.ended:g} s"
    row.click()
    fields = page.locator("#detail .fields")
    expect(fields.get_by_role("row").filter(has_text="lost")).to_contain_text(f"{lost.ended:g} s")
    fields.get_by_role("button", name="2", exact=True).click()
    expect(fields.get_by_role("row").filter(has_text="waited again from")).to_contain_text(f"{lost.ended:g} s")


@pytest.mark.rest
def test_it_plays_and_goes_to_both_ends(opened: Opened, shown: Shown) -> None:
    page = opened(shown.url)
    page.keyboard.press("Home")
    page.get_by_label("Speed").select_option("5")
    page.keyboard.press("Space")
    page.wait_for_function("() => parseFloat(document.querySelector('.now b').textContent) > 10")
    page.get_by_label("Pause").click()
    stopped = now(page)
    page.wait_for_timeout(150)
    assert now(page) == stopped != "100 s"
    page.keyboard.press("End")
    assert now(page) == "100 s"
    page.get_by_label("Play").click()  # from the start again
    page.wait_for_function("() => parseFloat(document.querySelector('.now b').textContent) < 50")


@pytest.mark.rest
def test_servers_are_chosen_by_keyboard_and_by_mouse(opened: Opened, shown: Shown) -> None:
    page = opened(shown.url)
    title = page.locator("#detail .title")
    expect(title).to_have_text("a")
    page.get_by_role("img", name="Map of 3 servers").focus()
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text(SEEN)
    page.keyboard.press("End")
    expect(title).to_have_text("c")
    page.keyboard.press("Home")
    page.locator("h1").click()
    page.keyboard.press("]")
    expect(title).to_have_text(SEEN)
    page.get_by_role("img", name="Map of 3 servers").click(position={"x": 14, "y": 30})
    expect(title).to_have_text("a")


@pytest.mark.rest
def test_a_look_at_a_part_of_the_time_moves_scrubber_and_curves(opened: Opened, shown: Shown) -> None:
    page = opened(shown.url)
    slider = page.get_by_label("Moment")
    page.keyboard.press("+")
    first, last = (float(slider.get_attribute(name) or "") for name in ("min", "max"))
    assert last - first == pytest.approx(END / 2)
    page.keyboard.press("-")
    assert float(slider.get_attribute("max") or "") == END
    box = page.locator(".plot.low .u-over").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 4, box["y"] + 20)
    assert float(now(page).split()[0]) == pytest.approx(END / 4, abs=1)


@pytest.mark.rest
def test_every_figure_has_its_curves_of_all_policies(opened: Opened, shown: Shown) -> None:
    page = opened(shown.url)
    page.get_by_role("tab", name="Curves").click()
    plots = page.locator(".plots figure")
    expect(plots).to_have_count(6)
    for plot in plots.all():
        assert plot.locator(".legend button").all_inner_texts() == [*shown.played]
    page.get_by_role("tab", name="Figures").click()
    expect(page.get_by_role("tabpanel", name="Figures")).to_contain_text("said")


@pytest.mark.rest
@pytest.mark.parametrize(("width", "scheme"), SCHEMES)
def test_axe_finds_nothing(opened: Opened, shown: Shown, width: int, scheme: str) -> None:
    page = opened(shown.url, width, color_scheme=scheme)

    def check(where: str) -> None:
        page.evaluate(AXE.read_text())
        found = page.evaluate("async () => (await axe.run()).violations")
        assert not [(where, each["id"], [node["target"] for node in each["nodes"]]) for each in found]

    check("map")
    page.get_by_role("tab", name="Curves").click()
    page.get_by_role("option").filter(has_text="gang").first.click()
    check("curves and a task")
    page.get_by_role("tab", name="Figures").click()
    page.get_by_label("Keys").click()
    check("figures and keys")
    assert page.evaluate(WIDER, width) == []


@pytest.mark.rest
def test_names_are_texts(opened: Opened, shown: Shown) -> None:
    """What would turn the order of letters is written out. That nothing has run is seen by `opened`."""
    page = opened(shown.url)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"cluster {SEEN}")
    expect(page.get_by_role("option").filter(has_text=SEEN).first).to_be_visible()
    assert page.locator("img:not(canvas)").count() == 0
    assert "\u202e" not in page.content()


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with viewed(EXAMPLE) as found:
        yield found


@pytest.mark.rest
def test_view_plays_a_cluster_and_shows_it(opened: Opened, served: str) -> None:
    page = opened(served)
    expect(page.get_by_role("heading", level=1)).to_have_text("four racks, a quarter of an hour")
    expect(page.get_by_label("Policy")).to_have_value("0")
    page.close()


def test_view_writes_the_page_as_one_file(tmp_path: Path) -> None:
    """Which is that of `place`."""
    words = ("--policy", "fgd", "--policy", "pwr", "--html")
    assert ringhil("view", EXAMPLE, *words, "one.html", cwd=tmp_path).returncode == 0
    assert ringhil("place", EXAMPLE, "--fleet", "table", *words, "other.html", cwd=tmp_path).returncode == 0
    assert (tmp_path / "one.html").read_text() == (tmp_path / "other.html").read_text()
