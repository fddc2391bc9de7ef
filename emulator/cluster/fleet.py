"""The seam between the scheduler and the servers: who carries out what it decides, and says what became of it."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ringhil.emulator.cluster.cluster import ClusterFault, GpuCluster
from ringhil.emulator.cluster.scheduler import PlacedOn
from ringhil.emulator.cluster.servers import Flags
from ringhil.emulator.errors import RinghilError

ELECTION = 6  # censuses that one may take after a fault


class FleetError(RinghilError, ValueError):
    """A cluster that a fleet can't play, or a server that doesn't answer."""


class Fleet(ABC):
    """The servers of one run, from second 0 on. A job is a try of a task, by a number of its own. What is begun, ended
    or put to sleep takes effect at the moment to which time has passed."""

    name: ClassVar[str]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Nothing is asked any more."""

    @abstractmethod
    def pass_to(self, now: float) -> None:
        """Time goes by, up to there."""

    @abstractmethod
    def counted(self) -> Flags:
        """GPUs, a row for each server, that were counted last."""

    @abstractmethod
    def begin(self, job: int, placed: PlacedOn, share: int, ends: float) -> None:
        """A job begins there, with `share` thousandths of each of its GPUs; it is to be over at `ends`."""

    @abstractmethod
    def over(self, job: int) -> bool:
        """Whether a job whose time has come is over."""

    @abstractmethod
    def lost(self) -> list[int]:
        """Jobs that will never be over, as is known since this was asked last: what they ran on has failed."""

    @abstractmethod
    def stop(self, job: int, server: int) -> None:
        """A job that began on this server, and isn't lost, is given up: another member of its gang is lost."""

    @abstractmethod
    def had(self, job: int) -> float | None:
        """Seconds that a job which is over has had of its GPUs, together; None: nobody counts them."""

    @abstractmethod
    def sleep(self, server: int, asleep: bool) -> None:
        """A server goes to sleep, or wakes up (P7)."""

    @abstractmethod
    def metered_j(self) -> float | None:
        """Joules that the meters of all GPUs have counted so far; None: it has no meters."""

    @abstractmethod
    def unread(self) -> dict[int, int]:
        """GPUs whose meters couldn't be read for that, by server, where there are some: what they took since they were
        read last is missing."""


class TableFleet(Fleet):
    """No hardware: all goes as it is written, and nothing is metered. What fails is known at the next census."""

    name = "table"

    def __init__(self, cluster: GpuCluster) -> None:
        self._period = cluster.census
        self._faults = [fault for fault in cluster.faults if fault.link is None]
        _refuse_cut_rings(cluster)
        self._working = np.zeros((len(cluster.servers), max(len(each.types) for each in cluster.servers)), np.bool_)
        for row, server in enumerate(cluster.servers):
            self._working[row, : len(server.types)] = True
        self._census = self._working
        self._now = 0.0
        self._jobs = dict[int, _Job]()

    def close(self) -> None:
        pass

    def pass_to(self, now: float) -> None:
        for fault in self._faults:
            if self._now < fault.at <= now:
                for job in self._jobs.values():
                    if job.runs_on(fault):
                        job.failed_at = min(job.failed_at, fault.at)
        self._now = now
        at = math.floor(now / self._period) * self._period
        self._census = self._working.copy()
        for fault in self._faults:
            if fault.at <= at < fault.ends:
                self._census[fault.server, slice(None) if fault.gpu is None else fault.gpu] = False

    def counted(self) -> Flags:
        return self._census

    def begin(self, job: int, placed: PlacedOn, share: int, ends: float) -> None:
        if self._faults:
            begun = _Job(placed, ends)
            if self._out_of_order(begun):
                begun.failed_at = self._now
            self._jobs[job] = begun

    def over(self, job: int) -> bool:
        return job not in self._jobs or (self._jobs[job].failed_at == math.inf and self._jobs.pop(job) is not None)

    def lost(self) -> list[int]:
        found = []
        for number, job in [*self._jobs.items()]:
            census = self._census[job.placed.server]
            there = self._working[job.placed.server]  # a server without GPUs has no census to drop it
            dropped = there.any() and not (census[list(job.placed.gpus)].all() if job.placed.gpus else census.any())
            if dropped or (job.failed_at < math.inf and job.ends <= self._now and not self._out_of_order(job)):
                found.append(number)
                del self._jobs[number]
        return found

    def failed_at(self, job: int) -> float:
        """When a job failed that nobody may know of yet; infinite: it hasn't."""
        return self._jobs[job].failed_at if job in self._jobs else math.inf

    def _out_of_order(self, job: "_Job") -> bool:
        """Something that it runs on is, so that nobody can be asked what became of it."""
        return any(fault.at <= self._now < fault.ends and job.runs_on(fault) for fault in self._faults)

    def stop(self, job: int, server: int) -> None:
        self._jobs.pop(job, None)

    def had(self, job: int) -> float | None:
        return None

    def sleep(self, server: int, asleep: bool) -> None:
        pass

    def metered_j(self) -> float | None:
        return None

    def unread(self) -> dict[int, int]:
        return {}


@dataclass(slots=True)
class _Job:
    placed: PlacedOn
    ends: float
    failed_at: float = math.inf

    def runs_on(self, fault: ClusterFault) -> bool:
        server = self.placed.server
        if not self.placed.gpus:
            return server == fault.server and fault.gpu is None
        return any(fault.strikes(server, gpu) for gpu in self.placed.gpus)


def _refuse_cut_rings(cluster: GpuCluster) -> None:
    """A ring with one cut link counts all its GPUs (R6); with two, only hardware knows. Raises FleetError."""
    cut = dict[int, float]()
    for fault in sorted(cluster.faults, key=lambda fault: fault.at):
        if fault.link is None:
            continue
        if fault.at < cut.get(fault.server, 0.0):
            problem = f"{cluster.servers[fault.server].name}: two links are cut at {fault.at:g} s"
            raise FleetError(f"{problem}; allowed is one in the table fleet, or --fleet emulated")
        cut[fault.server] = max(fault.ends, cut.get(fault.server, 0.0))
