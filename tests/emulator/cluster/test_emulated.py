"""The emulated fleet: the same placements as the table's, and energy read from meters in place of the table's watts."""

import math
import os
import random
import signal
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ringhil.emulator.cluster.cluster import (
    WHOLE,
    ClusterFault,
    ClusterServer,
    ClusterTask,
    GpuCluster,
    Processor,
    TaskNeeds,
    TypePower,
)
from ringhil.emulator.cluster.emulated_fleet import EmulatedFleet
from ringhil.emulator.cluster.fleet import ELECTION, Fleet, FleetError, TableFleet
from ringhil.emulator.cluster.play import PlacementRun, play
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.cluster.read import load_cluster
from ringhil.emulator.cluster.scheduler import PlacedOn
from ringhil.emulator.cluster.servers import Flags
from ringhil.emulator.engine.library import Library

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
ONE_GPU = TaskNeeds(1, WHOLE, 0, 0, ())
POWER = {
    "A100": TypePower(50.0, 400.0, 35.0, 4.0),
    "T4": TypePower(10.0, 70.0, 8.0, 1.0),
    "mine": TypePower(7.5, 33.3, 6.25, 0.0),
}


def random_cluster(draw: random.Random, *, gangs: bool = False) -> GpuCluster:
    """Some tasks share GPUs, some wait, some come together; some GPUs are taken. `gangs`: some have members."""
    servers = []
    for number in range(draw.randint(1, 4)):
        types = tuple(draw.choice([*POWER]) for _ in range(draw.randint(2, 5)))
        busy = frozenset(draw.sample(range(len(types)), draw.choice((0, 0, 1))))
        processor = draw.choice((None, Processor(20.0, 160.0, 16)))
        servers.append(ClusterServer(f"s{number}", types, busy, 32_000, 1 << 20, 25.0, processor))
    most = max(len(each.types) - len(each.busy) for each in servers)
    tasks = []
    for number in range(draw.randint(3, 14)):
        share = draw.choice((WHOLE, WHOLE, 500, 250, 100))
        gpus = draw.randint(0, most) if share == WHOLE else 1
        needs = TaskNeeds(gpus, share, draw.choice((0, 1000, 8000)), 0, ())
        lasts = draw.choice((1e8, *range(1, 30)))  # the first one is longer than a launch can be
        members = draw.choice((1, 1, 2, 3)) if gangs else 1
        spread = members > 1 and draw.random() < 0.5
        tasks.append(ClusterTask(f"t{number}", needs, float(draw.randint(0, 20)), float(lasts), members, spread))
    return GpuCluster("random", draw.randint(0, 99), 120.0, POWER, tuple(servers), tuple(tasks), None, 40.0)


def with_faults(given: GpuCluster, draw: random.Random, entry: bool) -> GpuCluster:
    """Some GPUs, a link and a server fail, some of them for a while. `entry`: also GPU 0, which counts the others."""
    faults = []
    for number, server in enumerate(given.servers):
        idle = [gpu for gpu in range(0 if entry else 1, len(server.types)) if gpu not in server.busy]
        for gpu in draw.choices(idle, k=draw.randint(0, 3) if idle else 0):  # one GPU may fail twice at a time
            at = draw.randint(0, 90) + 0.5
            faults.append(ClusterFault(at, draw.choice((at + draw.randint(3, 60), math.inf)), number, gpu=gpu))
        if draw.random() < 0.3:
            faults.append(
                ClusterFault(draw.randint(0, 90) + 0.5, math.inf, number, link=draw.randrange(len(server.types)))
            )
        if draw.random() < 0.2 and not server.busy:
            at = draw.randint(0, 90) + 0.5
            faults.append(ClusterFault(at, math.inf, number))
    return replace(given, until=240.0, census=10.0, faults=tuple(faults))


def children() -> set[int]:
    """Of this process."""
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def played(given: GpuCluster, policy: str, library: Library, jobs: int = 1) -> PlacementRun:
    """On the emulated fleet."""
    with EmulatedFleet.local(given, given.seed, library, jobs) as fleet:
        return play(given, POLICIES[policy], given.seed, fleet=fleet)


