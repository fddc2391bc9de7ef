"""The servers of one emulated run as tasks of a pool: a part of them for each of those who play, a moment at a time.

Who plays a part keeps its servers from one moment to the next. Whoever runs the whole keeps what it has asked, so that
a part which is lost powers up anew with somebody else, plays all its moments once more, and goes on. What it told
before it must tell again: both sides keep a digest of that.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ringhil.emulator.campaign.place.run import PlaceRun, RunResult
from ringhil.emulator.campaign.pool import Heard, Lost, Pool
from ringhil.emulator.cluster.fleet import FleetError
from ringhil.emulator.cluster.server_sets import FleetMoment, ServerSet, ServersSpread, Told


@dataclass(frozen=True)
class ServersTask:
    """What a part of the servers of a run does next: part `part` of `parts`, from 0. `after`: moments that it has
    played so far; None: it powers up first."""

    run: PlaceRun
    part: int
    parts: int
    after: int | None
    moments: tuple[FleetMoment, ...] = ()

    def of(self, servers: int) -> Sequence[int]:
        """The places of its servers, of so many."""
        return range(servers)[self.part :: self.parts]

    def __str__(self) -> str:
        """As it is named in a line."""
        return f"{self.run}: part {self.part + 1} of {self.parts} of its servers"


@dataclass(frozen=True)
class ServersTold:
    """`settled`: see `ServerSet.powered_up`. `told`: of the last moment, and `digest` of all; None: it isn't here as it
    was then."""

    settled: int = 0
    told: Told | None = None
    digest: str = ""


PlaceTask = PlaceRun | ServersTask
PlaceAnswer = RunResult | ServersTold | str


def _digest(before: str, told: Told) -> str:
    return hashlib.sha256(f"{before} {told}".encode()).hexdigest()


@dataclass
class _Part:
    servers: ServerSet
    settled: int
    played: int = 0
    digest: str = ""


class HeldServers:
    """Parts that are played in this process, of one run at a time."""

    def __init__(self) -> None:
        self._run: tuple[PlaceRun, int] | None = None
        self._parts = dict[int, _Part]()

    def play(self, task: ServersTask, make: Callable[[], ServerSet]) -> ServersTold:
        """`make`: its servers, when they are to power up. Raises FleetError."""
        if self._run != (task.run, task.parts):
            self.close()
            self._run = task.run, task.parts
        part = self._parts.get(task.part)
        if task.after is None:
            part = self._anew(task.part, make)
        elif part is None or part.played != task.after:
            return ServersTold()
        told = Told()
        for moment in task.moments:
            part.servers.give(moment)
            told = part.servers.hear()
            part.played, part.digest = part.played + 1, _digest(part.digest, told)
        return ServersTold(part.settled, told, part.digest)

    def _anew(self, number: int, make: Callable[[], ServerSet]) -> _Part:
        before = self._parts.pop(number, None)
        if before is not None:
            before.servers.close()
        servers = make()
        try:
            self._parts[number] = part = _Part(servers, servers.powered_up())
        except BaseException:
            servers.close()
            raise
        return part

    def close(self) -> None:
        """Free all models."""
        for part in self._parts.values():
            part.servers.close()
        self._parts.clear()


class _Desk:
    """Between the parts of a run and the pool: each hears what is for it."""

    def __init__(self, pool: Pool[PlaceTask, PlaceAnswer]) -> None:
        self._pool = pool
        self._heard = dict[int, Heard[PlaceTask, PlaceAnswer]]()

    def give(self, task: ServersTask) -> None:
        self._pool.give([task])

    def answer(self, part: int) -> ServersTold:
        """To what was given for it. Raises FleetError."""
        while part not in self._heard:
            for each in self._pool.hear():
                assert isinstance(each.task, ServersTask)
                self._heard[each.task.part] = each
        heard = self._heard.pop(part)
        if isinstance(heard, Lost):
            raise FleetError(f"{heard.task}: {heard.why}")
        if isinstance(heard.answer, str):
            raise FleetError(heard.answer)
        assert isinstance(heard.answer, ServersTold)
        return heard.answer


class _ServersThere(ServerSet):
    def __init__(self, desk: _Desk, run: PlaceRun, part: int, parts: int) -> None:
        self._desk, self._powers_up = desk, ServersTask(run, part, parts, None)
        self._asked, self._digest = list[FleetMoment](), ""
        desk.give(self._powers_up)

    def powered_up(self) -> int:
        return self._answer().settled

    def give(self, moment: FleetMoment) -> None:
        self._desk.give(replace(self._powers_up, after=len(self._asked), moments=(moment,)))
        self._asked.append(moment)

    def hear(self) -> Told:
        found = self._answer()
        if found.told is None:
            self._desk.give(replace(self._powers_up, moments=tuple(self._asked)))
            found = self._answer()
        assert found.told is not None
        self._digest = _digest(self._digest, found.told)
        if found.digest != self._digest:
            raise FleetError(f"{self._powers_up} told something else when they played the same again")
        return found.told

    def _answer(self) -> ServersTold:
        return self._desk.answer(self._powers_up.part)

    def close(self) -> None:
        """Whoever holds them frees them for the next run, or with the pool."""


def servers_of(pool: Pool[PlaceTask, PlaceAnswer], run: PlaceRun, servers: int, parts: int) -> ServerSet:
    """All servers of an emulated run, so many, in parts that `pool` plays. Raises FleetError."""
    desk, parts = _Desk(pool), min(parts, servers)
    makes = [partial(_made, desk, run, part, parts) for part in range(parts)]
    return ServersSpread(range(servers), makes)


def _made(desk: _Desk, run: PlaceRun, part: int, parts: int, numbers: Sequence[int]) -> ServerSet:
    """`numbers`: as `ServersTask.of` has them, who is to play them."""
    return _ServersThere(desk, run, part, parts)
