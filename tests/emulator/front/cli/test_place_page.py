"""The page of `ringhil place`: curves are where the figures were, the map knows each placement, and nothing that a file
says is run."""

import base64
import hashlib
import html
import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.command import ringhil
from tests.emulator.cluster.clusters import ONE, cluster, server

from ringhil.emulator.cluster.cluster import WHOLE, ClusterFault, ClusterTask, GpuCluster, Saturation, TaskNeeds
from ringhil.emulator.cluster.play import PlacementRun, play
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.cluster.saturate import saturate
from ringhil.emulator.front.cli.place_page import filled_view, page, run_view
from ringhil.emulator.pages.curves import BINS

from .charts import charts

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
LEFT, RIGHT, TOP, BOTTOM = 62, 568, 12, 194
HOSTILE = '</script><script>alert("x")</script>'
HALF = TaskNeeds(1, 500, 1000, 0, ())
CPUS = TaskNeeds(0, WHOLE, 1000, 0, ())


def given() -> GpuCluster:
    servers = [server("a", [70, 70], 5.0), server(HOSTILE, [70, 40, 40], busy=[2])]
    tasks = [
        ClusterTask(HOSTILE, HALF, 0.0, 30.0),
        ClusterTask("two", replace(ONE, gpus=2), 10.0, 50.0),
        ClusterTask("cpus", CPUS, 20.0, 20.0),
        ClusterTask("late", replace(ONE, gpus=2), 30.0, 60.0),
    ]
    return replace(cluster(servers, tasks), until=100.0)


def shown(found: GpuCluster, *policies: str) -> tuple[str, dict[str, PlacementRun]]:
    played = {name: play(found, POLICIES[name], 0) for name in policies}
    return page(found, "what", ["policy"], [[name] for name in policies], ["said"], run_view(found, played)), played


