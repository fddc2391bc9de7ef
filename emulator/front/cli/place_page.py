"""Policies on one cluster, as a page: what each costs, curves of all, and the map of servers at any moment.

The map is drawn by the page's own script from the placements, which are in the page: no moment is left out.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from markupsafe import Markup

from ringhil.emulator.cluster.cluster import WHOLE, ClusterFault, GpuCluster, TaskNeeds
from ringhil.emulator.cluster.figures import percentile
from ringhil.emulator.cluster.play import PlacementRun
from ringhil.emulator.cluster.saturate import Saturated
from ringhil.emulator.cluster.scheduler import PlacedOn
from ringhil.emulator.pages import render
from ringhil.emulator.pages.curves import BINS, CurveChart, Unit, line, power_unit, time_unit

_MOST_GPUS = 20_000  # that the map shows
_MOST_PLACED = 100_000  # tasks on them, of all policies together
_PERCENTS = (50, 75, 90, 95, 99, 99.9, 100)
_PERCENT = Unit("%")
_STATES = ("idle", "used", "shared", "sleeping", "taken", "failed")
Placement = tuple[str, TaskNeeds, PlacedOn, float, float | None]


@dataclass(frozen=True)
class PlaceView:
    """What a page shows of the runs of all policies: `placements` of each by name, to `end` in `unit`; `start`:
    the moment that is shown first; `sleeps`: whether servers without a task do; `waits`: waiting times, seconds;
    `faults`: of GPUs and servers."""

    charts: Sequence[CurveChart]
    placements: Mapping[str, Sequence[Placement]]
    start: float
    end: float
    unit: Unit
    sleeps: bool
    waits: Mapping[str, Sequence[float]]
    faults: Sequence[ClusterFault] = ()


def run_view(cluster: GpuCluster, played: Mapping[str, PlacementRun], seed: int = 0) -> PlaceView:
    """Of runs over time, with what failed by this seed."""
    end = max((run.until for run in played.values()), default=0.0)
    unit = time_unit(end)

    def chart(title: str, figure: str, y: Any) -> CurveChart:
        curves = {name: [(at.at, float(getattr(at, figure))) for at in run.curve] for name, run in played.items()}
        return CurveChart(title, curves, end, unit, y, steps=True)

    waits = {name: sorted(run.waited) for name, run in played.items()}
    spread = {
        name: [(100 * n / len(values), value) for n, value in _corners(values)]
        for name, values in waits.items()
        if values
    }
    charts = [
        chart("GPUs used", "allocated", _percent),
        chart("Power", "watts", power_unit),
        chart("Tasks that wait", "waiting", _plain),
        chart("Fragmentation of what is free", "fragmentation", _percent),
        chart("Servers awake", "awake", _plain),
        CurveChart("Waiting of so many percent of the tasks, at most", spread, 100.0, _PERCENT, time_unit, moves=False),
    ]
    placed = {
        name: [
            (each.task.name, each.task.needs, placed, each.began, each.ended)
            for each in run.tasks.values()
            for placed in each.everywhere
            if each.began is not None
        ]
        for name, run in played.items()
    }
    start = max(next(iter(played.values())).curve, key=lambda at: at.allocated).at
    faults = [each for each in replace(cluster, until=end).with_failures(seed).faults if each.link is None]
    return PlaceView(charts, placed, start, end, unit, cluster.sleeps, waits, faults)


def filled_view(cluster: GpuCluster, done: Mapping[str, Saturated]) -> PlaceView:
    """Of clusters that are filled: over percent asked for."""
    end = float(max(each.points[-1].percent for each in done.values()))
    charts = [
        CurveChart(
            title,
            {n: [(p.percent, float(getattr(p, key))) for p in d.points] for n, d in done.items()},
            end,
            _PERCENT,
            y,
        )
        for title, key, y in (
            ("GPUs allocated", "allocated", _percent),
            ("Fragmentation of what is free", "fragmentation", _percent),
            ("Power, nothing asleep", "watts", power_unit),
        )
    ]
    placed = {name: list(_filled(cluster, each)) for name, each in done.items()}
    return PlaceView(charts, placed, end, end, _PERCENT, False, {})


def _filled(cluster: GpuCluster, done: Saturated) -> Iterator[Placement]:
    everything, asked = cluster.gpus * WHOLE, 0
    for place, placed in done.arrivals:
        task = cluster.tasks[place]
        asked += task.asked
        for member in placed:
            yield task.name, task.needs, member, 100 * asked / everything, None


def page(
    cluster: GpuCluster,
    what: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    said: Sequence[str],
    view: PlaceView,
) -> str:
    """A page that needs nothing else. `said`: lines below the table."""
    data, shown = _map_data(cluster, view)
    notes = [*said]
    if thinned := [chart for chart in view.charts if chart.thinned]:
        how = f"means over {_seconds(view.end / BINS)} each" if thinned[0].steps else f"one in {thinned[0].one_in}"
        notes.append(f"Curves with more than {BINS} points show {how}.")
    if shown < len(cluster.servers):
        notes.append(f"The map shows the first {shown:,} of {len(cluster.servers):,} servers.")
    script = Markup(render("placing.js.j2"))  # our own, without a value in it
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return render(
        "placing.html.j2",
        title=cluster.name,
        what=what,
        columns=columns,
        rows=rows,
        said=notes,
        legend=[{"name": name, **line(place)} for place, name in enumerate(view.placements)],
        charts=[chart.drawn() for chart in view.charts],
        waits=[[name, *(_seconds(percentile(each, p)) for p in _PERCENTS)] for name, each in view.waits.items()],
        percents=[f"{percent:g} %" for percent in _PERCENTS],
        states=[state for state in _STATES if {"sleeping": view.sleeps, "failed": view.faults}.get(state, True)],
        data=Markup(json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")),  # no tag can be in it
        script=script,
        digest=digest,
    )


def _map_data(cluster: GpuCluster, view: PlaceView) -> tuple[dict[str, Any], int]:
    """Servers, as many as a page can show, and what was on them; and how many."""
    on = Counter(placed.server for placements in view.placements.values() for _, _, placed, _, _ in placements)
    gpus = accumulate(len(server.types) for server in cluster.servers)
    tasks = accumulate(on[place] for place in range(len(cluster.servers)))
    fits = [g <= _MOST_GPUS and t <= _MOST_PLACED for g, t in zip(gpus, tasks, strict=True)]
    shown = sum(fits)
    types, names = list(cluster.power), dict[str, int]()
    shares = list[int]()
    policies = {}
    for policy, placements in view.placements.items():
        found = []
        for name, needs, placed, began, ended in placements:
            # A task of nothing but memory wakes nobody.
            if placed.server >= shown or not (needs.gpus or needs.cpus):
                continue
            if name not in names:
                names[name] = len(names)
                shares.append(needs.share if needs.gpus else 0)
            found.append(
                [names[name], placed.server, _short(began), -1 if ended is None else _short(ended), *placed.gpus]
            )
        policies[policy] = found
    servers = [
        [server.name, [types.index(kind) for kind in server.types], sorted(server.busy)]
        for server in cluster.servers[:shown]
    ]
    faults = [
        [each.server, -1 if each.gpu is None else each.gpu, _short(each.at), _short(min(each.ends, 2 * view.end))]
        for each in view.faults
        if each.server < shown
    ]
    given = {
        "faults": faults,
        "servers": servers,
        "types": types,
        "tasks": list(names),
        "shares": shares,
        "policies": policies,
    }
    unit = {"unit": view.unit.name, "size": view.unit.size}
    return given | unit | {"start": view.start, "end": view.end, "sleeps": view.sleeps, "whole": WHOLE}, shown


def _corners(values: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Of sorted values, how many are at most so large: where that changes, and a few hundred places between."""
    last = len(values)
    step = max(1, last // BINS)
    yield 0, values[0]
    for n, value in enumerate(values, 1):
        if n in (1, last) or n % step == 0:
            yield n, value


def _short(value: float) -> float | int:
    rounded = round(value, 3)
    return int(rounded) if rounded.is_integer() else rounded


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    unit = time_unit(value)
    return f"{value / unit.size:,.1f} {unit.name}"


def _percent(most: float) -> Unit:
    return _PERCENT


def _plain(most: float) -> Unit:
    return Unit("")
