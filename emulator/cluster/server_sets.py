"""Some servers of a cluster and what is asked of them: in this process, in one of their own, or spread over several."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from signal import SIGKILL
from typing import NoReturn

from ringhil.emulator.cluster.cluster import WHOLE, GpuCluster
from ringhil.emulator.cluster.emulated_server import Clock, EmulatedServer
from ringhil.emulator.cluster.fleet import FleetError
from ringhil.emulator.engine.library import Library
from ringhil.emulator.forks import describe, fork


@dataclass(frozen=True)
class JobBegins:
    """See `EmulatedServer.begin`."""

    job: int
    gpus: tuple[int, ...]
    share: int
    ends: int


@dataclass(frozen=True)
class JobStops:
    """See `EmulatedServer.stop`."""

    job: int


@dataclass(frozen=True)
class ServerSleeps:
    """See `EmulatedServer.sleep`."""

    asleep: bool


Asked = tuple[int, JobBegins | JobStops | ServerSleeps]  # the place of a server in the file, and what it is to do


@dataclass(frozen=True)
class FleetMoment:
    """What servers do next: first what is asked of them, then play to `cycle`. `due`: the cycle by which jobs are to be
    over; `down`: servers that don't answer at all; `metered`: read all meters."""

    asked: tuple[Asked, ...]
    cycle: int
    due: int
    down: frozenset[int] = frozenset()
    metered: bool = False


@dataclass
class Told:
    """What has become of it. `counted`: GPUs of servers that count others than before; `over`: jobs, with the cycles
    that they had of their GPUs; `energy`: units that all meters have counted; `unread`: GPUs whose meters couldn't
    be read, by server, where there are some."""

    counted: dict[int, tuple[int, ...]] = field(default_factory=dict)
    over: dict[int, int] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)
    energy: int = 0
    unread: dict[int, int] = field(default_factory=dict)


class ServerSet(ABC):
    """Give it a moment, then hear what it tells; several of them play at the same time."""

    @abstractmethod
    def powered_up(self) -> int:
        """Wait until all are. Cycles in which whatever is asked of them is answered. Raises FleetError."""

    @abstractmethod
    def give(self, moment: FleetMoment) -> None:
        """Begin to play it."""

    @abstractmethod
    def hear(self) -> Told:
        """Its end. Raises FleetError."""

    @abstractmethod
    def close(self) -> None:
        """Free all models."""


Make = Callable[[Sequence[int]], ServerSet]  # of servers, by their places in the file


class ServersSpread(ServerSet):
    """In sets that play at the same time: of `numbers`, one set has the first, the next one the second, and so on.
    Raises FleetError."""

    def __init__(self, numbers: Sequence[int], makes: Sequence[Make]) -> None:
        self._set_of = {number: place % len(makes) for place, number in enumerate(numbers)}
        self._sets = list[ServerSet]()
        try:
            for first, make in enumerate(makes):
                self._sets.append(make(numbers[first :: len(makes)]))
        except BaseException:
            self.close()
            raise

    def powered_up(self) -> int:
        return max([each.powered_up() for each in self._sets])

    def give(self, moment: FleetMoment) -> None:
        for place, servers in enumerate(self._sets):
            asked = tuple(each for each in moment.asked if self._set_of[each[0]] == place)
            servers.give(replace(moment, asked=asked))

    def hear(self) -> Told:
        told = Told()
        for each in [servers.hear() for servers in self._sets]:
            told.counted.update(each.counted)
            told.over.update(each.over)
            told.lost += each.lost
            told.energy += each.energy
            told.unread.update(each.unread)
        return told

    def close(self) -> None:
        for each in self._sets:
            each.close()


