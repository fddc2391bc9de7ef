"""The seam between the scheduler and the servers: who carries out what it decides, and says what became of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Self

from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.scheduler import PlacedOn
from ringhil.emulator.cluster.servers import Flags


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
    def counted(self) -> Flags | None:
        """GPUs, a row for each server, that were counted last; None: as before."""

    @abstractmethod
    def begin(self, job: int, placed: PlacedOn, share: int, ends: float) -> None:
        """A job begins there, with `share` thousandths of each of its GPUs; it is to be over at `ends`."""

    @abstractmethod
    def over(self, job: int) -> bool:
        """Whether a job whose time has come is over."""

    @abstractmethod
    def had(self, job: int) -> float | None:
        """Seconds that a job which is over has had of its GPUs, together; None: nobody counts them."""

    @abstractmethod
    def sleep(self, server: int, asleep: bool) -> None:
        """A server goes to sleep, or wakes up (P7)."""

    @abstractmethod
    def metered_j(self) -> float | None:
        """Joules that the meters of all GPUs have counted so far; None: it has no meters."""


FleetMaker = Callable[[GpuCluster, int], Fleet]


class TableFleet(Fleet):
    """No hardware: all goes as it is written, and nothing is metered."""

    name = "table"

    def close(self) -> None:
        pass

    def pass_to(self, now: float) -> None:
        pass

    def counted(self) -> Flags | None:
        return None

    def begin(self, job: int, placed: PlacedOn, share: int, ends: float) -> None:
        pass

    def over(self, job: int) -> bool:
        return True

    def had(self, job: int) -> float | None:
        return None

    def sleep(self, server: int, asleep: bool) -> None:
        pass

    def metered_j(self) -> float | None:
        return None
