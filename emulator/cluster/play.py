"""A run over time: tasks come, wait, run and go; what is idle sleeps (P7); energy is counted by the table of watts.

At one moment, tasks that are over go first, then all that have come are placed, in the order in which they came; who
doesn't fit waits and keeps no other waiting.
"""

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ringhil.emulator.cluster.cluster import WHOLE, ClusterTask, GpuCluster, TaskNeeds
from ringhil.emulator.cluster.fleet import ELECTION, Fleet, TableFleet
from ringhil.emulator.cluster.policies import third_power
from ringhil.emulator.cluster.policy import PlacementPolicy
from ringhil.emulator.cluster.scheduler import PlacedOn, Scheduler
from ringhil.emulator.cluster.servers import Figures, Flags, Rows, Servers
from ringhil.emulator.cluster.workload import TargetWorkload


@dataclass(frozen=True)
class ServerThen:
    """A server at the moment of a decision: how many idle GPUs the task could use, the first power value of each, their
    sum, and that with the CPU's standby power, None: not all of its GPUs are idle."""

    idle: int
    first: tuple[float, ...]
    second: float
    third: float | None


@dataclass(frozen=True)
class Decision:
    """Why a task went where: the servers that fit, first to last, in groups of equally many idle GPUs; those that were
    dropped (P1); and what each was like, by name."""

    order: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    dropped: tuple[str, ...]
    servers: dict[str, ServerThen]


@dataclass(frozen=True)
class LostTry:
    """Of a task, up to the moment when it was lost with what it ran on: `everywhere`."""

    everywhere: tuple[PlacedOn, ...]
    began: float
    ended: float


@dataclass
class PlacedTask:
    """What became of a task; None: it never came to that. Times in seconds: `began` and `ended` of the last of `tries`;
    `lost`: those before; `had`: GPU seconds that it had of its GPUs, where somebody counts them. `placed`: of a gang
    the first member, `others`: the rest of them."""

    task: ClusterTask
    placed: PlacedOn | None = None
    others: tuple[PlacedOn, ...] = ()
    began: float | None = None
    ended: float | None = None
    lost: list[LostTry] = field(default_factory=list)
    had: float | None = field(default=None, compare=False)

    @property
    def everywhere(self) -> tuple[PlacedOn, ...]:
        """All its members; none where it isn't placed."""
        return () if self.placed is None else (self.placed, *self.others)

    @property
    def tries(self) -> int:
        """How often it began."""
        return len(self.lost) + (self.began is not None)

    @property
    def wasted(self) -> float:
        """GPU seconds of what was lost."""
        return sum((each.ended - each.began) * self.task.asked / WHOLE for each in self.lost)


@dataclass(frozen=True)
class CurveMoment:
    """From `at` on: percent of all GPUs that are used, percent of what is free that the expected next task can't use,
    watts, tasks that wait, servers that are awake."""

    at: float
    allocated: float
    fragmentation: float
    watts: float
    waiting: int
    awake: int


@dataclass
class PlacementRun:
    """A run by one policy. Energy in joules, up to `until`: `predicted_j` by the table of watts, `awake_j` the same
    with nothing ever asleep, `metered_j` by the GPUs' meters and for CPUs by the table, None: there are no meters.
    `unread`: GPUs whose meters couldn't be read in the end, by server."""

    fleet: str
    tasks: dict[str, PlacedTask] = field(default_factory=dict)
    curve: list[CurveMoment] = field(default_factory=list)
    decision: Decision | None = None
    wake_ups: int = 0
    until: float = 0.0
    predicted_j: float = 0.0
    cpu_j: float = 0.0
    metered_j: float | None = None
    unread: dict[int, int] = field(default_factory=dict)
    awake_j: float = 0.0

    @property
    def energy_j(self) -> float:
        """Metered, where there are meters."""
        return self.predicted_j if self.metered_j is None else self.metered_j

    @property
    def unplaced(self) -> int:
        """Tasks that never began."""
        return sum(each.began is None for each in self.tasks.values())

    @property
    def lost(self) -> int:
        """Tries that were lost with what they ran on."""
        return sum(len(each.lost) for each in self.tasks.values())

    @property
    def wasted(self) -> float:
        """GPU seconds of those."""
        return sum(each.wasted for each in self.tasks.values())

    @property
    def waited(self) -> list[float]:
        """Seconds from its arrival to the beginning of its last try, of each task that began."""
        return [each.began - each.task.at for each in self.tasks.values() if each.began is not None]