class ServersHere(ServerSet):
    """In this process. `numbers`: places in the file. Raises FleetError."""

    def __init__(self, numbers: Sequence[int], cluster: GpuCluster, clock: Clock, library: Library, seed: int) -> None:
        self._servers = dict[int, EmulatedServer]()
        self._counted = dict[int, tuple[int, ...]]()
        self._down: frozenset[int] = frozenset()
        self._told = Told()
        try:
            for number in numbers:
                self._servers[number] = EmulatedServer(number, cluster, clock, library, seed)
        except BaseException:
            self.close()
            raise

    def powered_up(self) -> int:
        return max(each.settled for each in self._servers.values())

    def give(self, moment: FleetMoment) -> None:
        for number, asked in moment.asked:
            if isinstance(asked, JobBegins):
                self._servers[number].begin(asked.job, asked.gpus, asked.share, WHOLE, asked.ends)
            elif isinstance(asked, JobStops):
                self._servers[number].stop(asked.job)
            else:
                self._servers[number].sleep(asked.asleep)
        self._told = told = Told()
        for number, each in self._servers.items():
            each.run_to(moment.cycle, moment.due)
            if (number in moment.down) != (number in self._down):
                each.go_down(number in moment.down)
            each.count()
            if moment.metered:
                each.read_meters(moment.cycle)
            if each.counted != self._counted.get(number):
                told.counted[number] = self._counted[number] = each.counted
            told.over.update(each.ended())
            told.lost += each.lost(moment.due)
            told.energy += each.energy
            if each.unread:
                told.unread[number] = each.unread
        self._down = moment.down

    def hear(self) -> Told:
        return self._told

    def close(self) -> None:
        for each in self._servers.values():
            each.close()


class ServersApart(ServerSet):
    """In a process of its own, which ends with this one. What it tells is pickled by the process that this one has
    forked itself, and nothing else is read."""

    def __init__(self, numbers: Sequence[int], cluster: GpuCluster, clock: Clock, library: Library, seed: int) -> None:
        self._connection, there = Pipe()
        self._pid = fork()
        if self._pid == 0:
            self._connection.close()
            _serve(there, numbers, cluster, clock, library, seed)
        there.close()

    def powered_up(self) -> int:
        settled = self._answer()
        assert isinstance(settled, int)
        return settled

    def give(self, moment: FleetMoment) -> None:
        with suppress(OSError):  # whoever hears finds out
            self._connection.send(moment)

    def hear(self) -> Told:
        told = self._answer()
        assert isinstance(told, Told)
        return told

    def close(self) -> None:
        if self._pid:
            self._connection.close()
            with suppress(ProcessLookupError):
                os.kill(self._pid, SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0

    def _answer(self) -> int | Told:
        try:
            answer = self._connection.recv()
        except (EOFError, OSError):
            _, status = os.waitpid(self._pid, 0)
            self._pid = 0
            self._connection.close()
            raise FleetError(f"the process of some servers {describe(os.waitstatus_to_exitcode(status))}") from None
        if isinstance(answer, str):
            raise FleetError(answer)
        assert isinstance(answer, int | Told)
        return answer


def servers_in(
    jobs: int, numbers: Sequence[int], cluster: GpuCluster, clock: Clock, library: Library, seed: int
) -> ServerSet:
    """In so many processes, 1: this one; no more than there are servers. Raises FleetError."""
    if min(jobs, len(numbers)) == 1:
        return ServersHere(numbers, cluster, clock, library, seed)
    apart = partial(ServersApart, cluster=cluster, clock=clock, library=library, seed=seed)
    return ServersSpread(numbers, [apart] * min(jobs, len(numbers)))


def _serve(
    connection: Connection, numbers: Sequence[int], cluster: GpuCluster, clock: Clock, library: Library, seed: int
) -> NoReturn:
    """Run in the child. What is the parent's isn't cleaned up here: it is still in use there."""
    try:
        try:
            here = ServersHere(numbers, cluster, clock, library, seed)
            connection.send(here.powered_up())
            while True:
                here.give(connection.recv())
                connection.send(here.hear())
        except FleetError as error:
            connection.send(str(error))
    except (EOFError, OSError):
        pass  # nobody asks any more
    except BaseException as error:
        with suppress(OSError):
            connection.send(f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)
