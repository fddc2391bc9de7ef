"""A window of a run that is too large to be emulated: the table plays up to it, and emulated servers go on from there.

What the table has wrong in the window is the error that it makes: in energy, counts, placements and ends of tasks.
"""

import math
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace

import numpy as np

from ringhil.emulator.cluster.cluster import RING, ClusterFault, GpuCluster
from ringhil.emulator.cluster.emulated_fleet import EmulatedFleet
from ringhil.emulator.cluster.fleet import ELECTION, Fleet, TableFleet
from ringhil.emulator.cluster.play import PlacedTask, play
from ringhil.emulator.cluster.policy import PlacementPolicy
from ringhil.emulator.cluster.scheduler import PlacedOn
from ringhil.emulator.cluster.servers import Flags
from ringhil.emulator.engine.library import Library

_LEAD = 1.0  # seconds before a window in which its tasks are launched, so that all of them run when it begins


@dataclass(frozen=True)
class TimeWindow:
    """Seconds of a run."""

    begins: float
    ends: float

    def __str__(self) -> str:
        return f"{self.begins:g}..{self.ends:g}"


@dataclass(frozen=True)
class PlayedWindow:
    """What emulated servers found in a window, beside the table. `metered_j`: GPUs by their meters, CPUs by the watts
    of the file; `tasks`: that came or ran in it. `counts`: GPUs that were counted otherwise at some moment;
    `placements`, `ends`: tasks that began or ended otherwise. `first`: the earliest of these, empty: there is none.
    `failing`: servers in which something fails in the window or shortly before, so that its meters can't be asked in
    time, and miss what was taken since the census before."""

    window: TimeWindow
    metered_j: float
    table_j: float
    tasks: int
    counts: int
    placements: int
    ends: int
    first: str
    failing: int

    @property
    def error(self) -> float | None:
        """Of the table's energy, in parts of what the meters say; None: they say nothing."""
        return self.table_j / self.metered_j - 1 if self.metered_j else None


