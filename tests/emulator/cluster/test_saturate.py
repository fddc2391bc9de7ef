"""Tasks come until more was asked for than there is: by hand, and beside the figures of the FGD paper's own runs.

The published figures need the lists of the trace: a folder that RINGHIL_OPENB names, as CONTRIBUTING.md says.
"""

import csv
import os
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from ringhil.emulator.cluster.cluster import WHOLE, ClusterTask, GpuCluster, Processor, Saturation, TaskNeeds
from ringhil.emulator.cluster.convert import cluster_text
from ringhil.emulator.cluster.policies import POLICIES, Fgd, Packing, Scores
from ringhil.emulator.cluster.policy import Keys, PlacementPolicy
from ringhil.emulator.cluster.read import load_cluster
from ringhil.emulator.cluster.saturate import Saturated, saturate
from ringhil.emulator.cluster.servers import Figures

from .clusters import ONE, cluster, server

OPENB = Path(os.environ.get("RINGHIL_OPENB", "no-folder"))
needs_openb = pytest.mark.skipif(not OPENB.is_dir(), reason="RINGHIL_OPENB names no folder with the lists of openb")
PUBLISHED = {
    "dot-product": "02-DotProd",
    "clustering": "03-GpuClustering",
    "packing": "04-GpuPacking",
    "best-fit": "05-BestFit",
    "fgd": "06-FGD",
}


def small(*arrivals: int, ties: tuple[int, ...] | None = None) -> tuple[GpuCluster, Saturation]:
    """Servers of two and of one GPU; tasks of half a GPU, of a whole one and of two."""
    half, two = TaskNeeds(1, 500, 0, 0, ()), TaskNeeds(2, WHOLE, 0, 0, ())
    tasks = [ClusterTask(f"t{n}", needs, 0.0, 1.0) for n, needs in enumerate((half, ONE, two))]
    saturation = Saturation(1.0, "", arrivals or None, ties)
    return replace(cluster([server("a", [10, 10]), server("b", [10])], tasks), saturation=saturation), saturation


def test_each_arrival_is_a_sample_at_the_percent_that_came() -> None:
    """Of 3 GPUs: half a one on `b`, a whole one on `a`, and two, for which there is no room."""
    done = saturate(*small(0, 1, 2), POLICIES["packing"], 0)
    assert [[(each.server, each.gpus) for each in placed] for _, placed in done.arrivals] == [
        [(1, (0,))],
        [(0, (0,))],
        [],
    ]
    assert [(at.percent, at.allocated, at.watts) for at in done.points] == [
        (17, 16.67, 10),
        (50, 50.0, 20),
        (117, 50.0, 20),
    ]
    # What is free: 1.5 of 3. A third of the next tasks need a half: nothing is lost; a third a whole: the half on b;
    # a third two: all of it.
    assert done.points[-1].fragmentation == pytest.approx(100 * (500 + 1500) / 3 / 1500, abs=0.005)
    assert done.failed == 1


def test_of_equals_the_one_with_the_least_place_is_taken() -> None:
    given = cluster([server(name, [1]) for name in "abc"])
    for ties, first in (((2, 0, 1), 1), ((1, 2, 0), 2), (None, 0)):
        done = saturate(given, Saturation(0.3, "", (0,), ties), POLICIES["best-fit"], 0)
        assert [each.server for each in done.arrivals[0][1]] == [first]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_gang_that_comes_finds_room_for_all_members_or_takes_none(policy: str) -> None:
    """Of servers of two GPUs and of one: three members of one GPU fit once. Two that spread fit once as well, and what
    a second pair doesn't take is there for a task of one GPU."""
    servers = [server("a", [10, 10]), server("b", [10])]
    three = ClusterTask("three", ONE, 0.0, 1.0, members=3)
    spread = ClusterTask("spread", ONE, 0.0, 1.0, members=2, spread=True)
    one = ClusterTask("one", ONE, 0.0, 1.0)
    for order, held in (((0, 1), (3, 0)), ((1, 1, 0, 2), (2, 0, 0, 1))):
        tasks = (three, spread, one)
        given = cluster(servers, tasks)
        done = saturate(given, Saturation(2.0, "", order, None), POLICIES[policy], 0)
        assert tuple(len(placed) for _, placed in done.arrivals) == held
        places = [(each.server, gpu) for _, placed in done.arrivals for each in placed for gpu in each.gpus]
        assert len(places) == len({*places}) == sum(held)
        assert done.points[-1].allocated == round(100 * sum(held) / 3, 2)
        assert done.failed == held.count(0)


