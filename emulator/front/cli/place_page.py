"""Policies on one cluster, as the page that `view/page/src/cluster.tsx` draws: what each costs, curves of all, and the
map of servers at any moment. It has every placement on the servers that it shows."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from ringhil.emulator.cluster.cluster import WHOLE, ClusterFault, ClusterTask, GpuCluster
from ringhil.emulator.cluster.figures import percentile
from ringhil.emulator.cluster.play import PlacedTask, PlacementRun
from ringhil.emulator.cluster.saturate import Saturated
from ringhil.emulator.cluster.scheduler import PlacedOn
from ringhil.emulator.pages import visible
from ringhil.emulator.pages.charts import Axis, Chart, Curve, Quantity
from ringhil.emulator.pages.units import seconds
from ringhil.emulator.view.fleet import (
    ClusterAbout,
    FleetFault,
    FleetRun,
    FleetServer,
    FleetTable,
    FleetTasks,
)

BINS = 1000  # of a curve that has more points
_MOST_GPUS = 20_000  # that the map shows
_MOST_PLACED = 100_000  # tasks on them, of all policies together
_PERCENTS = (50, 75, 90, 95, 99, 99.9, 100)
_PER_CENT = 0.01
Point = tuple[float, float]


@dataclass(frozen=True)
class Arrival:
    """A try of a task, and what became of it; times on the page's time line, None: it never came to that. `came`: when
    it began to wait; `number`: of the try, from 1; `lost`: with what it ran on, when it `ended`."""

    task: ClusterTask
    came: float
    began: float | None
    ended: float | None
    where: tuple[PlacedOn, ...]
    number: int = 1
    lost: bool = False


@dataclass(frozen=True)
class PlaceView:
    """What a page shows of the runs of all policies: `arrivals` of each by name, to `end`: seconds, or, of a cluster
    that is `filled`, shares of its GPUs. `start`: the moment that is shown first; `sleeps`: whether servers without a
    task do; `waits`: waiting times, seconds; `faults`: of GPUs and servers; `thinned`: how curves are, where they are.
    """

    charts: Sequence[Chart]
    arrivals: Mapping[str, Sequence[Arrival]]
    start: float
    end: float
    filled: bool
    sleeps: bool
    waits: Mapping[str, Sequence[float]]
    faults: Sequence[ClusterFault] = ()
    thinned: str = ""


def run_view(cluster: GpuCluster, played: Mapping[str, PlacementRun], seed: int = 0) -> PlaceView:
    """Of runs over time, with what failed by this seed."""
    end = max((run.until for run in played.values()), default=0.0)

    def chart(title: str, figure: str, quantity: Quantity) -> Chart:
        scale = _PER_CENT if quantity == "share" else 1.0
        curves = {
            name: [(at.at, scale * float(getattr(at, figure))) for at in run.curve] for name, run in played.items()
        }
        return _chart(title, quantity, Axis(title="time", quantity="seconds", begin=0.0, end=end), curves, steps=True)

    charts = [
        chart("GPUs used", "allocated", "share"),
        chart("Power", "watts", "watts"),
        chart("Tasks that wait", "waiting", "count"),
        chart("Fragmentation of what is free", "fragmentation", "share"),
        chart("Servers awake", "awake", "count"),
    ]
    arrivals = {
        name: [tried for each in run.tasks.values() if each.task.at <= run.until for tried in _tried(each)]
        for name, run in played.items()
    }
    start = max(next(iter(played.values())).curve, key=lambda at: at.allocated).at
    faults = [each for each in replace(cluster, until=end).with_failures(seed).faults if each.link is None]
    waits = {name: sorted(run.waited) for name, run in played.items()}
    long = any(len(run.curve) > BINS for run in played.values())
    thinned = f"means over {seconds(end / BINS)} each" if long else ""
    return PlaceView(charts, arrivals, start, end, False, cluster.sleeps, waits, faults, thinned)


def _tried(each: PlacedTask) -> Iterator[Arrival]:
    """Every try, the last one where it waits as well."""
    came = each.task.at
    for number, lost in enumerate(each.lost, 1):
        yield Arrival(each.task, came, lost.began, lost.ended, lost.everywhere, number, lost=True)
        came = lost.ended
    yield Arrival(each.task, came, each.began, each.ended, each.everywhere, len(each.lost) + 1)


def filled_view(cluster: GpuCluster, done: Mapping[str, Saturated]) -> PlaceView:
    """Of clusters that are filled: over the share of all GPUs that was asked for."""
    arrivals = {name: list(_filled(cluster, each)) for name, each in done.items()}
    last = max((each.came for came in arrivals.values() for each in came), default=0.0)
    end = max(last, *(each.points[-1].percent / 100 for each in done.values()))

    def chart(title: str, figure: str, quantity: Quantity) -> Chart:
        scale = _PER_CENT if quantity == "share" else 1.0
        curves = {
            name: [(at.percent / 100, scale * float(getattr(at, figure))) for at in each.points]
            for name, each in done.items()
        }
        return _chart(title, quantity, Axis(title="asked for", quantity="share", begin=0.0, end=end), curves)

    charts = [
        chart("GPUs allocated", "allocated", "share"),
        chart("Fragmentation of what is free", "fragmentation", "share"),
        chart("Power, nothing asleep", "watts", "watts"),
    ]
    most = max(len(each.points) for each in done.values())
    thinned = f"one point in {math.ceil(most / BINS)}" if most > BINS else ""
    return PlaceView(charts, arrivals, end, end, True, False, {}, thinned=thinned)


def _filled(cluster: GpuCluster, done: Saturated) -> Iterator[Arrival]:
    everything, asked = cluster.gpus * WHOLE, 0
    for place, placed in done.arrivals:
        task = cluster.tasks[place]
        asked += task.asked
        at = asked / everything
        yield Arrival(task, at, at if placed else None, None, placed)


def about(
    cluster: GpuCluster,
    what: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    said: Sequence[str],
    view: PlaceView,
) -> ClusterAbout:
    """All that the page is told. `said`: lines below the table."""
    shown = _shown(cluster, view)
    notes = [*said]
    if view.thinned:
        notes.append(f"Curves with more than {BINS:,} points show {view.thinned}.")
    if shown < len(cluster.servers):
        notes.append(f"The map shows the first {shown:,} of {len(cluster.servers):,} servers.")
    tables = [_table("Policies", columns, rows)]
    if view.waits:
        heads = ["waiting at most, of", *(f"{percent:g} %" for percent in _PERCENTS)]
        cells = [[name, *(seconds(percentile(each, p)) for p in _PERCENTS)] for name, each in view.waits.items()]
        tables.append(_table("Waiting", heads, cells))
    types, tasks = list(cluster.power), dict[ClusterTask, int]()
    runs = [_run(policy, arrivals, shown, tasks) for policy, arrivals in view.arrivals.items()]
    return ClusterAbout(
        title=_text(cluster.name),
        what=_text(what),
        start=view.start,
        end=view.end,
        filled=view.filled,
        sleeps=view.sleeps,
        whole=WHOLE,
        all_servers=len(cluster.servers),
        types=[*map(_text, types)],
        servers=[
            FleetServer(name=_text(each.name), types=[types.index(kind) for kind in each.types], busy=sorted(each.busy))
            for each in cluster.servers[:shown]
        ],
        tasks=FleetTasks(
            name=[_text(each.name) for each in tasks],
            gpus=[each.needs.gpus for each in tasks],
            share=[each.needs.share if each.needs.gpus else 0 for each in tasks],
            cpus=[each.needs.cpus for each in tasks],
            memory=[each.needs.memory for each in tasks],
        ),
        runs=runs,
        faults=[
            FleetFault(server=each.server, gpu=each.gpu, at=_short(each.at), ends=_within(each.ends, view.end))
            for each in view.faults
            if each.server < shown
        ],
        tables=tables,
        said=[*map(_text, notes)],
        charts=[*view.charts],
        waits=_waits(view.waits),
    )


def _shown(cluster: GpuCluster, view: PlaceView) -> int:
    """Servers, as many as a page can show with what was on them."""
    on = Counter(placed.server for arrivals in view.arrivals.values() for each in arrivals for placed in each.where)
    gpus = accumulate(len(server.types) for server in cluster.servers)
    tasks = accumulate(on[place] for place in range(len(cluster.servers)))
    return sum(g <= _MOST_GPUS and t <= _MOST_PLACED for g, t in zip(gpus, tasks, strict=True))


def _run(policy: str, arrivals: Iterable[Arrival], shown: int, tasks: dict[ClusterTask, int]) -> FleetRun:
    """With places in `tasks`, to which it adds those that are new. Of servers that aren't shown nothing is."""
    kept = []
    for each in arrivals:
        where = [[placed.server, *placed.gpus] for placed in each.where if placed.server < shown]
        if where or not each.where:
            kept.append((tasks.setdefault(each.task, len(tasks)), each, where))
    return FleetRun(
        policy=_text(policy),
        task=[place for place, _, _ in kept],
        came=[_short(each.came) for _, each, _ in kept],
        began=[_some(each.began) for _, each, _ in kept],
        ended=[_some(each.ended) for _, each, _ in kept],
        number=[each.number for _, each, _ in kept],
        lost=[place for place, (_, each, _) in enumerate(kept) if each.lost],
        where=[where for _, _, where in kept],
    )