@pytest.mark.rest(but_one_in=6)
@pytest.mark.parametrize("seed", range(10))
def test_both_fleets_place_alike_and_agree_on_energy(seed: int, library: Library) -> None:
    """The same servers, GPUs and times, and energy within one percent."""
    draw = random.Random(seed)
    given, policy = random_cluster(draw), [*POLICIES][seed % len(POLICIES)]
    table, emulated = play(given, POLICIES[policy], given.seed), played(given, policy, library)
    assert emulated.tasks == table.tasks
    assert emulated.curve == table.curve
    assert emulated.energy_j == pytest.approx(table.energy_j, rel=0.01)
    assert emulated.metered_j not in (None, emulated.predicted_j)


@pytest.mark.parametrize("seed", range(10))
def test_both_fleets_place_gangs_alike(seed: int, library: Library) -> None:
    draw = random.Random(seed)
    given, policy = random_cluster(draw, gangs=True), [*POLICIES][seed % len(POLICIES)]
    table, emulated = play(given, POLICIES[policy], given.seed), played(given, policy, library)
    assert emulated.tasks == table.tasks
    assert emulated.curve == table.curve
    assert emulated.energy_j == pytest.approx(table.energy_j, rel=0.01)


@pytest.mark.rest(but_one_in=6)
@pytest.mark.parametrize("seed", range(20))
def test_both_fleets_lose_and_repeat_whole_gangs(seed: int, library: Library) -> None:
    """One member is lost: the others are given up, and all begin anew together. A census sees each fault."""
    draw = random.Random(seed)
    given = with_faults(random_cluster(draw, gangs=True), draw, entry=False)
    seen = [fault for fault in given.faults if math.ceil(fault.at / given.census) * given.census < fault.ends]
    given = replace(given, faults=tuple(seen))
    table, emulated = play(given, POLICIES["pack-first"], given.seed), played(given, "pack-first", library)
    assert emulated.tasks == table.tasks
    assert emulated.curve == table.curve


