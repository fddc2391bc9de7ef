"""All servers of a cluster, emulated. They meet only where the scheduler decides: each is played up to that moment."""

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from ringhil.emulator.cluster.cluster import WHOLE, GpuCluster
from ringhil.emulator.cluster.emulated_server import Clock, EmulatedServer, EmulationError, scenario_of
from ringhil.emulator.cluster.fleet import Fleet
from ringhil.emulator.cluster.scheduler import PlacedOn
from ringhil.emulator.cluster.servers import Flags
from ringhil.emulator.engine.library import Library

_RATES = (100_000, 10_000, 1_000, 100)  # cycles in a second
_LONGEST = 1 << 31  # cycles of a run: a launch and a period have 32 bits
_MOST_UNITS = 60_000  # of energy in a cycle: a power has 16 bits
MOST_COUNTED = 60_000  # GPUs, times censuses: what is emulated unless a file or command says otherwise


def clock_of(cluster: GpuCluster) -> Clock:
    """The finest that its run fits in. Raises EmulationError."""
    assert cluster.until is not None
    most = max((max(each.idle, each.task, each.low, each.off) for each in cluster.power.values()), default=0.0)
    for rate in _RATES:
        if max(cluster.until, cluster.census) * rate < _LONGEST:
            return Clock(rate, max(1, round(cluster.census * rate)), _MOST_UNITS / most if most else 1.0)
    problem = f"a run of {max(cluster.until, cluster.census):g} seconds"
    raise EmulationError(
        f"{problem}; allowed are {_LONGEST // _RATES[-1]} where servers are emulated, or --fleet table"
    )


def misfit(cluster: GpuCluster) -> EmulationError | None:
    """Why a cluster with an end can't be emulated."""
    try:
        clock = clock_of(cluster)
        for server in cluster.servers:
            scenario_of(server, cluster, clock, 0)
    except EmulationError as error:
        return error
    return None


def counted_in_all(cluster: GpuCluster) -> float:
    """GPUs times censuses of a run: the measure of what it takes to emulate it."""
    assert cluster.until is not None
    return cluster.gpus * (1 + cluster.until / cluster.census)


class EmulatedFleet(Fleet):
    """Of a cluster that says `until`. Raises EmulationError, also later."""

    name = "emulated"

    def __init__(
        self,
        cluster: GpuCluster,
        seed: int,
        library: Library,
        on_progress: Callable[[int, int], None] = lambda a, b: None,
    ) -> None:
        self._clock, clock = clock_of(cluster), clock_of(cluster)
        assert cluster.until is not None
        self._servers = list[EmulatedServer]()
        most = max(len(each.types) for each in cluster.servers)
        self._counted = np.zeros((len(cluster.servers), most), np.bool_)
        try:
            for number, server in enumerate(cluster.servers):
                self._servers.append(EmulatedServer(server, cluster, clock, library, seed + number))
                on_progress(number + 1, len(cluster.servers))
        except BaseException:
            self.close()
            raise
        self._settled = max(each.settled for each in self._servers)
        self._where = dict[int, int]()
        self._due = defaultdict[int, dict[int, int]](dict)  # by server: cycles at which jobs are to be over
        self._at = 0

    def close(self) -> None:
        for each in self._servers:
            each.close()

    def pass_to(self, now: float) -> None:
        # What ends at this moment, and the census of this moment, are told when the decision is made.
        cycle = self._clock.cycle(now)
        self._at = cycle + self._settled
        for number, each in enumerate(self._servers):
            due = [job for job, ends in self._due[number].items() if ends <= cycle]
            for job in due:
                del self._due[number][job]
            each.run_to(self._at, due)

    def counted(self) -> Flags | None:
        counted = np.zeros_like(self._counted)
        for number, each in enumerate(self._servers):
            counted[number, list(each.counted)] = True
        if (counted == self._counted).all():
            return None
        self._counted = counted
        return counted

    def begin(self, job: int, placed: PlacedOn, share: int, ends: float) -> None:
        if not placed.gpus:
            return  # all that it has is processors: they are the scheduler's books
        cycle = self._clock.cycle(ends)
        self._where[job] = placed.server
        self._due[placed.server][job] = cycle
        self._servers[placed.server].begin(job, placed.gpus, share, WHOLE, cycle)

    def over(self, job: int) -> bool:
        return job not in self._where or self._servers[self._where[job]].over(job)

    def had(self, job: int) -> float | None:
        if job not in self._where:
            return 0.0
        return self._servers[self._where[job]].had(job) / self._clock.rate

    def sleep(self, server: int, asleep: bool) -> None:
        self._servers[server].sleep(asleep)

    def metered_j(self) -> float | None:
        units = sum(sum(each.meter(self._at).values()) for each in self._servers)
        return units * self._clock.unit
