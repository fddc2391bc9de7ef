"""What the page of `ringhil place` is told: curves go through the figures, and the map knows each placement."""

import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from tests.command import ringhil
from tests.emulator.cluster.clusters import ONE, cluster, server
from tests.emulator.view.held import held

from ringhil.emulator.cluster.cluster import WHOLE, ClusterFault, ClusterTask, GpuCluster, Saturation, TaskNeeds
from ringhil.emulator.cluster.play import PlacementRun, play
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.cluster.saturate import saturate
from ringhil.emulator.front.cli.place_page import BINS, about, filled_view, run_view
from ringhil.emulator.view.fleet import CLUSTER, ClusterAbout, FleetFault, FleetRun

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
HALF = TaskNeeds(1, 500, 1000, 0, ())
CPUS = TaskNeeds(0, WHOLE, 1000, 0, ())


def given() -> GpuCluster:
    servers = [server("a", [70, 70], 5.0), server("b", [70, 40, 40], busy=[2])]
    tasks = [
        ClusterTask("half", HALF, 0.0, 30.0),
        ClusterTask("two", replace(ONE, gpus=2), 10.0, 50.0),
        ClusterTask("cpus", CPUS, 20.0, 20.0),
        ClusterTask("late", replace(ONE, gpus=2), 30.0, 60.0),
        ClusterTask("never", replace(ONE, gpus=3), 40.0, 60.0),
    ]
    return replace(cluster(servers, tasks), until=100.0)


def shown(found: GpuCluster, *policies: str) -> tuple[ClusterAbout, dict[str, PlacementRun]]:
    played = {name: play(found, POLICIES[name], 0) for name in policies}
    return about(found, "what", ["policy"], [[name] for name in policies], ["said"], run_view(found, played)), played


def test_the_map_knows_what_fails_and_when() -> None:
    """GPUs that are drawn by the seed as well; a ring without one link counts all."""
    faults = (ClusterFault(5.0, 15.0, 1), ClusterFault(20.0, math.inf, 0, gpu=1), ClusterFault(2.0, 9.0, 0, link=0))
    found = replace(given(), faults=faults, failing=25.0)
    told = about(found, "what", [], [], [], run_view(found, {"fgd": play(found, POLICIES["fgd"], 3)}, 3))
    (drawn,) = found.with_failures(3).faults[len(faults) :]
    assert told.faults == [
        FleetFault(server=1, gpu=None, at=5.0, ends=15.0),
        FleetFault(server=0, gpu=1, at=20.0, ends=None),
        FleetFault(server=drawn.server, gpu=drawn.gpu, at=round(drawn.at, 3 if drawn.at >= 10 else 5), ends=None),
    ]


def lines(told: ClusterAbout, run: FleetRun) -> set[tuple[object, ...]]:
    """Of a run: name, when it came, began and ended, and where it was."""
    where = (tuple(map(tuple, each)) for each in run.where)
    names = (told.tasks.name[place] for place in run.task)
    return set(zip(names, run.came, run.began, run.ended, where, strict=True))


def test_the_map_knows_every_task_of_every_policy() -> None:
    found = given()
    told, played = shown(found, "pack-first", "best-fit")
    for run, mine in zip(told.runs, played.values(), strict=True):
        assert lines(told, run) == {
            (each.task.name, each.task.at, each.began, each.ended, tuple((p.server, *p.gpus) for p in each.everywhere))
            for each in mine.tasks.values()
        }
    assert [(s.name, [told.types[n] for n in s.types], s.busy) for s in told.servers] == [
        (each.name, list(each.types), sorted(each.busy)) for each in found.servers
    ]
    assert dict(zip(told.tasks.name, told.tasks.share, strict=True))["half"] == 500


def test_the_map_knows_where_a_try_ran_until_it_was_lost() -> None:
    """A task that waits again, or began again, had its GPUs before."""
    faults = (ClusterFault(21.0, 45.0, 0), ClusterFault(41.0, math.inf, 1), ClusterFault(61.0, math.inf, 0, gpu=0))
    tasks = (ClusterTask("gang", ONE, 0.0, 30.0, members=2), *given().tasks)
    told, played = shown(replace(given(), tasks=tasks, faults=faults), *POLICIES)
    for run, mine in zip(told.runs, played.values(), strict=True):
        assert mine.lost == len(run.lost) > 0
        tasks_of = [next(each for each in tasks if each.name == told.tasks.name[place]) for place in run.task]
        had = [(run.ended[line] or 0) - (run.began[line] or 0) for line in run.lost]
        wasted = sum(time * tasks_of[line].asked / WHOLE for time, line in zip(had, run.lost, strict=True))
        assert wasted == pytest.approx(mine.wasted)
        assert all(run.where[line] for line in run.lost)
        for line in run.lost:
            assert run.came[line + 1] == run.ended[line]
            assert (run.task[line + 1], run.number[line + 1]) == (run.task[line], run.number[line] + 1)


