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

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from ringhil.emulator.cluster.cluster import ClusterServer, GpuCluster, TypePower
from ringhil.emulator.engine.library import Library
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.host.contexts.command import Command, ContextRef, Reply
from ringhil.emulator.scenario import Scenario
from ringhil.emulator.scenario.file.settings import GpuPower, Settings
from ringhil.emulator.scenario.file.topology import Card, Server
from ringhil.emulator.server.server import LiveServer
from ringhil.protocol.wire import CONTEXTS, Compute, GpuType, Query

CARD = "a"
FEWEST_GPUS = 2  # of a ring
MOST_TYPES = len(GpuType)  # in one server, as a record has no more
_WHOLE_WEIGHT = 4  # quarters
_OWN = CONTEXTS - 1  # the scheduler's context on each GPU
_TAKEN = CONTEXTS - 2  # that of whoever has the GPU from the start to the end
MOST_TASKS = _TAKEN - 1  # of one GPU
_KEY = 0x5C4ED  # of all of these
_TURN = 1.0  # seconds that all tasks of a GPU have in a round, if they fill it
_SHORTEST_SLICE = 16  # cycles
_PATIENT = 64  # times that an answer is waited for


class EmulationError(RinghilError, ValueError):
    """A cluster that can't be emulated, or a server that doesn't answer."""


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
    shares: bool
    ends: int
    contexts: dict[int, int] = field(default_factory=dict)  # by GPU, those that are there


class EmulatedServer:
    """Powered up at cycle 0 and counted once. Raises EmulationError where it can't be."""

    def __init__(self, server: ClusterServer, cluster: GpuCluster, clock: Clock, library: Library, seed: int) -> None:
        assert cluster.until is not None
        self._clock, self._name = clock, server.name
        self._live = LiveServer(scenario_of(server, cluster, clock, seed), library)
        self._card = self._live.cpu.cards[0]
        self._driver = self._live.cpu.driver
        self.settled = self._live.cpu.config.patience  # cycles in which what is asked is answered
        self._jobs = dict[int, _Job]()
        self._had = dict[int, int]()
        self._free = {gpu: set(range(1, _TAKEN)) for gpu in range(len(server.types))}
        self._asked = 0
        self._meters = dict[int, int]()
        self._live.start()
        self._live.run_to(self.settled)
        for gpu in self.counted:
            self._ask(gpu, _OWN, Compute.CREATE, lambda _: None, amount=1)
            if gpu in server.busy:
                self._ask(gpu, _TAKEN, Compute.CREATE, lambda _: None)
                self._ask(gpu, _TAKEN, Compute.LAUNCH, lambda _: None, amount=clock.cycle(cluster.until), counts=False)

    @property
    def counted(self) -> tuple[int, ...]:
        """GPUs that the last report counts."""
        return self._card.members

    def run_to(self, cycle: int, due: Iterable[int] = ()) -> None:
        """Play to there, and on until these jobs are over or have had time enough to be."""
        self._live.run_to(cycle)
        for _ in range(_PATIENT):
            if not self._asked and all(job not in self._jobs for job in due):
                return
            cycle += self.settled
            self._live.run_to(cycle)

    def over(self, job: int) -> bool:
        """All its contexts are gone."""
        return job not in self._jobs

    def had(self, job: int) -> int:
        """Cycles that it has had of its GPUs, together."""
        return self._had.get(job, 0)

    def begin(self, job: int, gpus: tuple[int, ...], share: int, whole: int, ends: int) -> None:
        """Make its contexts, and launch them as soon as they are there; `share` of `whole` parts of each GPU."""
        shares = share < whole
        self._jobs[job] = begun = _Job(gpus, shares, ends)
        turn = max(_SHORTEST_SLICE, round(_TURN * self._clock.rate * share / whole)) // 4 * 4
        for gpu in gpus:
            if not self._free[gpu]:
                problem = f"{self._name}: more than {MOST_TASKS} tasks on GPU {CARD}.{gpu}"
                raise EmulationError(f"{problem}; allowed are as many as it has contexts, or --fleet table")
            context = min(self._free[gpu])
            self._free[gpu].remove(context)
            begun.contexts[gpu] = context
            self._ask(gpu, context, Compute.CREATE, partial(self._launch, job, gpu), slice=turn)
        if shares:
            self._live.kernel.at(ends, partial(self._cancel, job))

    def sleep(self, asleep: bool) -> None:
        """Let go of the page that keeps each GPU from going off, or take it."""
        for gpu in self.counted:
            self._ask(gpu, _OWN, Compute.FREE if asleep else Compute.ALLOCATE, lambda _: None, amount=1)

    def meter(self, cycle: int) -> dict[int, int]:
        """Units of energy by GPU, of those that are counted."""
        for gpu in self.counted:
            self._ask(gpu, _OWN, Compute.QUERY, partial(self._metered, gpu), amount=Query.ENERGY.code)
        self.run_to(cycle)
        return dict(self._meters)

    def close(self) -> None:
        """Free its models."""
        self._live.close()

    def _metered(self, gpu: int, answer: Reply) -> None:
        if answer.done:
            self._meters[gpu] = answer.digest

    def _launch(self, job: int, gpu: int, answer: Reply) -> None:
        begun = self._jobs[job]
        if not answer.done:
            self._gone(job, gpu, answer)
            return
        lasts = max(1, begun.ends - self._live.kernel.now)
        over = partial(self._launched, job, gpu)
        self._ask(gpu, begun.contexts[gpu], Compute.LAUNCH, over, amount=lasts, counts=False)

    def _launched(self, job: int, gpu: int, answer: Reply) -> None:
        begun = self._jobs[job]
        self._had[job] = self._had.get(job, 0) + answer.cycles
        self._ask(gpu, begun.contexts[gpu], Compute.DESTROY, partial(self._gone, job, gpu))

    def _cancel(self, job: int) -> None:
        """Its time is over, though others may have kept it from having all that it has launched."""
        begun = self._jobs.get(job)
        for gpu, context in [] if begun is None else begun.contexts.items():
            self._ask(gpu, context, Compute.CANCEL, lambda _: None)

    def _gone(self, job: int, gpu: int, answer: Reply) -> None:
        begun = self._jobs[job]
        self._free[gpu].add(begun.contexts.pop(gpu))
        if not begun.contexts:
            del self._jobs[job]

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


