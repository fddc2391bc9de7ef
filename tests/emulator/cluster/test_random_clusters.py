"""Random clusters beside a reference that knows the words of P1 to P6 and nothing of the code that it judges.

The reference has plain numbers only: watts of each GPU in hundredths, what is free of it in thousandths.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from ringhil.emulator.cluster.cluster import ClusterServer, ClusterTask, GpuCluster, TaskNeeds, TypePower
from ringhil.emulator.cluster.play import play
from ringhil.emulator.cluster.policies import POLICIES

from .clusters import scheduler

CLUSTERS, RUNS = 600, 60  # of each policy, in `make test`
POLICY = pytest.mark.parametrize("policy", ["pack-first", "power-first"])
PARTS = 10  # of the long test


@dataclass
class Machine:
    """A server: watts of its GPUs, in hundredths, and what is free of each; processors and memory that are free."""

    watts: list[int]
    free: list[int]
    cpus: int
    memory: int
    standby: int
    full: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.full = self.cpus, self.memory

    def idle(self, job: "Job") -> list[int]:
        """Its GPUs that the job could use."""
        return [g for g, w in enumerate(self.watts) if self.free[g] >= job.share and (not job.kinds or w in job.kinds)]

    def dropped(self, job: "Job") -> bool:
        """P1; and what else a server must have."""
        return len(self.idle(job)) < job.gpus or self.cpus < job.cpus or self.memory < job.memory


@dataclass
class Job:
    """A task: GPUs, thousandths of each, processors, memory, the watts that its types draw; when, and how long."""

    gpus: int
    share: int
    cpus: int
    memory: int
    kinds: tuple[int, ...]
    at: int = 0
    lasts: int = 1

    @property
    def needs(self) -> tuple[object, ...]:
        """Equal for equal jobs."""
        return self.gpus, self.share, self.cpus, self.memory, self.kinds


def ordered(policy: str, machines: list[Machine], job: Job) -> list[int]:
    """P1 to P5, in words: drop, group by the number of idle GPUs, sort each group by power; or the other way round."""
    left = [place for place, each in enumerate(machines) if not each.dropped(job)]
    second = {place: sum(machines[place].watts[gpu] for gpu in machines[place].idle(job)) for place in left}
    if policy == "power-first":
        by_count = [p for count in range(7) for p in left if len(machines[p].idle(job)) == count]
        return sorted(by_count, key=lambda place: second[place])
    third = {p: second[p] + (machines[p].standby if {*machines[p].free} <= {1000} else 0) for p in left}
    groups = [[p for p in left if len(machines[p].idle(job)) == count] for count in range(7)]
    return [place for group in groups for place in sorted(group, key=lambda place: third[place])]


def gpus_on(machine: Machine, job: Job) -> tuple[int, ...]:
    """The first idle ones; for a fraction the one with least to spare."""
    idle = machine.idle(job)
    if job.gpus == 1 and job.share < 1000:
        return (min(idle, key=lambda gpu: machine.free[gpu]),)
    return tuple(idle[: job.gpus])


def played(policy: str, machines: list[Machine], jobs: list[Job]) -> dict[int, tuple[int, tuple[int, ...], int]]:
    """Server, GPUs and beginning of each job that found a place: second by second. P6: neighbours of equal needs take
    the first servers of one order."""
    went = dict[int, tuple[int, tuple[int, ...], int]]()
    waiting = list[int]()
    for now in range(200):
        for n, (place, gpus, began) in went.items():
            if began + jobs[n].lasts == now:
                book(machines[place], jobs[n], gpus, -1)
        waiting += [n for n, job in enumerate(jobs) if job.at == now]
        if all(job.at != now for job in jobs) and all(t + jobs[n].lasts != now for n, (_, _, t) in went.items()):
            continue  # nothing has changed
        still = list[int]()
        while waiting:
            group = [n for n in waiting if jobs[n].needs == jobs[waiting[0]].needs]
            length = next((i for i, n in enumerate(waiting) if n not in group), len(waiting))
            group, waiting = waiting[:length], waiting[length:]
            while group:
                order = ordered(policy, machines, jobs[group[0]])
                if not order:
                    break
                taken, group = group[: len(order)], group[len(order) :]
                for n, place in zip(taken, order, strict=False):
                    went[n] = place, gpus_on(machines[place], jobs[n]), now
                    book(machines[place], jobs[n], went[n][1], 1)
            still += group
        waiting = still
    return went


def book(machine: Machine, job: Job, gpus: tuple[int, ...], sign: int) -> None:
    """The job comes, or goes."""
    for gpu in gpus:
        machine.free[gpu] -= sign * job.share
    machine.cpus -= sign * job.cpus
    machine.memory -= sign * job.memory


def machines_of(draw: random.Random) -> list[Machine]:
    """Few kinds and sizes, so that there are many ties; some GPUs are taken from the start."""
    gpus = [[draw.choice((10, 20, 250)) for _ in range(draw.randint(1, 6))] for _ in range(draw.randint(1, 9))]
    return [
        Machine(
            watts,
            [draw.choice((0, 1000, 1000, 1000)) for _ in watts],
            draw.choice((8, 128)),
            draw.choice((10, 1000)),
            draw.choice((0, 10, 250, 330)),
        )
        for watts in gpus
    ]


def job_of(draw: random.Random, at: int = 0) -> Job:
    """Often like others."""
    gpus, share = draw.choice(((0, 1000), (1, 250), (1, 600), (1, 1000), (2, 1000), (3, 1000)))
    kinds = draw.choice(((), (), (10,), (10, 250)))
    return Job(gpus, share, draw.choice((0, 0, 3)), draw.choice((0, 4)), kinds, at, draw.randint(1, 9))


def as_cluster(machines: list[Machine], jobs: list[Job]) -> GpuCluster:
    """The same in the terms of the product."""
    servers = [
        ClusterServer(
            f"s{place}",
            tuple(f"w{watts}" for watts in each.watts),
            frozenset(gpu for gpu, free in enumerate(each.free) if not free),
            1000 * each.cpus,
            each.memory,
            each.standby / 100,
            None,
        )
        for place, each in enumerate(machines)
    ]
    tasks = [
        ClusterTask(
            f"t{n}",
            TaskNeeds(job.gpus, job.share, 1000 * job.cpus, job.memory, tuple(f"w{watts}" for watts in job.kinds)),
            job.at,
            job.lasts,
        )
        for n, job in enumerate(jobs)
    ]
    power = {f"w{watts}": TypePower(0.0, watts / 100, 0.0, 0.0) for watts in (10, 20, 250)}
    return GpuCluster("random", 0, None, power, tuple(servers), tuple(tasks), None)


def orders_agree(policy: str, seed: object, clusters: int) -> None:
    """One task for each cluster."""
    draw = random.Random(f"{policy} {seed}")
    for _ in range(clusters):
        machines, job = machines_of(draw), job_of(draw)
        given = as_cluster(machines, [job])
        assert scheduler(policy, given).order(given.tasks[0].needs) == ordered(policy, machines, job)


def runs_agree(policy: str, seed: object, runs: int) -> int:
    """Returns how many tasks found a place."""
    draw, found = random.Random(f"{policy} {seed}"), 0
    for _ in range(runs):
        machines, jobs = machines_of(draw), list(_jobs(draw))
        given = as_cluster(machines, jobs)
        ours = {
            n: (each.placed.server, each.placed.gpus, each.began)
            for n, each in enumerate(play(given, POLICIES[policy], 0).tasks.values())
            if each.placed is not None
        }
        assert ours == played(policy, machines, jobs)
        assert [(each.cpus, each.memory) for each in machines] == [each.full for each in machines]
        found += len(ours)
    return found


def _jobs(draw: random.Random) -> Iterator[Job]:
    """Some come together, alike."""
    for _ in range(draw.randint(1, 6)):
        job = job_of(draw, draw.randint(0, 20))
        for _ in range(draw.randint(1, 4)):
            yield Job(*job.needs, job.at, draw.randint(1, 9))  # type: ignore[arg-type]


@POLICY
def test_random_clusters_have_the_order_that_the_words_say(policy: str) -> None:
    """P1 to P5."""
    orders_agree(policy, "daily", CLUSTERS)


@POLICY
def test_runs_on_random_clusters_go_as_the_words_say(policy: str) -> None:
    """P1 to P6, while tasks come, wait and go."""
    assert runs_agree(policy, "daily", RUNS) > 5 * RUNS


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize("part", range(PARTS))
@POLICY
def test_a_hundred_thousand_clusters_are_as_the_words_say(policy: str, part: int) -> None:
    """So many orders of both policies together, and 10,000 runs."""
    orders_agree(policy, part, 100_000 // (2 * PARTS))
    runs_agree(policy, part, 10_000 // (2 * PARTS))