def test_curves_go_through_the_figures_of_their_moments() -> None:
    told, played = shown(given(), "pack-first", "best-fit")
    figures = (("allocated", 0.01), ("watts", 1), ("waiting", 1), ("fragmentation", 0.01), ("awake", 1))
    for chart, (figure, scale) in zip(told.charts, figures, strict=True):
        assert [curve.name for curve in chart.curves] == [*played]
        for curve, run in zip(chart.curves, played.values(), strict=True):
            assert curve.steps
            assert list(curve.xs) == [at.at for at in run.curve]
            assert list(curve.ys) == pytest.approx([scale * getattr(at, figure) for at in run.curve])
    assert told.waits is not None
    assert told.waits.curves[0].ys[-1] == max(played["pack-first"].waited)


def test_long_runs_are_thinned_and_the_page_says_so() -> None:
    """To means over equal times: the area under the curve is the same. The map shows the servers that fit on it."""
    tasks = [ClusterTask(f"t{n}", ONE, float(n), 0.5) for n in range(BINS + 100)]
    told, played = shown(cluster([server("a", [1])] * 401 + [server("b", [1] * 64)] * 310, tasks), "pack-first")
    assert "Curves with more than 1,000 points show means over 1.099 s each." in told.said
    assert "The map shows the first 707 of 711 servers." in told.said
    assert (len(told.servers), told.all_servers) == (707, 711)
    (curve,), (run,) = told.charts[0].curves, played.values()
    assert len(curve.xs) == BINS
    area = sum((after.at - at.at) * at.allocated for at, after in pairwise(run.curve))
    assert sum(y or 0.0 for y in curve.ys) / BINS == pytest.approx(0.01 * area / run.until, rel=1e-3)


def test_a_filled_cluster_is_shown_over_what_was_asked_for() -> None:
    """In shares of all GPUs; where there is no server any more a task is listed, and nowhere."""
    found = given()
    arrivals = (0, 1, 0, 3, 3)
    found = replace(found, tasks=found.tasks[:4], saturation=Saturation(1.0, "", arrivals, None))
    assert found.saturation is not None
    done = {"fgd": saturate(found, found.saturation, POLICIES["fgd"], 0)}
    told = about(found, "what", ["policy"], [["fgd"]], [], filled_view(found, done))
    (run,) = told.runs
    assert told.filled
    assert run.came == pytest.approx([0.1, 0.5, 0.6, 1.0, 1.4])
    assert [bool(where) for where in run.where] == [began is not None for began in run.began]
    assert run.began[-1] is None
    assert (told.end, told.sleeps, told.waits) == (1.4, False, None)
    assert [chart.title for chart in told.charts] == [
        "GPUs allocated",
        "Fragmentation of what is free",
        "Power, nothing asleep",
    ]


def test_a_cluster_that_is_filled_many_times_over_is_thinned_as_well() -> None:
    """To one of several points, the first and the last among them."""
    found = cluster([server("a", [1])], [ClusterTask("t", ONE, 0.0, 1.0)])
    found = replace(found, saturation=Saturation(1.0, "", (0,) * 2500, None))
    assert found.saturation is not None
    done = {"fgd": saturate(found, found.saturation, POLICIES["fgd"], 0)}
    told = about(found, "what", ["policy"], [["fgd"]], [], filled_view(found, done))
    assert "Curves with more than 1,000 points show one point in 3." in told.said
    xs = told.charts[0].curves[0].xs
    assert len(xs) == 834
    assert (xs[0], xs[-1]) == (1.0, 2500.0)


def test_the_command_writes_the_page_with_its_table(tmp_path: Path) -> None:
    policies = ("--policy", "pack-first", "--policy", "random", "--seeds", 3, "--fleet", "table")
    done = ringhil("place", EXAMPLES / "cluster.yaml", *policies, "--html", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    told = held((tmp_path / "page.html").read_text(), CLUSTER)
    table, waits = told["tables"]
    assert (table["name"], waits["name"]) == ("Policies", "Waiting")
    for row in table["rows"]:
        (line,) = (each for each in done.stdout.splitlines() if each.startswith(f"{row[0]} "))
        assert re.split(r"  +", line) == row
    assert "The same for every seed: pack-first." in told["said"]
    assert "Percentiles of waiting, curves and map: seed 0." in told["said"]
    assert [run["policy"] for run in told["runs"]] == ["pack-first", "random"]


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
    (run,) = held((tmp_path / "page.html").read_text(), CLUSTER)["runs"]
    assert (run["began"], run["ended"], run["number"], run["lost"]) == ([0, 60, 5], [60, 160, 15], [1, 2, 1], [0])