def _waits(waits: Mapping[str, Sequence[float]]) -> Chart | None:
    curves = {
        name: [(n / len(values), value) for n, value in _corners(values)] for name, values in waits.items() if values
    }
    share = Axis(title="of the tasks", quantity="share", begin=0.0, end=1.0)
    return _chart("Waiting of so many percent of the tasks, at most", "seconds", share, curves) if curves else None


def _chart(
    title: str, quantity: Quantity, x: Axis, curves: Mapping[str, Sequence[Point]], *, steps: bool = False
) -> Chart:
    made = []
    for name, points in curves.items():
        drawn = _thinned(points, x.end or 0.0, steps=steps)
        xs, ys = tuple(_short(x) for x, _ in drawn), tuple(float(f"{y:.6g}") for _, y in drawn)
        made.append(Curve(name=_text(name), xs=xs, ys=ys, steps=steps))
    return Chart(title=title, x=x, y=Axis(title="", quantity=quantity), curves=tuple(made), group=x.title)


def _thinned(points: Sequence[Point], end: float, *, steps: bool) -> Sequence[Point]:
    """The mean over each bin: steps of so many points would be a smear. Of other curves one point in several."""
    if len(points) <= BINS:
        return points
    if not steps:
        return [*points[: -1 : math.ceil(len(points) / BINS)], points[-1]]
    size = max(end, 1e-9) / BINS
    sums = [0.0] * BINS
    for (since, value), (until, _) in pairwise([*points, (end, 0.0)]):
        for place in range(min(BINS - 1, int(since / size)), min(BINS - 1, int(until / size)) + 1):
            sums[place] += value * max(0.0, min(until, (place + 1) * size) - max(since, place * size))
    return [(place * size, each / size) for place, each in enumerate(sums)]


def _corners(values: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Of sorted values, how many are at most so large: where that changes, and some hundred places between."""
    last = len(values)
    step = max(1, last // BINS)
    yield 0, values[0]
    for n, value in enumerate(values, 1):
        if n in (1, last) or n % step == 0:
            yield n, value


def _table(name: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> FleetTable:
    return FleetTable(name=name, heads=[*map(_text, heads)], rows=[[*map(_text, row)] for row in rows])


def _text(text: str) -> str:
    """With what can't be seen in it written out."""
    return str(visible(text))


def _short(value: float) -> int | float:
    found = round(value, 5 if value < 10 else 3)
    return int(found) if found.is_integer() else found


def _some(value: float | None) -> int | float | None:
    return None if value is None else _short(value)


def _within(value: float, end: float) -> float | None:
    return _short(value) if value <= end else None
