"""All servers of a cluster, emulated. They meet only where the scheduler decides: each is played up to that moment."""

import math
from collections.abc import Iterator
from typing import Self

import numpy as np

from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.emulated_server import Clock, scenario_of
from ringhil.emulator.cluster.fleet import Fleet, FleetError
from ringhil.emulator.cluster.scheduler import PlacedOn
from ringhil.emulator.cluster.server_sets import (
    Asked,
    FleetMoment,
    JobBegins,
    JobStops,
    ServerSet,
    ServerSleeps,
    servers_in,
)
from ringhil.emulator.cluster.servers import Flags
from ringhil.emulator.engine.library import Library

_RATES = (100_000, 10_000, 1_000, 100)  # cycles in a second
_LONGEST = 1 << 31  # cycles of a run: a launch and a period have 32 bits
_MOST_UNITS = 60_000  # of energy in a cycle: a power has 16 bits
MOST_COUNTED = 60_000  # GPUs, times censuses: what is emulated unless a file or command says otherwise


def clock_of(cluster: GpuCluster) -> Clock:
    """The finest that its run fits in. Raises FleetError."""
    assert cluster.until is not None
    most = max((max(each.idle, each.task, each.low, each.off) for each in cluster.power.values()), default=0.0)
    for rate in _RATES:
        if max(cluster.until, cluster.census) * rate < _LONGEST:
            return Clock(rate, max(1, round(cluster.census * rate)), _MOST_UNITS / most if most else 1.0)
    problem = f"a run of {max(cluster.until, cluster.census):g} seconds"
    raise FleetError(f"{problem}; allowed are {_LONGEST // _RATES[-1]} where servers are emulated, or the table fleet")


def misfit(cluster: GpuCluster) -> FleetError | None:
    """Why a cluster with an end can't be emulated."""
    try:
        clock = clock_of(cluster)
        for number in range(len(cluster.servers)):
            scenario_of(number, cluster, clock, 0)
    except FleetError as error:
        return error
    return None


def counted_in_all(cluster: GpuCluster) -> float:
    """GPUs times censuses of a run: the measure of what it takes to emulate it."""
    assert cluster.until is not None
    return cluster.gpus * (1 + cluster.until / cluster.census)


class EmulatedFleet(Fleet):
    """Of a cluster that says `until`. `servers`: all, which are closed with it. Raises FleetError, also later."""

    name = "emulated"

    def __init__(self, cluster: GpuCluster, servers: ServerSet) -> None:
        self._clock, self._servers = clock_of(cluster), servers
        self._census, self._faults = cluster.census, cluster.faults
        try:
            self._settled = servers.powered_up()
        except BaseException:
            self.close()
            raise
        most = max(len(each.types) for each in cluster.servers)
        self._counted = np.zeros((len(cluster.servers), most), np.bool_)
        self._over, self._lost = dict[int, int](), list[int]()
        self._asked = list[Asked]()
        self._now, self._energy = 0.0, 0
        self._unread = dict[int, int]()

    @classmethod
    def local(cls, cluster: GpuCluster, seed: int, library: Library, jobs: int = 1) -> Self:
        """Its servers live in `jobs` processes of this machine, 1: this one. Raises FleetError."""
        clock, everyone = clock_of(cluster), range(len(cluster.servers))
        return cls(cluster, servers_in(jobs, everyone, cluster, clock, library, seed))

    def close(self) -> None:
        self._servers.close()

    def pass_to(self, now: float) -> None:
        self._now = now
        self._play(metered=bool(self._faults))

    def _play(self, *, metered: bool) -> None:
        # What ends at this moment, and the census of this moment, are told when the decision is made.
        due = self._clock.cycle(self._now)
        self._servers.give(FleetMoment(tuple(self._asked), due + self._settled, due, frozenset(self._down()), metered))
        self._asked.clear()
        told = self._servers.hear()
        for number, counted in told.counted.items():
            self._counted[number] = False
            self._counted[number, list(counted)] = True
        self._over.update(told.over)
        self._lost += sorted(told.lost)
        self._energy, self._unread = told.energy, told.unread

    def _down(self) -> Iterator[int]:
        """A whole server that is out of order doesn't answer when a census is due."""
        at = math.floor(self._now / self._census) * self._census
        return (fault.server for fault in self._faults if fault.whole and fault.at <= at < fault.ends)

    def counted(self) -> Flags:
        return self._counted.copy()

    def begin(self, job: int, placed: PlacedOn, share: int, ends: float) -> None:
        self._asked.append((placed.server, JobBegins(job, placed.gpus, share, self._clock.cycle(ends))))

    def over(self, job: int) -> bool:
        return job in self._over

    def lost(self) -> list[int]:
        lost, self._lost = self._lost, []
        return lost

    def stop(self, job: int, server: int) -> None:
        self._asked.append((server, JobStops(job)))

    def had(self, job: int) -> float | None:
        return self._over[job] / self._clock.rate

    def sleep(self, server: int, asleep: bool) -> None:
        self._asked.append((server, ServerSleeps(asleep)))

    def metered_j(self) -> float | None:
        if not self._faults:  # else they have been read at this moment
            self._play(metered=True)
        return self._energy * self._clock.unit

    def unread(self) -> dict[int, int]:
        return dict(sorted(self._unread.items()))
