"""Tasks come until the cluster is full and beyond, nobody leaves: how much of it is used, and what is left in pieces.

The experiment of Weng et al., USENIX ATC '23: see docs/howto/cluster.md.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from ringhil.emulator.cluster.cluster import WHOLE, GpuCluster, Saturation
from ringhil.emulator.cluster.policy import PlacementPolicy
from ringhil.emulator.cluster.scheduler import PlacedOn, Scheduler
from ringhil.emulator.cluster.servers import Servers
from ringhil.emulator.cluster.workload import TargetWorkload


@dataclass(frozen=True)
class SaturationPoint:
    """Means over the arrivals at one `percent` of all GPUs asked for: percent of all GPUs that are used, percent of
    what is free that the expected next task can't use, watts with nothing asleep."""

    percent: int
    allocated: float
    fragmentation: float
    watts: float


@dataclass(frozen=True)
class Saturated:
    """`arrivals`: each task by its place in the file, and where its members went; none of them: nowhere, for good."""

    points: tuple[SaturationPoint, ...]
    arrivals: tuple[tuple[int, tuple[PlacedOn, ...]], ...]

    @property
    def failed(self) -> int:
        """Tasks that found no server."""
        return sum(not placed for _, placed in self.arrivals)


def saturate(
    cluster: GpuCluster,
    saturation: Saturation,
    policy: type[PlacementPolicy],
    seed: int,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Saturated:
    """The same for the same seed; `on_progress` is told how many have come, of how many."""
    workload = TargetWorkload(cluster.tasks, tuple(cluster.power))
    servers = Servers.of(cluster)
    made = policy(workload, np.random.default_rng(seed))
    scheduler = Scheduler(servers, made, saturation.ties)
    order = saturation.arrivals or tuple(_drawn(cluster, saturation.load, seed))
    everything = cluster.gpus * WHOLE
    fragments, watts, free = workload.fragmentation(servers), servers.watts(), int(servers.free.sum())
    asked = 0
    samples = defaultdict[int, list[tuple[float, float, float]]](list)
    went = list[tuple[int, tuple[PlacedOn, ...]]]()
    for number, place in enumerate(order):
        task = cluster.tasks[place]
        placed = tuple(scheduler.choose_all(task, one_each=made.one_each))
        if placed:
            rows = np.array(sorted({each.server for each in placed}))
            changed = servers.at(rows)
            fragments[rows], watts[rows] = workload.fragmentation(changed), changed.watts()
            free -= task.asked
        asked += task.asked
        went.append((place, placed))
        percent = round(100 * asked / everything)
        ratio = 100 * float(fragments.sum()) / free if free else 0.0
        # Each sample is rounded, as the published ones are, so that means agree with theirs.
        allocated = round(100 * (everything - free) / everything, 2)
        samples[percent].append((allocated, round(ratio, 2), float(watts.sum())))
        if number % 100 == 0:
            on_progress(number, len(order))
    on_progress(len(order), len(order))
    points = (
        SaturationPoint(percent, *(fmean(each) for each in zip(*samples[percent], strict=True)))
        for percent in sorted(samples)
    )
    return Saturated(tuple(points), tuple(went))


def _drawn(cluster: GpuCluster, load: float, seed: int) -> Iterator[int]:
    """All tasks once, shuffled; then any of them, until enough was asked for."""
    random = np.random.default_rng((seed, 1))  # another stream than the policy's
    wanted = load * cluster.gpus * WHOLE
    first = [int(place) for place in random.permutation(len(cluster.tasks))]
    asked = 0
    while asked < wanted:
        place = first.pop(0) if first else int(random.integers(len(cluster.tasks)))
        asked += cluster.tasks[place].asked
        yield place