def data(text: str) -> dict[str, Any]:
    """Of the map."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    read = json.loads(found)
    assert isinstance(read, dict)
    return read


def test_the_map_knows_what_fails_and_when() -> None:
    """GPUs that are drawn by the seed as well; a ring without one link counts all."""
    faults = (ClusterFault(5.0, 15.0, 1), ClusterFault(20.0, math.inf, 0, gpu=1), ClusterFault(2.0, 9.0, 0, link=0))
    found = replace(given(), faults=faults, failing=25.0)
    text = page(found, "what", [], [], [], run_view(found, {"fgd": play(found, POLICIES["fgd"], 3)}, 3))
    (drawn,) = found.with_failures(3).faults[len(faults) :]
    assert drawn.gpu is not None
    assert data(text)["faults"] == [[1, -1, 5, 15], [0, 1, 20, 200], [drawn.server, drawn.gpu, round(drawn.at, 3), 200]]
    assert 'data-state="failed"' in text
    assert 'data-state="failed"' not in shown(given(), "fgd")[0]


def test_the_map_knows_every_placement_of_every_policy() -> None:
    found = given()
    text, played = shown(found, "pack-first", "best-fit")
    told = data(text)
    for name, run in played.items():
        mine = {
            (told["tasks"][task], place, began, None if ended < 0 else ended, tuple(gpus))
            for task, place, began, ended, *gpus in told["policies"][name]
        }
        assert mine == {
            (each.task.name, each.placed.server, each.began, each.ended, each.placed.gpus)
            for each in run.tasks.values()
            if each.placed is not None
        }
    assert len(told["policies"]["pack-first"]) == 4
    kinds = told["types"]
    assert [(name, [kinds[n] for n in types], busy) for name, types, busy in told["servers"]] == [
        (each.name, list(each.types), sorted(each.busy)) for each in found.servers
    ]
    assert dict(zip(told["tasks"], told["shares"], strict=True))[HOSTILE] == 500


def test_curves_go_through_the_figures_of_their_moments() -> None:
    text, played = shown(given(), "pack-first", "best-fit")
    used, power, waiting, *_ = charts(text)
    for chart, figure in ((used, "allocated"), (power, "watts"), (waiting, "waiting")):
        paths = {path.attrib["data-curve"]: path.attrib["d"] for path in chart.iter("path")}
        assert list(paths) == list(played)
        scale = height_of(chart)
        for name, run in played.items():
            corners = re.findall(r"[MH]([\d.]+)[ V]([\d.]+)", paths[name])
            assert [float(x) for x, _ in corners] == pytest.approx(
                [LEFT + (RIGHT - LEFT) * at.at / run.until for at in run.curve], abs=0.06
            )
            heights = [BOTTOM - float(y) for _, y in corners]
            assert heights == pytest.approx([scale * getattr(at, figure) for at in run.curve], abs=0.3)
            assert paths[name].endswith(f"H{RIGHT}.0")


def height_of(chart: ET.Element) -> float:
    """Of one of what the vertical axis counts, by its highest tick; power is in watts."""
    ticks = [t for t in chart.iter("text") if t.attrib["class"] == "tick y"]
    return (BOTTOM - (float(ticks[-1].attrib["y"]) - 4)) / float((ticks[-1].text or "").replace(",", ""))


def test_nothing_runs_but_the_script_of_the_page() -> None:
    """What lists say of names is text; the policy names one script by its hash, and no place to load from."""
    text, _ = shown(given(), "pack-first")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)"', text)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert html.unescape(policy) == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert len(re.findall("<script", text)) == 2
    assert HOSTILE not in text
    assert not re.search(r"https?://|<link|<img|\bsrc=", text)


def test_long_runs_are_thinned_and_the_page_says_so() -> None:
    """To means over equal times: the area under the curve is the same. The map shows the servers that fit on it."""
    tasks = [ClusterTask(f"t{n}", ONE, float(n), 0.5) for n in range(BINS + 100)]
    text, played = shown(cluster([server("a", [1])] * 401 + [server("b", [1] * 64)] * 310, tasks), "pack-first")
    assert "Curves with more than 400 points show means over 1.2 s each." in text
    assert "The map shows the first 707 of 711 servers." in text
    assert len(data(text)["servers"]) == 707
    used = charts(text)[0]
    (path,) = used.iter("path")
    corners = [(float(x), BOTTOM - float(y)) for x, y in re.findall(r"[MH]([\d.]+)[ V]([\d.]+)", path.attrib["d"])]
    assert len(corners) == BINS
    mean = sum(y for _, y in corners) / BINS / height_of(used)
    (run,) = played.values()
    area = sum((after.at - at.at) * at.allocated for at, after in zip(run.curve, run.curve[1:], strict=False))
    assert mean == pytest.approx(area / run.until, rel=0.1)


def test_a_filled_cluster_is_drawn_over_percent_asked_for() -> None:
    found = given()
    found = replace(found, tasks=found.tasks[:2], saturation=Saturation(1.0, "", (0, 1, 0), None))
    assert found.saturation is not None
    done = {"fgd": saturate(found, found.saturation, POLICIES["fgd"], 0)}
    text = page(found, "what", ["policy"], [["fgd"]], [], filled_view(found, done))
    assert [percent for _, _, percent, *_ in data(text)["policies"]["fgd"]] == [10, 50, 60]
    assert data(text)["end"] == 60
    assert [chart.attrib["aria-label"] for chart in charts(text)] == [
        "GPUs allocated, %: fgd",
        "Fragmentation of what is free, %: fgd",
        "Power, nothing asleep, W: fgd",
    ]
    assert 'data-count="sleeping"' not in text


def test_a_cluster_that_is_filled_many_times_over_is_thinned_as_well() -> None:
    """To one of several points, the first and the last among them."""
    found = cluster([server("a", [1])], [ClusterTask("t", ONE, 0.0, 1.0)])
    found = replace(found, saturation=Saturation(1.0, "", (0,) * 1000, None))
    assert found.saturation is not None
    done = {"fgd": saturate(found, found.saturation, POLICIES["fgd"], 0)}
    text = page(found, "what", ["policy"], [["fgd"]], [], filled_view(found, done))
    assert "Curves with more than 400 points show one in 3." in text
    (path,) = charts(text)[0].iter("path")
    places = [float(x) for x in re.findall(r"[ML]([\d.]+) ", path.attrib["d"])]
    assert len(places) == 334
    assert places[-1] == RIGHT


def test_the_command_writes_the_page_with_its_table(tmp_path: Path) -> None:
    words = (
        "place",
        EXAMPLES / "cluster.yaml",
        "--policy",
        "pack-first",
        "--policy",
        "random",
        "--seeds",
        3,
        "--fleet",
        "table",
    )
    done = ringhil(*words, "--html", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "page.html").read_text()
    for row in ("pack-first", "random"):
        (line,) = (each for each in done.stdout.splitlines() if each.startswith(f"{row} "))
        assert re.split(r"  +", line)[1] in text
    assert "The same for every seed: pack-first." in text
    assert "Percentiles of waiting, curves and map: seed 0." in text
    assert set(data(text)["policies"]) == {"pack-first", "random"}


def test_a_page_is_written_of_a_file_that_leaves_out_what_it_may(tmp_path: Path) -> None:
    """Arrival and census, and a task that is lost at that census."""
    (tmp_path / "c.yaml").write_text(
        "until: 300\n"
        "cluster: {power: {T4: {idle: 10, task: 70}}, servers: [{name: n, gpus: 2, type: T4}]}\n"
        "tasks: [{name: t, gpus: 1, for: 100}, {name: u, gpus: 1, at: 5, for: 10}]\n"
        "faults: [{server: n, gpu: a.0, at: 31}]\n"
    )
    done = ringhil("place", "c.yaml", "--fleet", "table", "--html", "page.html", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    placed = data((tmp_path / "page.html").read_text())["policies"]["pack-first"]
    assert [began for _, _, began, *_ in placed] == [60, 5]
