"""Windows of a run that the table plays: emulated servers take up what runs there, and tell where the table errs."""

import math
import random
from dataclasses import replace

import pytest

from ringhil.emulator.cluster.cluster import WHOLE, ClusterFault, ClusterServer, ClusterTask, GpuCluster, TaskNeeds
from ringhil.emulator.cluster.emulated_fleet import EmulatedFleet
from ringhil.emulator.cluster.play import play
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.cluster.window import TimeWindow, play_window
from ringhil.emulator.engine.library import Library

from .test_emulated import POWER, random_cluster, with_faults


def random_window(draw: random.Random, until: float) -> TimeWindow:
    """Some begin at a census, some at the beginning, some end with the run."""
    begins = draw.choice((0.0, 40.0, float(draw.randint(1, 30)), draw.uniform(0, until / 2)))
    return TimeWindow(begins, draw.choice((until, draw.uniform(begins + 20, until))))


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("seed", range(12))
def test_a_window_at_any_place_has_the_placements_and_energy_of_the_table(seed: int, library: Library) -> None:
    """Its energy is that of the table's curve between both moments, within one percent."""
    draw = random.Random(seed)
    given, policy = random_cluster(draw, gangs=seed % 2 == 1), POLICIES[[*POLICIES][seed % len(POLICIES)]]
    assert given.until is not None
    window = random_window(draw, given.until)
    found = play_window(given, policy, given.seed, window, library)
    assert (found.counts, found.placements, found.ends, found.first) == (0, 0, 0, "")
    curve = play(given, policy, given.seed).curve
    spans = zip(curve, [*(at.at for at in curve[1:]), given.until], strict=True)
    joules = sum(at.watts * max(0.0, min(ends, window.ends) - max(at.at, window.begins)) for at, ends in spans)
    assert found.table_j == pytest.approx(joules)
    assert found.metered_j == pytest.approx(found.table_j, rel=0.01)
    assert found.error == pytest.approx(found.table_j / found.metered_j - 1)


@pytest.mark.rest(but_one_in=7)
@pytest.mark.parametrize("seed", range(12))
def test_a_window_takes_up_what_has_failed_and_what_is_lost(seed: int, library: Library) -> None:
    """Each fault is seen by a census, and GPU 0 works: the table knows what becomes of all of them."""
    draw = random.Random(seed)
    given = with_faults(random_cluster(draw, gangs=seed % 2 == 1), draw, entry=False)
    seen = [fault for fault in given.faults if math.ceil(fault.at / given.census) * given.census < fault.ends]
    given = replace(given, faults=tuple(seen))
    window = random_window(draw, 240.0)
    found = play_window(given, POLICIES["pack-first"], given.seed, window, library)
    assert (found.counts, found.placements, found.ends, found.first) == (0, 0, 0, "")


def one_server(*faults: ClusterFault) -> GpuCluster:
    """Four GPUs; a task on two of them, which comes at 5 and lasts for 100 seconds."""
    server = ClusterServer("n1", ("T4",) * 4, frozenset(), 32_000, 1 << 20, 0.0, None)
    task = ClusterTask("t", TaskNeeds(2, WHOLE, 0, 0, ()), 5.0, 100.0)
    return GpuCluster("one", 0, 300.0, POWER, (server,), (task,), None, 10.0, faults=faults)


def test_what_only_hardware_knows_is_a_difference_with_a_name(library: Library) -> None:
    """GPU 0, which speaks for its ring, fails: another one has to be elected, which takes longer than a census."""
    given = one_server(ClusterFault(52.0, math.inf, 0, gpu=0))
    early = play_window(given, POLICIES["pack-first"], 0, TimeWindow(10.0, 45.0), library)
    assert (early.counts, early.placements, early.ends, early.first) == (0, 0, 0, "")
    found = play_window(given, POLICIES["pack-first"], 0, TimeWindow(45.0, 250.0), library)
    assert (found.counts, found.placements, found.ends, found.tasks) == (1, 1, 1, 1)
    assert found.first == "at 60 s n1 a.0 is counted, not in the table"
    late = play_window(given, POLICIES["pack-first"], 0, TimeWindow(121.0, 250.0), library)
    assert (late.counts, late.placements, late.ends, late.first) == (0, 0, 0, "")


def test_what_runs_when_a_window_begins_runs_on_from_its_first_moment(library: Library) -> None:
    """A short window shows it: launching takes some 30 milliseconds."""
    found = play_window(one_server(), POLICIES["pack-first"], 0, TimeWindow(20.0, 25.0), library)
    assert found.metered_j == pytest.approx(5 * (2 * POWER["T4"].task + 2 * POWER["T4"].low), rel=0.001)


@pytest.mark.parametrize("begins", [45.0, 53.0, 55.0, 65.0, 105.0])
def test_a_task_that_has_failed_before_the_window_is_not_taken_up(begins: float, library: Library) -> None:
    """No census has seen why: its server was out of order for a moment. Nobody knows before the task's time comes."""
    found = play_window(
        one_server(ClusterFault(52.0, 54.0, 0)), POLICIES["pack-first"], 0, TimeWindow(begins, 250.0), library
    )
    assert (found.counts, found.placements, found.ends, found.first) == (0, 0, 0, "")


def test_what_failed_just_before_the_window_draws_what_is_left_of_it(library: Library) -> None:
    """GPU 1 dies at 52. Its task runs on on GPU 0 until a census tells, as in a run that is emulated from its start."""
    given = replace(one_server(ClusterFault(52.0, math.inf, 0, gpu=1)), census=40.0)
    joules = []
    for until in (60.0, 75.0):
        with EmulatedFleet.local(replace(given, until=300.0), 0, library) as fleet:
            play(replace(given, until=until), POLICIES["pack-first"], 0, fleet=fleet)
            joules.append(fleet.metered_j() or 0.0)
    found = play_window(given, POLICIES["pack-first"], 0, TimeWindow(60.0, 75.0), library)
    assert (found.placements, found.failing) == (0, 1)
    assert found.metered_j == pytest.approx(joules[1] - joules[0], rel=0.01)
    assert found.metered_j == pytest.approx(15 * (POWER["T4"].task + 2 * POWER["T4"].low), rel=0.01)


def test_a_window_says_the_same_in_however_many_processes(library: Library) -> None:
    draw = random.Random(7)
    given = with_faults(random_cluster(draw), draw, entry=True)
    one, two = (play_window(given, POLICIES["fgd"], 0, TimeWindow(50.0, 120.0), library, jobs=jobs) for jobs in (1, 2))
    assert one == two
