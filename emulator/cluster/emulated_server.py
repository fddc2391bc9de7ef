"""One server of a cluster as RTL, firmware and CPU: its GPUs form a ring, tasks are contexts, meters count energy.

| of a cluster | in the emulation |
|---|---|
| idle GPUs of a server | those that its last report counts, without those that the scheduler has given away |
| a task | a context on each of its GPUs, with a launch for as long as the task is to last |
| a fraction of a GPU | a context with such a slice of a turn; its launch is cancelled when its time is over |
| a GPU that somebody has taken | a context with a launch for the whole run |
| low power, off | a GPU that rests and holds memory or none: the scheduler has a page of it while its server is awake |
| energy | a query to the scheduler's context of each GPU |
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from ringhil.emulator.cluster.cluster import RING, ClusterFault, ClusterServer, GpuCluster, TypePower
from ringhil.emulator.cluster.fleet import ELECTION, FleetError
from ringhil.emulator.engine.library import Library
from ringhil.emulator.host.contexts.command import Command, ContextRef, Reply
from ringhil.emulator.scenario import EventAction, GpuRef, LinkRef, Scenario, TimelineEvent
from ringhil.emulator.scenario.file.settings import GpuPower, Settings
from ringhil.emulator.scenario.file.topology import Card, Server
from ringhil.emulator.server.server import LiveServer
from ringhil.protocol.wire import CONTEXTS, AckStatus, Compute, GpuType, Query, ResultStatus

FEWEST_GPUS = 2  # of a ring
MOST_TYPES = len(GpuType)  # in one server, as a record has no more
_WHOLE_WEIGHT = 4  # quarters
_OWN = CONTEXTS - 1  # the scheduler's context on each GPU
_TAKEN = CONTEXTS - 2  # that of whoever has the GPU from the start to the end
MOST_TASKS = _TAKEN - 1  # of one GPU
_KEY = 0x5C4ED  # of all of these
_TURN = 1.0  # seconds that all tasks of a GPU have in a round, if they fill it
_SHORTEST_SLICE = 16  # cycles
_LONGEST_LAUNCH = 0xFFFFFFFF  # cycles; no run is so long
_PATIENT = 8  # times that an answer is waited for


@dataclass(frozen=True)
class Clock:
    """`rate`: cycles of all servers in a second; `census`: cycles from one count to the next; `watt`: units of energy
    that one takes in a cycle."""

    rate: int
    census: int
    watt: float

    def cycle(self, at: float) -> int:
        """Of a moment in seconds."""
        return round(at * self.rate)

    @property
    def unit(self) -> float:
        """Joules of a unit that meters count."""
        return 1 / (self.rate * self.watt)


@dataclass(slots=True)
class _Job:
    gpus: tuple[int, ...]
    ends: int
    contexts: dict[int, int] = field(default_factory=dict)  # by GPU, those that are there
    had: int = 0  # cycles of its GPUs
    failed: int = 0  # the cycle


def ignored(answer: Reply) -> None:
    """Whatever it says."""


class EmulatedServer:
    """Powered up at cycle 0 and counted once. Raises FleetError where it can't be."""

    def __init__(self, number: int, cluster: GpuCluster, clock: Clock, library: Library, seed: int) -> None:
        assert cluster.until is not None
        server = cluster.servers[number]
        self._clock, self._name = clock, server.name
        self._live = LiveServer(scenario_of(number, cluster, clock, seed), library)
        self._card = self._live.cpu.cards[0]
        self._driver = self._live.cpu.driver
        self.settled = self._live.cpu.config.patience  # cycles in which what is asked is answered
        self._jobs = dict[int, _Job]()
        self._over, self._lost = dict[int, int](), dict[int, _Job]()
        self._free = {gpu: set(range(1, _TAKEN)) for gpu in range(len(server.types))}
        self._asked = 0
        self._asleep, self._down = True, False
        self._known = set[int]()
        self._meters = dict[int, int]()
        self._unread = set[int]()  # GPUs whose meters were asked and haven't answered yet
        self._live.start()
        self._outages = [each for each in cluster.faults if each.server == number and each.whole]
        for outage in self._outages:
            self._live.kernel.early(clock.cycle(outage.at), self._cpu_stops)
        self._live.run_to(self.settled)
        self.count()
        for gpu in self._known & server.busy:
            self._ask(gpu, _TAKEN, Compute.CREATE, ignored)
            self._ask(gpu, _TAKEN, Compute.LAUNCH, ignored, amount=clock.cycle(cluster.until), counts=False)

    @property
    def counted(self) -> tuple[int, ...]:
        """GPUs that the last report counts; none while the whole server is out of order."""
        return () if self._down else self._card.members

    def run_to(self, cycle: int, due: int) -> None:
        """Play to there, and on until jobs that were to be over by cycle `due` are, or have had time enough."""
        self._live.run_to(cycle)
        for patience in range(_PATIENT):
            late = [job for job, each in self._jobs.items() if each.ends <= due]
            if not self._asked and not late:
                return
            if patience == 1:
                for job in late:
                    self._look_after(job)
            cycle += self.settled
            self._live.run_to(cycle)

    def ended(self) -> dict[int, int]:
        """Jobs that have come to their end, told once, with the cycles that they had of their GPUs, together."""
        ended, self._over = self._over, {}
        return ended

    def lost(self, cycle: int) -> list[int]:
        """Jobs that have failed, told once: when a GPU of theirs isn't counted, when all are counted anew, or when they
        should be over. Where no GPU has reported for longer than an election takes, all have failed."""
        counted = {*self.counted}
        silent = self._live.kernel.now - self._card.reported_at >= (ELECTION - 1) * self._clock.census
        for job in [job for job, each in self._jobs.items() if each.gpus] if silent and not counted else []:
            self._fail(job)
        told = [job for job, each in self._lost.items() if self._is_known(each, counted, cycle)]
        for job in told:
            del self._lost[job]
        return told

    def _is_known(self, lost: _Job, counted: set[int], cycle: int) -> bool:
        if not counted or not counted.issuperset(lost.gpus):
            return True
        if lost.gpus:
            return lost.ends <= cycle or self._card.reported_at > lost.failed
        return lost.ends <= cycle and not self._out_of_order

    def begin(self, job: int, gpus: tuple[int, ...], share: int, whole: int, ends: int) -> None:
        """Make its contexts, and launch them as soon as they are there; `share` of `whole` parts of each GPU."""
        self._jobs[job] = begun = _Job(gpus, ends)
        turn = max(_SHORTEST_SLICE, round(_TURN * self._clock.rate * share / whole)) // 4 * 4
        for gpu in gpus:
            if not self._free[gpu]:
                problem = f"{self._name}: more than {MOST_TASKS} tasks on GPU {RING}.{gpu}"
                raise FleetError(f"{problem}; allowed are as many as it has contexts, or the table fleet")
            context = min(self._free[gpu])
            self._free[gpu].remove(context)
            begun.contexts[gpu] = context
        for gpu, context in begun.contexts.items():
            self._ask(gpu, context, Compute.CREATE, partial(self._launch, job, gpu), slice=turn)
        if share < whole:
            self._live.kernel.at(ends, partial(self._cancel, job))
        if not gpus:  # all that it has is processors, of which the scheduler keeps the books
            self._live.kernel.at(ends, partial(self._finish, job))
            if self._out_of_order:
                self._fail(job)

    def stop(self, job: int) -> None:
        """It is given up, also where nobody has been told yet that it has failed."""
        self._fail(job)
        self._lost.pop(job, None)

    def sleep(self, asleep: bool) -> None:
        """Let go of the page that keeps each GPU from going off, or take it."""
        self._asleep = asleep
        for gpu in self.counted:
            self._ask(gpu, _OWN, Compute.FREE if asleep else Compute.ALLOCATE, ignored, amount=1)

    def count(self) -> None:
        """Look who is there: GPUs that are there again get a context of the scheduler's once more."""
        counted = {*self.counted}
        for gpu in sorted(counted - self._known):
            self._manage(gpu)
        self._known = counted
        self._unread &= counted

    def _cpu_stops(self) -> None:
        """The whole server is out of order, and what only its processors did is lost."""
        for job in [job for job, each in self._jobs.items() if not each.gpus]:
            self._fail(job)

    @property
    def _out_of_order(self) -> bool:
        now = self._live.kernel.now / self._clock.rate
        return any(outage.at <= now < outage.ends for outage in self._outages)

    def go_down(self, down: bool) -> None:
        """The whole server, with its CPU, is out of order, and all that it did is lost; or it is well again."""
        self._down = down
        for job in [*self._jobs] if down else []:
            self._fail(job)

    def read_meters(self, cycle: int) -> None:
        """Of those that are counted, played to `cycle` and on until they have answered."""
        cycle = max(cycle, self._live.kernel.now)
        asked = {*self.counted} - self._unread  # who hasn't answered before isn't waited for again
        for gpu in sorted(asked):
            self._ask_meter(gpu)
        for _ in range(_PATIENT):
            if not asked & self._unread:
                return
            cycle += self.settled
            self._live.run_to(cycle)

    @property
    def energy(self) -> int:
        """Units that its meters had counted when they were read last."""
        return sum(self._meters.values())

    @property
    def unread(self) -> int:
        """GPUs whose meters couldn't be asked when they were to be read last, or didn't answer."""
        return len(self._free) - len({*self.counted} - self._unread)

    def close(self) -> None:
        """Free its models."""
        self._live.close()

    def _manage(self, gpu: int) -> None:
        self._ask(gpu, _OWN, Compute.CREATE, ignored, amount=1)
        if not self._asleep:
            self._ask(gpu, _OWN, Compute.ALLOCATE, ignored, amount=1)

    def _ask_meter(self, gpu: int) -> None:
        self._unread.add(gpu)
        self._ask(gpu, _OWN, Compute.QUERY, partial(self._metered, gpu), amount=Query.ENERGY.code, counts=False)

    def _metered(self, gpu: int, answer: Reply) -> None:
        self._unread.discard(gpu)
        if answer.done:
            self._meters[gpu] = answer.digest
        elif answer.status is AckStatus.NO_CONTEXT:  # it was gone for so short a time that no census has seen it
            self._manage(gpu)
            self._ask_meter(gpu)

    def _launch(self, job: int, gpu: int, answer: Reply) -> None:
        begun = self._jobs.get(job)
        if begun is None:
            return
        if not answer.done:
            self._fail(job)
            return
        lasts = min(max(1, begun.ends - self._live.kernel.now), _LONGEST_LAUNCH)
        over = partial(self._launched, job, gpu)
        self._ask(gpu, begun.contexts[gpu], Compute.LAUNCH, over, amount=lasts, counts=False)

    def _launched(self, job: int, gpu: int, answer: Reply) -> None:
        begun = self._jobs.get(job)
        if begun is None:
            return
        if answer.status not in (ResultStatus.DONE, ResultStatus.CANCELLED):
            self._fail(job)
            return
        begun.had += answer.cycles
        self._ask(gpu, begun.contexts[gpu], Compute.DESTROY, partial(self._gone, job, gpu))

    def _cancel(self, job: int) -> None:
        """Its time is over, though others may have kept it from having all that it has launched."""
        begun = self._jobs.get(job)
        for gpu, context in [] if begun is None else begun.contexts.items():
            self._ask(gpu, context, Compute.CANCEL, ignored)

    def _gone(self, job: int, gpu: int, answer: Reply) -> None:
        begun = self._jobs.get(job)
        if begun is None:
            return
        self._free[gpu].add(begun.contexts.pop(gpu))
        if not begun.contexts:
            self._finish(job)

    def _finish(self, job: int) -> None:
        begun = self._jobs.pop(job, None)
        if begun is not None:
            self._over[job] = begun.had

    def _look_after(self, job: int) -> None:
        """Its time has come, and nothing is heard: are its contexts still there?"""

        def looked(answer: Reply) -> None:
            if not answer.done:
                self._fail(job)

        for gpu, context in self._jobs[job].contexts.items():
            self._ask(gpu, context, Compute.QUERY, looked, amount=Query.LAUNCH.code)

    def _fail(self, job: int) -> None:
        """It has lost a GPU: what it has on others goes, too."""
        begun = self._jobs.pop(job, None)
        if begun is None:
            return
        begun.failed = self._live.kernel.now
        self._lost[job] = begun
        for gpu, context in begun.contexts.items():
            self._driver.give_up(ContextRef(0, gpu, context))
            self._free[gpu].add(context)

    def _ask(
        self,
        gpu: int,
        context: int,
        compute: Compute,
        then: Callable[[Reply], None],
        *,
        amount: int = 0,
        slice: int = 0,
        counts: bool = True,
    ) -> None:
        """`counts`: it is answered soon."""
        self._asked += counts

        def answered(answer: Reply) -> None:
            self._asked -= counts
            then(answer)

        command = Command(compute, _KEY, amount=amount, slice=slice)
        self._driver.ask(ContextRef(0, gpu, context), command, answered)


