"""A pool whose batches are Dask tasks, each on a worker that was checked before it got any.

A worker is opened once for a campaign: it starts a process of its own (station.py), which is checked, builds the engine
and loads what it needs. Only then is it given batches: `ahead` for each of its threads. With two, it goes on with one
while the answers of the other travel; with one, no task waits behind another while there is a free thread.

A worker that is gone, or silent for `SILENCE` seconds, gets nothing more, and what it had is done by others, each task
by itself. A task by itself whose worker is lost as well is done once more, on a worker that has nothing else; when that
one is lost, too, the task is, unless it has more `tries`. What a worker answers after it was taken for lost is not
heard.

Tasks that build on each other have a home: they go to one worker, one at a time. When it is gone, whoever comes in its
place gets them, or after `_RETURN` seconds any other worker, which has to find out that it lacks what came before.
"""

import asyncio
import contextlib
import itertools
import json
import logging
import signal
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from queue import Empty, SimpleQueue
from typing import Any, Generic

from ringhil.emulator.campaign.dask import ClusterError, on_worker
from ringhil.emulator.campaign.dask.order import Codec, Order
from ringhil.emulator.campaign.dask.where import Cluster
from ringhil.emulator.campaign.pool import Answered, Heard, Lost, Pool
from ringhil.emulator.campaign.pool.pool import A, T
from ringhil.emulator.forks import SIGNALS

SILENCE = 30.0  # seconds without a sign of life; a worker gives one every few
_LOOK = 0.5  # seconds between two looks at who is there
_ANSWER = 10.0  # seconds for an answer to what costs nothing
_NO_SCHEDULER = 15.0  # seconds without one
_RETURN = 15.0  # seconds in which a worker that was lost may be started again, and be checked
_SIGN = 60.0  # seconds after which workers that have nothing to do are told that it goes on
LOST = "the worker that played it was lost, {}"

_log = logging.getLogger(__name__)
_Batch = list[tuple[int, T]]


class _State(Enum):
    OPENING = auto()
    READY = auto()
    REFUSED = auto()


@dataclass
class _Member:
    """A worker. `room`: batches that it may have. `seen` is what its scheduler says of its last sign of life, which
    came here at `heard`. `alone`: it has a task that nothing else may be beside."""

    address: str
    name: str
    lanes: int
    room: int
    seen: float
    heard: float
    state: _State = _State.OPENING
    flights: int = 0
    alone: bool = False

    @property
    def free(self) -> int:
        return self.room - self.flights if self.state == _State.READY and not self.alone else 0


@dataclass
class _Flight(Generic[T]):
    """A batch on its way, or, without tasks, the opening of a worker. `alone`: nothing else is on that worker."""

    future: Any
    member: _Member
    tasks: dict[int, T] = field(default_factory=dict)
    alone: bool = False