def test_a_gang_that_loses_a_member_frees_the_gpus_of_the_others(library: Library) -> None:
    """By hand: GPU 1 of the second server fails at 12; its census at 20 gives up both, and they run on what is left."""
    servers = tuple(ClusterServer(n, ("T4",) * 3, frozenset(), 32_000, 1 << 20, 0.0, None) for n in ("a", "b"))
    gang = ClusterTask("t", TaskNeeds(2, WHOLE, 0, 0, ()), 0.0, 30.0, 2, spread=True)
    given = GpuCluster("gang", 0, 100.0, POWER, servers, (gang,), None, 10.0, faults=(ClusterFault(12.0, 99.0, 1, 1),))
    for run in (play(given, POLICIES["pack-first"], 0), played(given, "pack-first", library)):
        done = run.tasks["t"]
        assert [(each.server, each.gpus) for each in done.everywhere] == [(1, (0, 2)), (0, (0, 1))]
        assert (done.began, done.ended, done.tries, done.wasted) == (20.0, 50.0, 2, 20.0 * 4)
    assert done.had == pytest.approx(30 * 4, rel=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_meters_show_what_sleeping_saves(seed: int, library: Library) -> None:
    """P7: the same tasks, once with nothing ever asleep: the meters' saving is the one that the table foretells."""
    given = random_cluster(random.Random(seed))
    asleep, awake = (played(replace(given, sleeps=sleeps), "pack-first", library) for sleeps in (True, False))
    assert awake.energy_j - asleep.energy_j == pytest.approx(asleep.awake_j - asleep.predicted_j, rel=0.01)
    assert awake.energy_j == pytest.approx(asleep.awake_j, rel=0.01)
    assert asleep.energy_j < awake.energy_j


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("seed", range(20))
def test_both_fleets_lose_and_repeat_the_same_tasks(seed: int, library: Library) -> None:
    """A census drops what has failed; tasks on it begin again elsewhere, and what is well again is used again."""
    draw = random.Random(seed)
    given = with_faults(random_cluster(draw), draw, entry=False)
    table, emulated = play(given, POLICIES["pack-first"], given.seed), played(given, "pack-first", library)
    assert emulated.tasks == table.tasks
    assert emulated.curve == table.curve


def test_an_outage_that_no_census_sees_costs_the_tasks_of_a_server(library: Library) -> None:
    """Also one that has processors only. What meters had counted before is not forgotten."""
    server = ClusterServer("s", ("T4", "T4"), frozenset(), 32_000, 1 << 20, 0.0, None)
    tasks = tuple(ClusterTask(f"t{gpus}", TaskNeeds(gpus, WHOLE, 1000, 0, ()), 0.0, 100.0) for gpus in (0, 1))
    given = GpuCluster("outage", 0, 300.0, POWER, (server,), tasks, None, 10.0, faults=(ClusterFault(82.0, 86.0, 0),))
    table, emulated = play(given, POLICIES["pack-first"], 0), played(given, "pack-first", library)
    assert emulated.tasks == table.tasks
    assert [each.tries for each in emulated.tasks.values()] == [2, 2]
    # GPU 0 ran for 82 seconds, and from 100 to 200 once more; then the server slept.
    of = POWER["T4"]
    assert emulated.energy_j == pytest.approx(182 * of.task + (18 + 200) * of.low + 200 * of.off, rel=0.02)


@pytest.mark.parametrize("dead", [{0: 35.5}, {0: 35.5, 1: 35.5}, {0: 35.5, 2: 35.5}, {1: 21.5, 0: 35.5}, {1: 35.5}])
def test_whom_the_loss_of_gpu_0_costs_a_try(dead: dict[int, float], library: Library) -> None:
    """A task on it, or one that begins while another is elected, which nobody could hear. Where GPU 1 is dead as well,
    nobody can ever speak for the ring. All of it is known before an election would have to be over."""
    servers = tuple(ClusterServer(n, ("T4",) * 4, frozenset(), 32_000, 1 << 20, 0.0, None) for n in ("a", "b"))
    tasks = tuple(ClusterTask(f"t{n}", ONE_GPU, at, 300.0) for n, at in enumerate((0.0, 0.0, 0.0, 42.0)))
    faults = tuple(ClusterFault(at, math.inf, 0, gpu) for gpu, at in dead.items())
    given = GpuCluster("entry", 0, 900.0, POWER, servers, tasks, None, 10.0, faults=faults)
    gone = {0, 1} <= {*dead}
    for number, each in enumerate(played(given, "pack-first", library).tasks.values()):
        assert each.ended is not None
        for lost in each.lost:
            on = lost.everywhere[0].gpus[0]
            struck = 0 if gone else dead.get(on, 0)
            assert gone or on in dead or (number == 3 and 0 in dead)
            assert struck <= lost.ended <= 35.5 + ELECTION * given.census
        assert not any(placed.server == 0 and (gone or placed.gpus[0] in dead) for placed in each.everywhere)


class Watched(EmulatedFleet):
    """Notes how many GPUs are counted when the scheduler looks."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.seen = set[int]()

    def counted(self) -> Flags:
        flags = super().counted()
        self.seen.add(int(flags.sum()))
        return flags


def test_an_election_costs_no_task_of_the_others(library: Library) -> None:
    """Also where the scheduler looks in the few milliseconds in which nobody speaks for the ring."""
    server = ClusterServer("s", ("T4",) * 4, frozenset(), 32_000, 1 << 20, 0.0, None)
    ours = tuple(ClusterTask(f"t{n}", ONE_GPU, 0.0, 300.0) for n in range(3))
    fault = ClusterFault(35.5, math.inf, 0, 0)
    for n in range(-5, 20):
        look = ClusterTask("look", TaskNeeds(0, WHOLE, 1, 0, ()), 49.04 + n * 0.004, 1.0)
        given = GpuCluster("looks", 0, 80.0, POWER, (server,), (*ours, look), None, 10.0, faults=(fault,))
        with Watched.local(given, 0, library) as fleet:
            tasks = play(given, POLICIES["pack-first"], 0, fleet=fleet).tasks
            assert [tasks[each.name].tries for each in ours] == [2, 1, 1]
            if 0 in fleet.seen:
                return
    pytest.fail("the scheduler has not looked at the ring while nobody spoke for it")


@pytest.mark.parametrize(("gpu", "until", "unread"), [(1, 25.0, 1), (0, 15.0, 4), (0, 95.0, 1), (None, 95.0, 4)])
def test_energy_that_meters_could_not_tell_is_said_to_be_missing(
    gpu: int | None, until: float, unread: int, library: Library
) -> None:
    """Where GPU 0 has failed, nobody of its ring can be asked until another one is elected. What isn't said to be
    missing is there."""
    servers = tuple(ClusterServer(n, ("T4",) * 4, frozenset(), 32_000, 1 << 20, 0.0, None) for n in ("a", "b"))
    given = GpuCluster("missing", 0, until, POWER, servers, (ClusterTask("t", ONE_GPU, 0.0, 9.0),), None, 10.0)
    well = played(given, "pack-first", library)
    assert well.unread == {}
    assert well.energy_j == pytest.approx(well.predicted_j, rel=0.01)
    failed = played(replace(given, faults=(ClusterFault(11.0, math.inf, 1, gpu),)), "pack-first", library)
    assert failed.unread == {1: unread}
    assert failed.energy_j < well.energy_j


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_same_in_however_many_processes(seed: int, library: Library) -> None:
    draw = random.Random(seed)
    given = with_faults(random_cluster(draw), draw, entry=True)
    here = played(given, "fgd", library)
    for jobs in (2, 4):
        apart = played(given, "fgd", library, jobs)
        assert apart == here
        assert [each.had for each in apart.tasks.values()] == [each.had for each in here.tasks.values()]


def test_a_process_that_is_killed_is_named_and_takes_the_others_with_it(library: Library) -> None:
    servers = [ClusterServer(f"s{n}", ("T4",) * 2, frozenset(), 32_000, 1 << 20, 0.0, None) for n in range(3)]
    task = ClusterTask("t", TaskNeeds(1, WHOLE, 0, 0, ()), 1.0, 20.0)
    given = GpuCluster("killed", 0, 30.0, POWER, tuple(servers), (task,), None)
    before = children()
    with EmulatedFleet.local(given, 0, library, jobs=3) as fleet:
        ours = sorted(children() - before)
        assert len(ours) == 3
        os.kill(ours[1], signal.SIGKILL)
        with pytest.raises(FleetError, match=r"^the process of some servers was ended by SIGKILL"):
            play(given, POLICIES["pack-first"], 0, fleet=fleet)
    assert not children() & {*ours}


def test_a_fraction_has_its_share_of_a_gpu(library: Library) -> None:
    """Of a GPU that is full, in proportion; of one that is not, all that nobody else wants."""
    server = ClusterServer("s", ("T4", "T4"), frozenset(), 32_000, 1 << 20, 0.0, None)
    shares = {"half": 500, "quarter": 250, "rest": 250, "alone": 900}
    tasks = tuple(ClusterTask(name, TaskNeeds(1, share, 0, 0, ()), 0.0, 20.0) for name, share in shares.items())
    given = GpuCluster("shares", 0, 30.0, POWER, (server,), tasks, None)
    had = {name: each.had for name, each in played(given, "pack-first", library).tasks.items()}
    assert had == pytest.approx({"half": 10.0, "quarter": 5.0, "rest": 5.0, "alone": 20.0}, rel=0.06)


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("seed", range(20))
def test_no_task_is_lost_or_done_twice_whatever_gpus_fail(seed: int, library: Library) -> None:
    """Also the entry GPU. Each task comes to one end, after as many tries as it takes, on GPUs that work until then."""
    draw = random.Random(seed)
    server = ClusterServer("s", ("T4",) * 4, frozenset(), 32_000, 1 << 20, 25.0, None)
    tasks = tuple(
        ClusterTask(f"t{n}", TaskNeeds(draw.choice((1, 2)), WHOLE, 0, 0, ()), float(n), float(draw.randint(5, 40)))
        for n in range(8)
    )
    given = GpuCluster("failing", seed, 400.0, POWER, (server, replace(server, name="r")), tasks, None, 10.0)
    given = replace(given, failing=25.0).with_failures(seed)
    assert len(given.faults) == 2
    for run in (play(given, POLICIES["pack-first"], seed), played(given, "pack-first", library)):
        check_each_task_once(given, run)


def check_each_task_once(given: GpuCluster, run: PlacementRun) -> None:
    """Each task came to one end or still runs, on GPUs that worked; what a census can't have dropped yet counts as
    working."""
    assert given.until is not None
    struck = {(fault.server, fault.gpu): fault.at for fault in given.faults}
    for each in run.tasks.values():
        task = each.task
        assert each.placed is not None
        assert each.began is not None
        assert task.lasts is not None
        if each.ended is None:
            assert each.began + task.lasts > given.until
        else:
            assert each.ended == each.began + task.lasts
        used = given.until - given.census if each.ended is None else each.ended
        assert not any(struck.get((each.placed.server, gpu), math.inf) <= used for gpu in each.placed.gpus)
        if each.had is not None and task.needs.share == WHOLE:
            assert each.had == pytest.approx(task.lasts * len(each.placed.gpus), rel=0.02)
    assert (run.lost > 0) == (run.wasted > 0)


class Noting(Fleet):
    """A fleet beside which is noted which jobs began, on GPUs that were counted or not, and which came to their end."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.begun = dict[int, bool]()
        self.ended = list[int]()

    def begin(self, job: int, placed: PlacedOn, share: int, ends: float) -> None:
        self.begun[job] = bool(self.counted()[placed.server, list(placed.gpus)].all())
        super().begin(job, placed, share, ends)

    def had(self, job: int) -> float | None:
        """Asked of each job of a task that ends, once."""
        self.ended.append(job)
        return super().had(job)


class NotingEmulated(Noting, EmulatedFleet):
    pass


class NotingTable(Noting, TableFleet):
    pass


def with_outages(given: GpuCluster, draw: random.Random) -> GpuCluster:
    """GPUs, also the first of a ring, and servers are out of order for a moment, most of them unseen by a census."""
    faults = []
    for number, server in enumerate(given.servers):
        idle = [gpu for gpu in range(len(server.types)) if gpu not in server.busy]
        for at in sorted(draw.sample(range(1, 60), draw.randint(1, 4))):
            gpu = draw.choice(idle) if server.busy or draw.random() < 0.7 else None
            faults.append(ClusterFault(at + 0.5, at + 0.5 + draw.choice((0.25, 2.0, 5.0, 9.0)), number, gpu=gpu))
    return replace(given, faults=tuple(faults), until=400.0, census=10.0)


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("seed", range(8))
def test_no_gang_is_lost_or_done_twice_whatever_fails_for_a_moment(seed: int, library: Library) -> None:
    """Dead and well again before the next census: both fleets may differ in when, but in each all gangs that fit come
    to one end, whole, and nothing begins on a GPU that a census had dropped."""
    draw = random.Random(seed)
    given = random_cluster(draw, gangs=True)
    short = tuple(replace(task, lasts=min(task.lasts or 0.0, 20.0)) for task in given.tasks)
    given = with_outages(replace(given, tasks=short), draw)
    well = play(replace(given, faults=()), POLICIES["pack-first"], seed).tasks
    for fleet in (NotingTable(given), NotingEmulated.local(given, seed, library)):
        with fleet:
            run = play(given, POLICIES["pack-first"], seed, fleet=fleet)
        assert all(fleet.begun.values())
        for name, each in run.tasks.items():
            if each.began is None:
                assert well[name].began is None
                continue
            assert each.task.lasts is not None
            assert each.ended is not None
            assert each.ended >= each.began + each.task.lasts
            assert len(each.everywhere) == each.task.members
        ended = [each for each in run.tasks.values() if each.ended is not None]
        assert len(fleet.ended) == len({*fleet.ended}) == sum(each.task.members for each in ended)
        assert len(fleet.begun) == sum(each.tries * each.task.members for each in run.tasks.values())


@cache
def production_day(racks: int) -> GpuCluster:
    """The day of openb in examples/ so many times, shifted against each other: five servers and 24 GPUs each."""
    day = load_cluster(EXAMPLES / "openb/cluster.yaml")
    assert day.until is not None
    each = [(rack, day.until * rack / racks) for rack in range(racks)]
    return replace(
        day,
        servers=tuple(replace(given, name=f"{given.name}/{rack}") for rack, _ in each for given in day.servers),
        tasks=tuple(
            replace(task, name=f"{task.name}/{rack}", at=(task.at + later) % day.until)
            for rack, later in each
            for task in day.tasks
        ),
        census=1800.0,
    )


@pytest.mark.slow(part="clusters")
def test_a_day_of_210_servers_is_alike_on_both_fleets(library: Library) -> None:
    given = production_day(42)
    assert (len(given.servers), given.gpus, len(given.tasks)) == (210, 1008, 9954)
    table, emulated = play(given, POLICIES["pack-first"], 0), played(given, "pack-first", library)
    assert emulated.tasks == table.tasks
    assert emulated.curve == table.curve
    assert emulated.energy_j == pytest.approx(table.energy_j, rel=0.01)


@pytest.mark.slow(part="clusters")
@pytest.mark.parametrize("seed", range(20))
def test_a_day_in_which_a_percent_of_the_gpus_fail_loses_no_task(seed: int, library: Library) -> None:
    """The table, three seeds with 1,008 GPUs and the others with 240; one seed is emulated as well."""
    given = replace(production_day(42 if seed < 3 else 10), failing=1.0).with_failures(seed)
    assert len(given.faults) == round(given.gpus / 100)
    check_each_task_once(given, play(given, POLICIES["pack-first"], seed))
    if seed == 3:
        check_each_task_once(given, played(given, "pack-first", library))