def play_window(
    cluster: GpuCluster,
    policy: type[PlacementPolicy],
    seed: int,
    window: TimeWindow,
    library: Library,
    *,
    jobs: int = 1,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> PlayedWindow:
    """Of a cluster that says `until` and all of its faults, with servers in `jobs` processes. `on_progress`: tasks that
    came in the window, of all that do. Raises FleetError."""
    before = sum(task.lasts is not None and task.at < window.begins for task in cluster.tasks)
    inside = sum(task.lasts is not None and window.begins <= task.at <= window.ends for task in cluster.tasks)
    to_begin, to_end = (play(replace(cluster, until=at), policy, seed) for at in (window.begins, window.ends))
    with _WindowFleet(cluster, seed, window, library, jobs) as fleet:
        emulated = play(
            replace(cluster, until=window.ends),
            policy,
            seed,
            on_progress=lambda came, _: on_progress(max(0, came - before), inside),
            fleet=fleet,
        )
    names = list(emulated.tasks)
    pairs = [(emulated.tasks[name], to_end.tasks[name]) for name in names]
    placements = [pair for pair in pairs if _beginning(pair[0]) != _beginning(pair[1])]
    ends = [pair for pair in pairs if pair[0].ended != pair[1].ended]
    told = [_told(cluster, window, a, b) for a, b in pairs if (_beginning(a), a.ended) != (_beginning(b), b.ended)]
    differences = [*fleet.miscounted.values(), *told]
    since = window.begins - ELECTION * cluster.census
    return PlayedWindow(
        window,
        metered_j=emulated.energy_j - to_begin.cpu_j,
        table_j=to_end.predicted_j - to_begin.predicted_j,
        tasks=sum(_concerned(each, window) for each in to_end.tasks.values()),
        counts=len(fleet.miscounted),
        placements=len(placements),
        ends=len(ends),
        first=min(differences, default=(0.0, ""), key=lambda each: each[0])[1],
        failing=len({each.server for each in cluster.faults if each.link is None and since < each.at <= window.ends}),
    )


class _WindowFleet(Fleet):
    """The table until the window begins, and emulated servers from there on, in the state that the table has then.

    They are powered up at the last census before, or where something is out of order then as much earlier as an
    election may take. What fails between that census and the window fails there, too, with the tasks on it; a task that
    had failed before, which nobody knows yet, stays in the table until it is told.
    """

    name = EmulatedFleet.name

    def __init__(self, cluster: GpuCluster, seed: int, window: TimeWindow, library: Library, jobs: int) -> None:
        self._cluster, self._seed, self._window = cluster, seed, window
        self._library, self._processes = library, jobs
        self._table = TableFleet(cluster)
        self._emulated: EmulatedFleet | None = None
        self._start = self._before_j = 0.0
        self._jobs = dict[int, tuple[PlacedOn, int, float]]()  # that run, as they were begun
        self._emulates = set[int]()  # jobs that emulated servers have
        self._awake = set[int]()
        self.miscounted = dict[tuple[int, int], tuple[float, str]]()  # by server and GPU: when first, and in words

    def close(self) -> None:
        if self._emulated is not None:
            self._emulated.close()

    def pass_to(self, now: float) -> None:
        if self._emulated is None and now >= self._window.begins:
            self._table.pass_to(self._window.begins)
            self._emulated = self._powered_up()
        self._table.pass_to(now)
        if self._emulated is not None:
            self._emulated.pass_to(now - self._start)
            self._compare_counts(now)

    def _powered_up(self) -> EmulatedFleet:
        period, begins = self._cluster.census, self._window.begins
        counted_at = (math.ceil(begins / period) - 1) * period
        failed = any(fault.at <= counted_at < fault.ends for fault in self._cluster.faults)
        self._start = start = counted_at - (ELECTION * period if failed else 0.0)
        until, faults = self._window.ends - start, tuple(self._faults(counted_at))
        shifted = replace(self._cluster, until=until, faults=faults)
        fleet = EmulatedFleet.local(shifted, self._seed, self._library, self._processes)
        try:
            fleet.pass_to(counted_at - start)
            for server in sorted(self._awake):
                fleet.sleep(server, False)
            self._hand_over(fleet, {job for job in self._jobs if counted_at < self._table.failed_at(job) < math.inf})
            fleet.pass_to(max(counted_at, begins - _LEAD) - start)
            self._hand_over(fleet, {job for job in self._jobs if self._table.failed_at(job) == math.inf})
            fleet.pass_to(begins - start)
            self._before_j = fleet.metered_j() or 0.0
        except BaseException:
            fleet.close()
            raise
        return fleet

    def _hand_over(self, fleet: EmulatedFleet, jobs: Set[int]) -> None:
        for job in sorted(jobs - self._emulates):
            placed, share, ends = self._jobs[job]
            self._table.stop(job, placed.server)
            self._emulates.add(job)
            fleet.begin(job, placed, share, ends - self._start)

    def _faults(self, counted_at: float) -> Iterator[ClusterFault]:
        """As the emulated servers have them. What a census has dropped already fails as soon as they are counted."""
        soon = self._cluster.census / 2
        for fault in self._cluster.faults:
            if counted_at < fault.ends and fault.at < self._window.ends:
                at = soon if fault.at <= counted_at else fault.at - self._start
                yield replace(fault, at=at, ends=fault.ends - self._start)

    def _compare_counts(self, now: float) -> None:
        """The table's counts follow from the file alone."""
        counted, table = self.counted(), self._table.counted()
        for server, gpu in np.argwhere(counted != table).tolist():
            name = f"{self._cluster.servers[server].name} {RING}.{gpu}"
            text = "counted, not in the table" if counted[server, gpu] else "not counted, but in the table"
            self.miscounted.setdefault((server, gpu), (now, f"at {now:g} s {name} is {text}"))

    def counted(self) -> Flags:
        return (self._table if self._emulated is None else self._emulated).counted()

    def begin(self, job: int, placed: PlacedOn, share: int, ends: float) -> None:
        if self._emulated is None:
            self._jobs[job] = placed, share, ends
            self._table.begin(job, placed, share, ends)
        else:
            self._emulates.add(job)
            self._emulated.begin(job, placed, share, ends - self._start)

    def over(self, job: int) -> bool:
        over = self._fleet_of(job).over(job)
        if over:
            self._jobs.pop(job, None)
        return over

    def lost(self) -> list[int]:
        lost = self._table.lost() + ([] if self._emulated is None else self._emulated.lost())
        for job in lost:
            self._jobs.pop(job, None)
        return lost

    def stop(self, job: int, server: int) -> None:
        self._jobs.pop(job, None)
        self._fleet_of(job).stop(job, server)

    def had(self, job: int) -> float | None:
        return None  # of tasks that ran before the window nobody knows

    def sleep(self, server: int, asleep: bool) -> None:
        if self._emulated is not None:
            self._emulated.sleep(server, asleep)
        elif asleep:
            self._awake.discard(server)
        else:
            self._awake.add(server)

    def metered_j(self) -> float | None:
        """From the beginning of the window on."""
        assert self._emulated is not None
        return (self._emulated.metered_j() or 0.0) - self._before_j

    def unread(self) -> dict[int, int]:
        return {} if self._emulated is None else self._emulated.unread()

    def _fleet_of(self, job: int) -> Fleet:
        return self._emulated if self._emulated is not None and job in self._emulates else self._table


def _beginning(each: PlacedTask) -> tuple[object, ...]:
    return each.everywhere, each.began, each.tries


def _concerned(each: PlacedTask, window: TimeWindow) -> bool:
    """Whether it came or ran in the window; who waited all the time did neither."""
    came = window.begins <= each.task.at <= window.ends
    return came or (each.began is not None and (each.ended is None or each.ended >= window.begins))


def _told(cluster: GpuCluster, window: TimeWindow, emulated: PlacedTask, table: PlacedTask) -> tuple[float, str]:
    """When one of both first did something in the window, and both in words."""
    moments = [at for each in (emulated, table) for at in (each.began, each.ended) if at and at >= window.begins]
    told = f"{emulated.task.name} {_said(cluster, emulated)}; in the table {_said(cluster, table)}"
    return min(moments, default=window.ends), told


def _said(cluster: GpuCluster, each: PlacedTask) -> str:
    if each.began is None:
        return "waits"
    where = ", ".join(
        " ".join((cluster.servers[placed.server].name, *(f"{RING}.{gpu}" for gpu in placed.gpus)))
        for placed in each.everywhere
    )
    again = f" (try {each.tries})" if each.tries > 1 else ""
    return f"runs on {where} from {each.began:g} s{f' to {each.ended:g} s' if each.ended is not None else ''}{again}"