def scenario_of(number: int, cluster: GpuCluster, clock: Clock, seed: int) -> Scenario:
    """A server as a server file would have it. Raises FleetError where no ring can be like that."""
    server = cluster.servers[number]
    gpus = len(server.types)
    if gpus < FEWEST_GPUS:
        problem = f"{server.name}: a ring of {gpus} GPU"
        raise FleetError(f"{problem}; allowed are {FEWEST_GPUS} or more, or the table fleet")
    known = _wire_types(server)
    card = Card(RING, gpus, (0, 1), tuple(known[kind] for kind in server.types), (_WHOLE_WEIGHT,) * gpus)
    # What only repeats is as rare as a count, so that time goes by without work for the emulation.
    settings = Settings(
        census_period=clock.census,
        keepalive_interval=max(1, clock.census // 2),
        heartbeat=max(Settings.heartbeat, clock.census // 4),
    )
    powers = tuple((known[kind], _power(cluster.power[kind], clock, cluster.sleeps)) for kind in known)
    timeline = sorted(_timeline(number, gpus, cluster, clock), key=lambda event: event.at)
    return Scenario(server.name, seed + number, Server((card,), (), settings, powers), None, tuple(timeline), None, ())


def _timeline(number: int, size: int, cluster: GpuCluster, clock: Clock) -> Iterator[TimelineEvent]:
    """Faults of a server; those of one GPU or link that overlap are one."""
    faults = [fault for fault in cluster.faults if fault.server == number]
    struck: dict[tuple[str, GpuRef | LinkRef], list[ClusterFault]] = {}
    for fault in faults:
        if fault.link is not None:
            struck.setdefault(("link_cut", LinkRef(RING, fault.link, size)), []).append(fault)
        for gpu in range(size):
            if fault.strikes(number, gpu):
                struck.setdefault(("dead", GpuRef(RING, gpu)), []).append(fault)
    for (kind, target), these in struck.items():
        ends = -math.inf
        for fault in sorted(these, key=lambda fault: fault.at):
            if fault.at > ends:
                if ends > 0:
                    yield TimelineEvent(clock.cycle(ends), EventAction.CLEAR, kind, target, None, 0)
                yield TimelineEvent(clock.cycle(fault.at), EventAction.FAULT, kind, target, None, 0)
            ends = max(ends, fault.ends)
        if ends != math.inf:
            yield TimelineEvent(clock.cycle(ends), EventAction.CLEAR, kind, target, None, 0)


def _wire_types(server: ClusterServer) -> dict[str, str]:
    """A type that a GPU's record may have, by the cluster's name of it: its own, or one that nobody has there."""
    kinds = sorted({*server.types})
    if len(kinds) > MOST_TYPES:
        problem = f"{server.name}: {len(kinds)} types of GPU"
        raise FleetError(f"{problem}; allowed are {MOST_TYPES} in one server, or the table fleet")
    spare = [each for each in map(str, GpuType) if each not in kinds]
    return {kind: kind if kind in [*map(str, GpuType)] else spare.pop(0) for kind in kinds}


def _power(watts: TypePower, clock: Clock, sleeps: bool) -> GpuPower:
    run, idle, low, off = (round(each * clock.watt) for each in (watts.task, watts.idle, watts.low, watts.off))
    return GpuPower(run, idle, low, off, low_after=int(sleeps), off_after=int(sleeps))