class DaskPool(Pool[T, A]):
    """Plays `order` on a cluster, which is closed with it. `tries`: a task that has cost so many workers is lost.
    `home`: of a task, from 0; those that have one are given in batches of one. Raises ClusterError when nobody can be
    found to play."""

    def __init__(
        self,
        cluster: Cluster,
        order: Order,
        codec: Codec[T, A],
        ahead: int = 1,
        *,
        tries: int = 2,
        home: Callable[[T], int | None] = lambda task: None,
    ) -> None:
        self._cluster, self._order, self._codec, self._ahead, self._tries = cluster, order, codec, ahead, tries
        self._home_of, self._homes = home, dict[int, str]()  # by home: the address of the worker
        self._left = -_RETURN
        self._signed = time.monotonic()
        self._token = uuid.uuid4().hex
        self._numbers, self._keys = itertools.count(), itertools.count()
        self._members: dict[str, _Member] = {}
        self._flights: dict[str, _Flight[T]] = {}
        self._waiting: deque[_Batch[T]] = deque()
        self._died: Counter[int] = Counter()
        self._told: SimpleQueue[Any] = SimpleQueue()
        self._refused: dict[str, str] = {}  # by address: a line each
        self._silent: dict[str, float] = {}  # by address: the last sign of life
        self._gathered = False
        self._looked = -_LOOK
        self._alone = self._answered = time.monotonic()
        try:
            self._gather()
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------------------------------------------ as a pool

    @property
    def lanes(self) -> int:
        """Batches that are played at a time by those who are ready."""
        return sum(member.lanes for member in self._members.values() if member.state == _State.READY)

    @property
    def workers(self) -> int:
        """Those who are ready."""
        return sum(member.state == _State.READY for member in self._members.values())

    @property
    def room(self) -> int:
        """See Pool. With nobody ready, one batch can wait for the first."""
        free = sum(member.free for member in self._members.values()) - len(self._waiting)
        return free if self.lanes else int(not self.busy)

    @property
    def busy(self) -> bool:
        """See Pool."""
        return bool(self._waiting) or any(flight.tasks for flight in self._flights.values())

    def give(self, batch: Sequence[T]) -> None:
        """See Pool."""
        self._waiting.append([(next(self._numbers), task) for task in batch])
        self._send()

    def hear(self, timeout: float = 1.0) -> list[Heard[T, A]]:
        """See Pool. Raises ClusterError when nobody is left, and nobody comes."""
        heard: list[Heard[T, A]] = []
        until = time.monotonic() + timeout
        while True:
            heard += self._look()
            self._send()
            left = until - time.monotonic()
            try:
                told = self._told.get(timeout=0 if heard else max(0.0, min(left, _LOOK)))
            except Empty:
                if heard or left <= 0:
                    return heard
                continue
            heard += self._hear(told)

    def drop(self, unwanted: Callable[[T], bool]) -> None:
        """See Pool. The process ends that does such a task, or as soon as it comes to one."""
        kept = [[one for one in batch if not unwanted(one[1])] for batch in self._waiting]
        self._waiting = deque(batch for batch in kept if batch)
        for flight in self._flights.values():
            numbers = [number for number, task in flight.tasks.items() if unwanted(task)]
            for number in numbers:
                del flight.tasks[number]
            if numbers:
                self._run(on_worker.drop_tasks, flight.member, numbers)

    def close(self) -> None:
        """See Pool."""
        with _undisturbed():
            for flight in self._flights.values():
                with contextlib.suppress(Exception):
                    flight.future.cancel()
            self._flights.clear()
            self._waiting.clear()
            for member in self._members.values():
                if member.state != _State.REFUSED:
                    self._run(on_worker.end_station, member)
            self._members.clear()
            self._cluster.close()

    # ------------------------------------------------------------------------------------------ who is there

    def _gather(self) -> None:
        """Wait until all who are there are checked, and so many as are expected have come."""
        while True:
            self.hear(_LOOK)
            opening = any(member.state == _State.OPENING for member in self._members.values())
            if self.lanes and not opening and len(self._members) >= self._cluster.expected:
                self._gathered = True
                for line in self._refused.values():
                    self._cluster.refused(line)
                return

    def _look(self) -> list[Heard[T, A]]:
        """Open who has come, and take back what those had who are gone."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return []
        self._looked, heard = now, list[Heard[T, A]]()
        there = self._there()
        for address, info in there.items():
            member = self._members.get(address)
            if member is None:
                lanes = info["nthreads"]
                self._open(_Member(address, str(info["name"]), lanes, self._ahead * lanes, info["last_seen"], now))
            elif member.seen != info["last_seen"]:
                member.seen, member.heard = info["last_seen"], now
        for member in list(self._members.values()):
            if member.address not in there:
                heard += self._gone(member, "has left")
            elif now - member.heard > SILENCE and member.state != _State.REFUSED:
                self._silent[member.address] = member.seen
                heard += self._gone(member, f"is silent for {SILENCE:g} seconds")
        if any(member.state != _State.REFUSED for member in self._members.values()):
            self._alone = now
        self._give_up(now)
        if now - self._signed > _SIGN:
            self._signed = now
            for member in self._members.values():
                if member.state == _State.READY:
                    self._run(on_worker.drop_tasks, member, [])
        return heard

    def _there(self) -> dict[str, Any]:
        client = self._cluster.client
        try:
            identity = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=_ANSWER)
        except Exception as error:  # a client that has given up raises one thing or another
            if time.monotonic() - self._answered > _NO_SCHEDULER:
                raise ClusterError(f"--cluster {self._cluster.name}: its scheduler doesn't answer any more") from error
            return {address: _as_before(member) for address, member in self._members.items()}
        self._answered = time.monotonic()
        found: dict[str, Any] = {}
        for address, info in identity["workers"].items():
            # Who was silent is as if it was not there, until it gives a sign of life.
            if info["nthreads"] > 0 and self._silent.get(address) != info["last_seen"]:
                self._silent.pop(address, None)
                found[address] = info
        return found

    def _give_up(self, now: float) -> None:
        """Raises ClusterError when there is nobody, and nobody comes; at the beginning, also when all are refused.
        Later whoever played has gone."""
        gathered = len(self._members) >= max(1, self._cluster.expected)
        if now - self._alone <= (0.0 if gathered and not self._gathered else self._cluster.wait):
            return
        where = f"--cluster {self._cluster.name}"
        refused = "; ".join(self._refused.values())
        if refused and not self._gathered:
            raise ClusterError(f"{where}: nobody may play: {refused}")
        left = f"; those that are there may not play: {refused}" if refused else ""
        raise ClusterError(f"{where}: {self._cluster.missing}{left}")

    def _open(self, member: _Member) -> None:
        _log.info("worker %s: checking", member.address)
        self._members[member.address] = member
        order = replace(self._order, lanes=member.lanes)
        self._submit(member, {}, on_worker.open_station, order.to_json())

    def _opened(self, member: _Member, why: str | None) -> None:
        if self._members.get(member.address) is not member:
            return
        member.state = _State.READY if why is None else _State.REFUSED
        _log.info("worker %s: %s", member.address, why or "ready")
        if why is not None:
            name = "" if member.name == member.address else f" ({member.name})"
            self._refused[member.address] = line = f"worker {member.address}{name}: {why}"
            if self._gathered:
                self._cluster.refused(line)

    def _gone(self, member: _Member, how: str) -> list[Heard[T, A]]:
        """It is not among us any more; should it answer again, it is checked as if it was new."""
        if self._members.pop(member.address, None) is None:
            return []
        _log.info("worker %s: %s", member.address, how)
        self._left = time.monotonic()
        self._homes = {home: address for home, address in self._homes.items() if address != member.address}
        heard: list[Heard[T, A]] = []
        for key, flight in list(self._flights.items()):
            if flight.member is member:
                del self._flights[key]
                with contextlib.suppress(Exception):
                    flight.future.cancel()
                heard += self._again(flight)
        return heard

    def _again(self, flight: _Flight[T]) -> list[Heard[T, A]]:
        """Each task of a lost batch is done once more, by itself: then it is known which one costs a worker."""
        if len(flight.tasks) == 1:
            ((number, task),) = flight.tasks.items()
            self._died[number] += 1
            if self._died[number] >= self._tries and flight.alone:
                return [Lost(task, LOST.format("twice" if self._tries == 2 else f"{self._tries} times"))]
        self._waiting.extendleft([one] for one in reversed(flight.tasks.items()))
        return []

    # ---------------------------------------------------------------------------------------- what is on its way

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        kept = set[str]()  # workers that are to have nothing, soon
        for batch in waiting:
            alone = len(batch) == 1 and self._died[batch[0][0]] > 0
            home = self._home_of(batch[0][1])
            if home is not None:
                self._send_home(batch, home, alone=alone)
                continue
            open_ = [member for member in self._members.values() if member.free > 0 and member.address not in kept]
            member = max(open_, key=lambda one: -one.flights if alone else one.free, default=None)
            if member is None or (alone and member.flights):
                self._waiting.append(batch)
                if member is not None:
                    kept.add(member.address)
                continue
            self._fly(batch, member, alone=alone)

    def _send_home(self, batch: _Batch[T], home: int, *, alone: bool) -> None:
        """It waits while its worker is busy, and while somebody may still come in place of one that is gone."""
        if home not in self._homes:
            ready = [member.address for member in self._members.values() if member.state == _State.READY]
            has = Counter(self._homes.values())
            address = min(ready, key=lambda one: has[one], default=None)
            if address is not None and (not has[address] or time.monotonic() - self._left > _RETURN):
                _log.info("worker %s: has %s", address, batch[0][1])
                self._homes[home] = address
        member = self._members.get(self._homes.get(home, ""))
        if member is None or member.flights:
            self._waiting.append(batch)
        else:
            self._fly(batch, member, alone=alone, at_home=True)

    def _fly(self, batch: _Batch[T], member: _Member, *, alone: bool, at_home: bool = False) -> None:
        _log.debug("worker %s does %d tasks from %s on", member.address, len(batch), batch[0][1])
        member.flights, member.alone = member.flights + 1, alone
        plain = [(number, self._codec.encode(task)) for number, task in batch]
        function = on_worker.play_at_once if at_home else on_worker.play_batch
        self._submit(member, dict(batch), function, plain, alone=alone, as_task=not at_home)

    def _submit(
        self,
        member: _Member,
        tasks: dict[int, T],
        function: Callable[..., Any],
        argument: object,
        *,
        alone: bool = False,
        as_task: bool = True,
    ) -> None:
        key, client = f"ringhil-{self._token}-{next(self._keys)}", self._cluster.client
        if as_task:
            future: Any = client.submit(
                function,
                self._token,
                argument,
                key=key,
                workers=[member.address],
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
        else:
            beside = _beside(client, member.address, function, self._token, argument)
            future = asyncio.run_coroutine_threadsafe(beside, client.loop.asyncio_loop)
            future.key = key
        self._flights[key] = _Flight(future, member, tasks, alone)
        future.add_done_callback(self._told.put)

    def _hear(self, future: Any) -> list[Heard[T, A]]:
        flight = self._flights.pop(future.key, None)
        if flight is None or self._members.get(flight.member.address) is not flight.member:
            return []  # taken back
        opening = flight.member.state == _State.OPENING
        try:
            found = future.result(timeout=_ANSWER)
        except Exception as error:  # whatever is there, it isn't a ringhil that plays
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"
            if opening and future.status == "error":
                self._opened(flight.member, f"no ringhil that can play: {why}")
                return []
            self._flights[future.key] = flight
            return self._gone(flight.member, why)
        if opening:
            self._opened(flight.member, found)
            return []
        answers = json.loads(found)
        if isinstance(answers, str):
            self._flights[future.key] = flight
            return self._gone(flight.member, answers)
        flight.member.flights -= 1
        flight.member.alone = False
        return self._answers(flight, answers)

    def _answers(self, flight: _Flight[T], found: list[list[Any]]) -> list[Heard[T, A]]:
        heard: list[Heard[T, A]] = []
        for number, answer, why in found:
            if number not in flight.tasks:
                continue
            task = flight.tasks.pop(number)
            if why is not None:
                heard.append(Lost(task, why))
                continue
            try:
                heard.append(Answered(task, self._codec.decode(answer)))
            except (ValueError, KeyError, TypeError) as error:
                reason = " ".join(str(error).split())
                heard.append(Lost(task, f"worker {flight.member.address} has sent what is no answer: {reason}"))
        return heard + self._again(flight)

    def _run(self, function: Callable[..., Any], member: _Member, *arguments: object) -> None:
        """At once, whatever the worker is doing; one that doesn't answer needs nothing more."""
        client = self._cluster.client
        with contextlib.suppress(Exception):
            client.sync(
                client._run,
                function,
                self._token,
                *arguments,
                workers=[member.address],
                on_error="ignore",
                callback_timeout=_ANSWER,
            )


async def _beside(client: Any, address: str, function: Callable[..., Any], *arguments: object) -> Any:
    """What a worker answers, when it isn't a task of Dask's."""
    return (await client._run(function, *arguments, workers=[address]))[address]


def _as_before(member: _Member) -> dict[str, Any]:
    return {"name": member.name, "nthreads": member.lanes, "last_seen": member.seen}


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Not even a second interrupt leaves anybody behind. Blocking signals isn't enough: other threads get them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