def test_without_a_list_arrivals_are_drawn_by_the_seed() -> None:
    """Each task once, then any, until enough was asked for."""
    given, saturation = small()
    runs = [saturate(given, replace(saturation, load=4.0), POLICIES["fgd"], seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    for run in runs:
        places = [place for place, _ in run.arrivals]
        assert {*places[:3]} == {0, 1, 2}
        assert run.points[-1].percent >= 400


@cache
def openb(seed: int) -> GpuCluster:
    text = cluster_text(OPENB / "openb_node_list_gpu_node.csv", OPENB / "openb_pod_list_default.csv", OPENB)
    saturation = f"  saturate: {{load: 1.3, arrivals: arrivals.csv, column: seed{seed}, ties: tie_order.csv}}\n"
    return load_cluster_text(text.replace("pods:", f"{saturation}pods:"), OPENB)


def load_cluster_text(text: str, folder: Path) -> GpuCluster:
    """As of a file in that folder."""
    with tempfile.TemporaryDirectory() as made:
        for name in ("openb_node_list_gpu_node.csv", "openb_pod_list_default.csv", "arrivals.csv", "tie_order.csv"):
            (Path(made) / name).symlink_to(folder / name)
        (Path(made) / "c.yaml").write_text(text)
        return load_cluster(Path(made) / "c.yaml")


def published(figure: str, policy: str, seed: int) -> dict[int, float]:
    """By percent."""
    with (OPENB / f"published_{figure}.csv").open() as file:
        (row,) = (r for r in csv.DictReader(file) if (r["sc_policy"], r["seed"]) == (policy, str(seed)))
    return {int(column): float(value) for column, value in row.items() if column.isdecimal()}


def differences(done: Saturated, policy: str, seed: int) -> tuple[float, float]:
    """The largest of all columns: of what is allocated, of fragmentation."""
    found = []
    for figure, name in (("allocation", "allocated"), ("fragmentation_ratio", "fragmentation")):
        theirs, ours = published(figure, policy, seed), {at.percent: getattr(at, name) for at in done.points}
        assert theirs.keys() == ours.keys()
        found.append(max(abs(round(ours[percent], 2) - value) for percent, value in theirs.items()))
    return found[0], found[1]


@needs_openb
@pytest.mark.slow(part="benches")
@pytest.mark.parametrize("seed", [42, 43, 44])
@pytest.mark.parametrize("policy", PUBLISHED)
def test_published_rows_come_out_in_every_column(policy: str, seed: int) -> None:
    """Policies that draw no lots: within 0.02 of what the paper's own program gave."""
    given = openb(seed)
    assert given.saturation is not None
    done = saturate(given, given.saturation, POLICIES[policy], seed)
    assert max(differences(done, PUBLISHED[policy], seed)) <= 0.02


@needs_openb
@pytest.mark.slow(part="benches")
def test_random_placement_fills_as_much_as_the_published_one() -> None:
    """Mean of ten seeds at 130 percent, with other orders of arrival."""
    given = openb(42)
    assert given.saturation is not None
    drawn = replace(given.saturation, arrivals=None, ties=None)
    ours = [saturate(given, drawn, POLICIES["random"], seed) for seed in range(42, 52)]
    found = fmean(next(at.allocated for at in each.points if at.percent == 130) for each in ours)
    theirs = fmean(published("allocation", "01-Random", seed)[130] for seed in range(42, 52))
    assert found == pytest.approx(theirs, abs=0.3)


def by_lot(policy: type[PlacementPolicy]) -> type[PlacementPolicy]:
    """The same, with equal servers in an order that is drawn for each task."""

    class ByLot(policy):  # type: ignore[valid-type, misc]
        def settled(self, keys: Keys) -> Keys:
            return *super().settled(keys), self.random.random(len(keys[0]))

    return ByLot


class Uncut(Fgd):
    """FGD with scores of nine decimals in place of whole numbers."""

    def score(self, less: Figures) -> Scores:
        return np.asarray((1e11 / (1 + np.exp(-less / 1000))).astype(np.int64))


@needs_openb
@pytest.mark.slow(part="benches")
@pytest.mark.parametrize(
    ("policy", "percent"),
    [(Fgd, 95.29), (Packing, 91.57), (by_lot(Fgd), 90.1), (by_lot(Packing), 88.8), (Uncut, 94.3)],
    ids=["fgd", "packing", "fgd-by-lot", "packing-by-lot", "fgd-uncut"],
)
def test_what_is_left_of_a_policy_without_ties_in_order_is_as_told(
    policy: type[PlacementPolicy], percent: float
) -> None:
    """The figures of docs/howto/cluster.md: allocated at 130 percent with the arrivals of seed 42."""
    given = openb(42)
    assert given.saturation is not None
    done = saturate(given, given.saturation, policy, 42)
    found = next(at.allocated for at in done.points if at.percent == 130)
    assert found == pytest.approx(percent, abs=0.05)


@needs_openb
@pytest.mark.slow(part="benches")
@pytest.mark.parametrize(
    ("processors", "most"),
    [("by-type", (18, 13)), ("one-kind", (17, 14)), ("none", (24, 14))],
    ids=["by-type", "one-kind", "none"],
)
def test_pwr_saves_as_much_as_is_told(processors: str, most: tuple[int, int]) -> None:
    """The figures of docs/howto/cluster.md: percent of FGD's power at most, and at which percent asked for; seed 42."""
    given = openb(42)
    one = None if processors == "none" else Processor(15.0, 120.0, 32)
    if processors != "by-type":
        given = replace(given, servers=tuple(replace(server, processor=one) for server in given.servers))
    assert given.saturation is not None
    assert given.saturation.arrivals is not None
    first = replace(given.saturation, arrivals=given.saturation.arrivals[:3000])
    fgd, pwr = ({at.percent: at.watts for at in saturate(given, first, POLICIES[p], 42).points} for p in ("fgd", "pwr"))
    saved = {percent: 100 * (1 - pwr[percent] / watts) for percent, watts in fgd.items()}
    largest = max(saved, key=saved.__getitem__)
    assert (round(saved[largest]), largest) == most
    assert processors != "by-type" or round(saved[10]) == 15