def scenario_of(server: ClusterServer, cluster: GpuCluster, clock: Clock, seed: int) -> Scenario:
    """The server as a server file would have it. Raises EmulationError where no ring can be like that."""
    gpus = len(server.types)
    if gpus < FEWEST_GPUS:
        raise EmulationError(
            f"{server.name}: a ring of {gpus} GPU; allowed are {FEWEST_GPUS} or more, or --fleet table"
        )
    known = _wire_types(server)
    card = Card(CARD, gpus, (0, 1), tuple(known[kind] for kind in server.types), (_WHOLE_WEIGHT,) * gpus)
    # What only repeats is as rare as a count, so that time goes by without work for the emulation.
    settings = Settings(
        census_period=clock.census,
        keepalive_interval=max(1, clock.census // 2),
        heartbeat=max(Settings.heartbeat, clock.census // 4),
    )
    powers = tuple((known[kind], _power(cluster.power[kind], clock, cluster.sleeps)) for kind in known)
    return Scenario(server.name, seed, Server((card,), (), settings, powers), None, (), None, ())


def _wire_types(server: ClusterServer) -> dict[str, str]:
    """A type that a GPU's record may have, by the cluster's name of it: its own, or one that nobody has there."""
    kinds = sorted({*server.types})
    if len(kinds) > MOST_TYPES:
        problem = f"{server.name}: {len(kinds)} types of GPU"
        raise EmulationError(f"{problem}; allowed are {MOST_TYPES} in one server, or --fleet table")
    spare = [each for each in map(str, GpuType) if each not in kinds]
    return {kind: kind if kind in [*map(str, GpuType)] else spare.pop(0) for kind in kinds}


def _power(watts: TypePower, clock: Clock, sleeps: bool) -> GpuPower:
    run, idle, low, off = (round(each * clock.watt) for each in (watts.task, watts.idle, watts.low, watts.off))
    return GpuPower(run, idle, low, off, low_after=int(sleeps), off_after=int(sleeps))
