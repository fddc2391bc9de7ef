"""All servers of a cluster, emulated. They meet only where the scheduler decides: each is played up to that moment."""

import math
from collections.abc import Callable

import numpy as np

from ringhil.emulator.cluster.cluster import WHOLE, GpuCluster
from ringhil.emulator.cluster.emulated_server import Clock, EmulatedServer, scenario_of
from ringhil.emulator.cluster.fleet import Fleet, FleetError
from ringhil.emulator.cluster.scheduler import PlacedOn
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
    raise FleetError(f"{problem}; allowed are {_LONGEST // _RATES[-1]} where servers are emulated, or --fleet table")


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
    """Of a cluster that says `until`. Raises FleetError, also later."""

    name = "emulated"

    def __init__(
        self,
        cluster: GpuCluster,
        seed: int,
        library: Library,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self._clock = clock = clock_of(cluster)
        self._servers = list[EmulatedServer]()
        self._most = max(len(each.types) for each in cluster.servers)
        try:
            for number in range(len(cluster.servers)):
                self._servers.append(EmulatedServer(number, cluster, clock, library, seed))
                on_progress(number + 1, len(cluster.servers))
        except BaseException:
            self.close()
            raise
        self._settled = max(each.settled for each in self._servers)
        self._census, self._faults = cluster.census, cluster.faults
        self._down = set[int]()
        self._where = dict[int, int]()
        self._at = 0

    def close(self) -> None:
        for each in self._servers:
            each.close()

    def pass_to(self, now: float) -> None:
        # What ends at this moment, and the census of this moment, are told when the decision is made.
        cycle = self._clock.cycle(now)
        self._at = cycle + self._settled
        for each in self._servers:
            each.run_to(self._at, due=cycle)
        self._look_who_is_down(now)
        for each in self._servers:
            each.count()
            if self._faults:
                each.read_meters(self._at)

    def _look_who_is_down(self, now: float) -> None:
        """A whole server that is out of order doesn't answer when a census is due."""
        at = math.floor(now / self._census) * self._census
        down = {each.server for each in self._faults if each.whole and each.at <= at < each.ends}
        for server in sorted(down ^ self._down):
            self._servers[server].go_down(server in down)
        self._down = down

    def counted(self) -> Flags:
        counted = np.zeros((len(self._servers), self._most), np.bool_)
        for number, each in enumerate(self._servers):
            counted[number, list(each.counted)] = True
        return counted

    def begin(self, job: int, placed: PlacedOn, share: int, ends: float) -> None:
        self._where[job] = placed.server
        self._servers[placed.server].begin(job, placed.gpus, share, WHOLE, self._clock.cycle(ends))

    def over(self, job: int) -> bool:
        return self._servers[self._where[job]].over(job)

    def lost(self) -> list[int]:
        return [job for each in self._servers for job in each.lost(self._at - self._settled)]

    def had(self, job: int) -> float | None:
        return self._servers[self._where[job]].had(job) / self._clock.rate

    def sleep(self, server: int, asleep: bool) -> None:
        self._servers[server].sleep(asleep)

    def metered_j(self) -> float | None:
        for each in self._servers:
            each.read_meters(self._at)
        return sum(each.energy for each in self._servers) * self._clock.unit
