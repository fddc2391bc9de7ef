"""Runs over time: who waits, what sleeps and what that saves, and the same books for every policy."""

import random
from dataclasses import replace

import pytest

from ringhil.emulator.cluster.cluster import (
    WHOLE,
    ClusterFault,
    ClusterTask,
    GpuCluster,
    Processor,
    TaskNeeds,
    TypePower,
)
from ringhil.emulator.cluster.play import PlacementRun, play
from ringhil.emulator.cluster.policies import POLICIES

from .clusters import ONE, cluster, random_servers, server

HALF = TaskNeeds(1, 500, 0, 0, ())


def where(given: GpuCluster, played: PlacementRun) -> dict[str, str | None]:
    """The server of each task."""
    found = {name: each.placed for name, each in played.tasks.items()}
    return {name: None if each is None else given.servers[each.server].name for name, each in found.items()}


def test_tasks_that_come_together_take_the_first_servers_of_one_order() -> None:
    """P6: one each, for the patent's policies; the others ask anew for each task."""
    tasks = [ClusterTask(f"t{n}", ONE, 0.0, 9.0) for n in range(3)]
    given = cluster([server("a", [1, 1, 1]), server("b", [1]), server("c", [1, 1])], tasks)
    assert where(given, play(given, POLICIES["pack-first"], 0)) == {"t0": "b", "t1": "c", "t2": "a"}
    assert where(given, play(given, POLICIES["power-first"], 0)) == {"t0": "b", "t1": "c", "t2": "a"}
    assert where(given, play(given, POLICIES["best-fit"], 0)) == {"t0": "b", "t1": "c", "t2": "c"}


def test_more_tasks_than_servers_take_another_order() -> None:
    """P6: from the counts that the first ones left."""
    tasks = [ClusterTask(f"t{n}", ONE, 0.0, 9.0) for n in range(5)]
    given = cluster([server("a", [1, 1, 1]), server("b", [1])], tasks)
    played = play(given, POLICIES["pack-first"], 0)
    assert [*where(given, played).values()] == ["b", "a", "a", "a", "b"]
    assert [each.began for each in played.tasks.values()] == [0, 0, 0, 0, 9]


def test_a_task_that_does_not_fit_waits_and_keeps_nobody_waiting() -> None:
    two = TaskNeeds(2, WHOLE, 0, 0, ())
    tasks = [
        ClusterTask("long", ONE, 0.0, 10.0),
        ClusterTask("large", two, 1.0, 5.0),
        ClusterTask("small", ONE, 2.0, 3.0),
    ]
    played = play(cluster([server("a", [1, 1])], tasks), POLICIES["pack-first"], 0)
    assert {name: (each.began, each.ended) for name, each in played.tasks.items()} == {
        "long": (0, 10),
        "large": (10, 15),
        "small": (2, 5),
    }
    assert sorted(played.waited) == [0, 0, 9]
    assert played.unplaced == 0


def test_a_gang_begins_with_all_its_members_or_not_at_all() -> None:
    """It is placed as so many tasks that come together; with `spread`, on as many servers. The small one passes it."""
    gang = ClusterTask("gang", ONE, 1.0, 5.0, 3)
    tasks = [ClusterTask("long", ONE, 0.0, 10.0), gang, ClusterTask("small", ONE, 2.0, 3.0)]
    given = cluster([server("a", [1, 1]), server("b", [1])], tasks)
    for policy in POLICIES:
        played = play(given, POLICIES[policy], 0)
        assert {name: each.began for name, each in played.tasks.items()} == {"long": 0, "gang": 10, "small": 2}
        done = played.tasks["gang"]
        assert sorted((each.server, each.gpus) for each in done.everywhere) == [(0, (0,)), (0, (1,)), (1, (0,))]
        assert done.ended == 15
        wide = play(replace(given, tasks=(replace(gang, spread=True, members=2),)), POLICIES[policy], 0)
        assert {each.server for each in wide.tasks["gang"].everywhere} == {0, 1}


def small() -> GpuCluster:
    """Two servers; a task takes half a GPU of the first for 10 seconds, from 5 on."""
    servers = [
        replace(server("a", [70, 70], standby=25.0), processor=Processor(20, 165, 64)),
        server("b", [70, 70, 70], standby=30.0),
    ]
    given = cluster(servers, [ClusterTask("t", replace(HALF, cpus=4000), 5.0, 10.0)])
    return replace(given, power={"w70": TypePower(10, 70, 4, 1)}, until=20.0)


def test_what_is_not_needed_sleeps_and_energy_says_so() -> None:
    """P7: GPUs in low power, whole servers in standby. By hand, for 20 seconds."""
    played = play(small(), POLICIES["pack-first"], 0)
    asleep = 25 + 2 * 1 + 30 + 3 * 1
    working = (165 + 20 + 70 + 4) + 30 + 3 * 1
    assert played.energy_j == pytest.approx(10 * asleep + 10 * working)
    idle = (20 + 20 + 2 * 10) + 30 + 3 * 10
    awake = (165 + 20 + 70 + 10) + 30 + 3 * 10
    assert played.awake_j == pytest.approx(10 * idle + 10 * awake)
    assert played.wake_ups == 1
    assert [(at.at, at.awake) for at in played.curve] == [(0, 0), (5, 1), (15, 0)]
    assert [at.allocated for at in played.curve] == [0, 10, 0]


