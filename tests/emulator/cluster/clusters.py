"""Clusters for tests, small ones by hand and random ones, and what the policies are told of them."""

import random
from collections.abc import Sequence

import numpy as np

from ringhil.emulator.cluster.cluster import WHOLE, ClusterServer, ClusterTask, GpuCluster, TaskNeeds, TypePower
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.cluster.scheduler import Scheduler
from ringhil.emulator.cluster.servers import Servers
from ringhil.emulator.cluster.workload import TargetWorkload

ONE = TaskNeeds(1, WHOLE, 0, 0, ())


def server(name: str, watts: Sequence[int], standby: float = 0.0, busy: Sequence[int] = ()) -> ClusterServer:
    """A server whose GPUs draw so many watts; their types are named for that."""
    return ClusterServer(name, tuple(f"w{each}" for each in watts), frozenset(busy), 128_000, 1 << 20, standby, None)


def cluster(servers: Sequence[ClusterServer], tasks: Sequence[ClusterTask] = ()) -> GpuCluster:
    """With a power table for the types of `server`."""
    kinds = sorted({kind for each in servers for kind in each.types})
    power = {kind: TypePower(0.0, float(kind[1:]), 0.0, 0.0) for kind in kinds}
    tasks = tasks or (ClusterTask("t", ONE, 0.0, 1.0),)
    return GpuCluster("test", 0, None, power, tuple(servers), tuple(tasks), None)


def scheduler(policy: str, given: GpuCluster) -> Scheduler:
    """Of a cluster to which nothing has come."""
    workload = TargetWorkload(given.tasks, tuple(given.power))
    return Scheduler(Servers.of(given), POLICIES[policy](workload, np.random.default_rng(0)))


def order(policy: str, servers: Sequence[ClusterServer], needs: TaskNeeds = ONE) -> str:
    """Names, first to last."""
    return " ".join(servers[place].name for place in scheduler(policy, cluster(servers)).order(needs))


def random_servers(draw: random.Random) -> list[ClusterServer]:
    """Few types and sizes, so that there are many ties; some GPUs are taken."""
    found = []
    for number in range(draw.randint(1, 12)):
        watts = [draw.choice((1, 2, 5)) for _ in range(draw.randint(1, 6))]
        busy = draw.sample(range(len(watts)), draw.choice((0, 0, draw.randint(0, len(watts)))))
        found.append(server(f"s{number}", watts, float(draw.choice((0, 3, 7))), busy))
    return found