def play(
    cluster: GpuCluster,
    policy: type[PlacementPolicy],
    seed: int,
    explain: str | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    fleet: Fleet | None = None,
) -> PlacementRun:
    """The same for the same seed. `explain`: a task whose decision is kept. `on_progress`: tasks that came, of all.
    `fleet`: at second 0; a table unless given. Raises FleetError."""
    cluster = cluster.with_failures(seed)
    return _Run(cluster, policy, seed, explain, TableFleet(cluster) if fleet is None else fleet).played(on_progress)


@dataclass(frozen=True)
class _Try:
    """A task that runs: a job of the fleet for each member."""

    task: PlacedTask
    jobs: range


def _alone(each: PlacedTask, needs: TaskNeeds) -> bool:
    return each.task.members == 1 and each.task.needs == needs


class _Run:
    def __init__(
        self, cluster: GpuCluster, policy: type[PlacementPolicy], seed: int, explain: str | None, fleet: Fleet
    ) -> None:
        self._cluster, self._explain, self._fleet = cluster, explain, fleet
        self._workload = TargetWorkload(cluster.tasks, tuple(cluster.power))
        self._servers = Servers.of(cluster)
        made = policy(self._workload, np.random.default_rng(seed))
        self._one_each = made.one_each
        self._scheduler = Scheduler(self._servers, made)
        power = list(cluster.power.values())
        self._low, self._off = (
            np.array(watts)[self._servers.type_of] * self._servers.there
            for watts in ([each.low for each in power], [each.off for each in power])
        )
        self._played = PlacementRun(
            fleet.name, {task.name: PlacedTask(task) for task in cluster.tasks if task.lasts is not None}
        )
        self._waiting = list[PlacedTask]()
        self._ends = list[tuple[float, int]]()
        self._running = dict[int, _Try]()  # by the jobs of all its members
        self._started = 0
        self._as_built = self._servers.at(np.arange(len(self._servers)))
        self._looks = _looks(cluster)
        everyone = np.arange(len(self._servers))
        self._awake = ~self._asleep(self._servers)
        for row in np.flatnonzero(self._awake):
            fleet.sleep(int(row), False)
        self._sleeping_watts = self._watts(everyone)
        self._awake_watts = self._servers.watts()
        self._cpu_watts = self._processors(everyone)
        self._fragments = self._workload.fragmentation(self._servers)
        self._free = int(self._servers.free.sum())
        self._taken = self._cluster.gpus * WHOLE - self._free  # by tasks, and before the run

    def played(self, on_progress: Callable[[int, int], None]) -> PlacementRun:
        played, until = self._played, self._cluster.until
        coming = sorted(played.tasks.values(), key=lambda each: each.task.at)
        self._order = {each.task.name: place for place, each in enumerate(coming)}
        came = 0
        self._note(0.0)
        while came < len(coming) or self._ends or (self._waiting and self._looks):
            arrival = coming[came].task.at if came < len(coming) else math.inf
            look = self._looks[0] if self._looks else math.inf
            now = min(arrival, look, self._ends[0][0] if self._ends else math.inf)
            if until is not None and now > until:
                break
            self._pass(now)
            if now == look:
                self._looks.popleft()
            self._lose(now)
            while self._ends and self._ends[0][0] <= now:
                _, job = heapq.heappop(self._ends)
                if job not in self._running:
                    continue  # it was lost
                tried = self._running[job]
                if all(self._fleet.over(each) for each in tried.jobs):
                    self._end(tried, now)
                else:  # who should tell is silent: ask again
                    heapq.heappush(self._ends, (now + self._cluster.census, job))
            while came < len(coming) and coming[came].task.at <= now:
                self._waiting.append(coming[came])
                came += 1
            if until is None or now < until:
                self._place(now)
            self._note(now)
            on_progress(came, len(coming))
        if until is not None:
            self._pass(until)
        metered = self._fleet.metered_j()
        played.metered_j = None if metered is None else metered + played.cpu_j
        played.unread = self._fleet.unread()
        return played

    def _pass(self, now: float) -> None:
        """Time goes by, with everything as it is."""
        played = self._played
        played.predicted_j += (now - played.until) * float(self._sleeping_watts.sum())
        played.cpu_j += (now - played.until) * float(self._cpu_watts.sum())
        played.awake_j += (now - played.until) * float(self._awake_watts.sum())
        played.until = now
        self._fleet.pass_to(now)

    def _place(self, now: float) -> None:
        """Whoever waits and fits, in the order in which they came. One after the other; but neighbours of equal needs
        take the first servers of one order, one each, where the policy wants it so (P6)."""
        left, full, full_gangs = list[PlacedTask](), set[TaskNeeds](), set[tuple[TaskNeeds, int, bool]]()
        waiting = deque(self._waiting)
        while waiting:
            needs = waiting[0].task.needs
            group = [waiting.popleft()]
            if group[0].task.members > 1:
                kind = (needs, group[0].task.members, group[0].task.spread)
                if needs in full or kind in full_gangs or not self._begin_gang(group[0], now):
                    full_gangs.add(kind)
                    left += group
                continue
            while waiting and _alone(waiting[0], needs) and (self._one_each or needs in full):
                group.append(waiting.popleft())
            while group and needs not in full:
                if self._one_each or any(each.task.name == self._explain for each in group):
                    order = self._scheduler.order(needs)
                    self._keep_decision(group, order)
                    chosen = [self._scheduler.on(server, needs) for server in order[: len(group)]]
                else:
                    found = self._scheduler.choose(needs)
                    chosen = [] if found is None else [found]
                for each, placed in zip(group, chosen, strict=False):
                    self._scheduler.take(placed, needs)
                    self._begin(each, [placed], now)
                group = group[len(chosen) :]
                if not chosen:
                    full.add(needs)
            for each in group:
                if each.task.name == self._explain and self._played.decision is None:
                    self._keep_decision([each], self._scheduler.order(needs))
            left += group
        self._waiting = left

    def _begin_gang(self, each: PlacedTask, now: float) -> bool:
        """Where there is room for all its members now."""
        if each.task.name == self._explain and self._played.decision is None:
            self._keep_decision([each], self._scheduler.order(each.task.needs))
        placed = self._scheduler.choose_all(each.task, one_each=self._one_each)
        if placed:
            self._begin(each, placed, now)
        return bool(placed)

    def _begin(self, each: PlacedTask, placed: list[PlacedOn], now: float) -> None:
        """On places that are taken for it."""
        assert each.task.lasts is not None
        each.placed, *others = placed
        each.others, each.began = tuple(others), now
        self._free -= each.task.asked
        self._taken += each.task.asked
        ends = now + each.task.lasts
        tried = _Try(each, range(self._started + 1, self._started + 1 + len(placed)))
        self._started += len(placed)
        heapq.heappush(self._ends, (ends, tried.jobs[0]))
        for job, where in zip(tried.jobs, placed, strict=True):
            self._running[job] = tried
            self._fleet.begin(job, where, each.task.needs.share, ends)
            self._changed(where.server)

    def _end(self, tried: "_Try", now: float) -> None:
        each = tried.task
        had = [self._fleet.had(job) for job in tried.jobs]
        each.had = None if None in had else sum(seconds for seconds in had if seconds is not None)
        each.ended = now
        self._free += each.task.asked
        self._leave(tried)

    def _leave(self, tried: "_Try") -> None:
        """Nothing of it runs any more."""
        self._taken -= tried.task.task.asked
        for job, placed in zip(tried.jobs, tried.task.everywhere, strict=True):
            del self._running[job]
            self._scheduler.give_back(placed, tried.task.task.needs)
            self._changed(placed.server)

    def _lose(self, now: float) -> None:
        """What has failed is counted no more; tasks that ran on it wait again, in their old place."""
        jobs, lost = self._fleet.lost(), list[PlacedTask]()
        for job in jobs:
            tried = self._running.get(job)
            if tried is None:
                continue  # with another member of its gang
            each = tried.task
            assert each.began is not None
            for other, placed in zip(tried.jobs, each.everywhere, strict=True):
                if other not in jobs:
                    self._fleet.stop(other, placed.server)
            self._leave(tried)
            each.lost.append(LostTry(each.everywhere, each.began, now))
            each.placed, each.others, each.began = None, (), None
            lost.append(each)
        self._waiting = sorted([*self._waiting, *lost], key=lambda each: self._order[each.task.name])
        counted = self._fleet.counted()
        changed = np.flatnonzero((counted != self._servers.there).any(axis=1))
        for row in changed:
            self._scheduler.count(int(row), counted[row], self._as_built)
            self._changed(int(row))
        if lost or len(changed):
            self._free = int(self._servers.free.sum())

    def _changed(self, server: int) -> None:
        row = np.array([server])
        self._sleeping_watts[row] = self._watts(row)
        changed = self._servers.at(row)
        self._awake_watts[row], self._fragments[row] = changed.watts(), self._workload.fragmentation(changed)
        self._cpu_watts[row] = self._processors(row)

    def _watts(self, rows: Rows) -> Figures:
        """With everything asleep that can be (P7): idle GPUs, and whole servers."""
        servers = self._servers.at(rows)
        idle = servers.there & (servers.free == WHOLE) & self._cluster.sleeps
        working = servers.watts() + np.where(idle, self._low[rows] - servers.idle_watts, 0.0).sum(axis=1)
        return np.asarray(
            np.where(self._asleep(servers), servers.standby + (self._off[rows] * servers.there).sum(axis=1), working)
        )

    def _asleep(self, servers: Servers) -> Flags:
        """Those that have no task and no GPU taken."""
        idle = servers.unused & (servers.cpus_free == servers.cpus) & (servers.held.sum(axis=1) == 0)
        return np.asarray(idle & self._cluster.sleeps)

    def _processors(self, rows: Rows) -> Figures:
        """What the CPUs draw, of servers that sleep as well."""
        servers = self._servers.at(rows)
        return np.asarray(np.where(self._asleep(servers), servers.standby, servers.cpu_watts()))

    def _note(self, now: float) -> None:
        """A point of the curve; of several at one moment the last."""
        everything = self._cluster.gpus * WHOLE
        awake = ~self._asleep(self._servers)
        self._played.wake_ups += int((awake & ~self._awake).sum())
        for row in np.flatnonzero(awake != self._awake):
            self._fleet.sleep(int(row), not awake[row])
        self._awake = awake
        moment = CurveMoment(
            now,
            100 * self._taken / everything if everything else 0.0,
            100 * float(self._fragments.sum()) / self._free if self._free else 0.0,
            float(self._sleeping_watts.sum()),
            len(self._waiting),
            int(awake.sum()),
        )
        if self._played.curve and self._played.curve[-1].at == now:
            self._played.curve.pop()
        self._played.curve.append(moment)

    def _keep_decision(self, group: list[PlacedTask], order: list[int]) -> None:
        if self._explain is None or self._played.decision is not None:
            return
        for each in group:
            if each.task.name == self._explain:
                self._played.decision = self._decision(each.task, order)

    def _decision(self, task: ClusterTask, order: list[int]) -> Decision:
        servers, needs = self._servers, task.needs
        usable, third = servers.usable(needs), third_power(servers, needs)
        first, unused = servers.task_watts, servers.unused
        idle = usable.sum(axis=1)
        names = [server.name for server in self._cluster.servers]
        then = dict[str, ServerThen]()
        for row, name in enumerate(names):
            values = tuple(float(watts) for watts in first[row][usable[row]])
            whole = float(third[row]) if unused[row] else None
            then[name] = ServerThen(int(idle[row]), values, sum(values), whole)
        return Decision(
            tuple(names[row] for row in order),
            tuple(_groups([(int(idle[row]), names[row]) for row in order])),
            tuple(name for row, name in enumerate(names) if row not in set(order)),
            then,
        )


def _looks(cluster: GpuCluster) -> deque[float]:
    """The last census before something fails or is well again, when meters are read once more, and the first ones after
    that: as many as an election may take."""
    period = cluster.census
    moments = {at for fault in cluster.faults for at in (fault.at, fault.ends) if at != math.inf}
    return deque(
        sorted({(math.ceil(at / period) + n) * period for at in moments for n in range(-1, ELECTION)} - {-period})
    )


def _groups(ordered: list[tuple[int, str]]) -> Iterator[tuple[str, ...]]:
    """Neighbours in the order with equally many idle GPUs."""
    group = list[str]()
    for place, (idle, name) in enumerate(ordered):
        if place and idle != ordered[place - 1][0]:
            yield tuple(group)
            group = []
        group.append(name)
    if group:
        yield tuple(group)