def test_the_end_cuts_what_runs_and_nothing_begins_at_it() -> None:
    given = replace(small(), until=10.0)
    late = ClusterTask("late", TaskNeeds(3, WHOLE, 0, 0, ()), 6.0, 1.0)
    never = ClusterTask("never", TaskNeeds(3, WHOLE, 0, 0, ()), 6.5, 9.0)
    after = ClusterTask("after", TaskNeeds(3, WHOLE, 0, 0, ()), 8.0, 9.0)
    played = play(replace(given, tasks=(*given.tasks, late, never, after)), POLICIES["pack-first"], 0)
    assert (played.tasks["t"].began, played.tasks["t"].ended) == (5, None)
    assert [(played.tasks[name].began, played.tasks[name].ended) for name in ("late", "never", "after")] == [
        (6, 7),
        (7, None),
        (None, None),
    ]
    assert (played.until, played.unplaced) == (10, 1)


def test_a_decision_is_explained_as_of_the_moment_the_task_came() -> None:
    """P2 to P5: `t` finds two idle GPUs on `a`, as one is given already, and `b` unused."""
    two = TaskNeeds(2, WHOLE, 0, 0, ())
    tasks = [ClusterTask("first", ONE, 0.0, 9.0), ClusterTask("t", two, 1.0, 9.0), ClusterTask("next", ONE, 2.0, 1.0)]
    servers = [server("a", [2, 7, 9]), server("b", [1, 12, 3, 4], 5.0), server("c", [1])]
    servers[2] = replace(servers[2], busy=frozenset({0}))
    decision = play(cluster(servers, tasks), POLICIES["pack-first"], 0, explain="t").decision
    assert decision is not None
    assert (decision.order, decision.groups, decision.dropped) == (("a", "b"), (("a",), ("b",)), ("c",))
    assert {name: (x.idle, x.first, x.second, x.third) for name, x in decision.servers.items()} == {
        "a": (2, (7, 9), 16, None),
        "b": (4, (1, 12, 3, 4), 20, 25),
        "c": (0, (), 0, None),
    }


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("policy", POLICIES)
def test_books_are_kept_on_random_clusters(policy: str) -> None:
    """No GPU is used beyond what it has, tasks run once and to their end, and a second run is the same."""
    draw = random.Random(policy)
    for _ in range(6):
        servers = [*random_servers(draw), server("last", [1, 2, 5])]
        tasks = [
            ClusterTask(
                f"t{n}",
                TaskNeeds(
                    *draw.choice(((0, WHOLE), (1, 300), (1, 500), (1, WHOLE), (2, WHOLE), (3, WHOLE))), 1000, 0, ()
                ),
                float(draw.randint(0, 20)),
                float(draw.randint(1, 30)),
            )
            for n in range(40)
        ]
        given = cluster(servers, tasks)
        played = play(given, POLICIES[policy], 3)
        assert played.unplaced == 0
        times = {x for each in played.tasks.values() for x in (each.began, each.ended)}
        for each in played.tasks.values():
            assert each.began is not None
            assert each.ended == each.began + (each.task.lasts or 0)
            assert each.began >= each.task.at
        for now in times:
            used = dict[tuple[int, int], int]()
            for each in played.tasks.values():
                assert each.placed is not None
                if each.began <= now < each.ended:  # type: ignore[operator]
                    for gpu in each.placed.gpus:
                        place = (each.placed.server, gpu)
                        used[place] = used.get(place, 0) + each.task.needs.share
            assert all(share <= WHOLE for share in used.values())
            assert not any(gpu in servers[place].busy for place, gpu in used)
        assert played.energy_j <= played.awake_j
        again = play(given, POLICIES[policy], 3)
        assert (again.tasks, again.curve, again.energy_j) == (played.tasks, played.curve, played.energy_j)


def test_a_task_that_is_lost_waits_in_its_old_place() -> None:
    """Those that came after it and wait begin after it, whatever is lost when."""
    tasks = [ClusterTask(f"t{n}", ONE, float(n), 50.0) for n in range(4)]
    faults = (ClusterFault(20.0, 45.0, 0, gpu=0), ClusterFault(20.0, 45.0, 0, gpu=1))
    given = replace(cluster([server("a", [1, 1])], tasks), faults=faults, census=10.0, until=400.0)
    played = play(given, POLICIES["pack-first"], 0)
    began = {name: each.began for name, each in played.tasks.items()}
    assert played.lost == 2
    assert began["t0"] == began["t1"] == 50
    assert began["t2"] == began["t3"] == 100
    used = {at.at: at.allocated for at in played.curve}
    assert (used[1.0], used[20.0], used[50.0]) == (100, 0, 100), "what has failed is in nobody's hands"
