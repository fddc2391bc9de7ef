"""What `ringhil place` found, as tables for people, JSON and CSV."""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.markup import escape

from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.play import Decision, PlacedTask, PlacementRun
from ringhil.emulator.cluster.saturate import Saturated
from ringhil.emulator.cluster.scheduler import PlacedOn
from ringhil.emulator.pages.tables import print_table, table

_KWH = 3_600_000  # joules
_SHOWN = 40  # servers of an order

POLICY_COLUMNS = (
    "policy",
    "energy",
    "sleep saves",
    "awake",
    "wake-ups",
    "waiting",
    "99 of 100",
    "unplaced",
    "lost",
    "fragments",
)
SATURATED_COLUMNS = ("policy", "asked", "allocated", "fragments", "power", "failed")
ORDER_COLUMNS = ("server", "idle GPUs", "first", "second", "third")


def show(played: Mapping[str, PlacementRun], console: Console) -> None:
    """A line for each policy."""
    shown = table(*POLICY_COLUMNS, left=POLICY_COLUMNS[:1])
    for name, each in played.items():
        median, most = percentile(each.waited, 50), percentile(each.waited, 99)
        saved = 1 - each.predicted_j / each.awake_j if each.awake_j else 0.0
        shown.add_row(
            escape(name),
            f"{each.energy_j / _KWH:,.3f} kWh",
            f"{100 * saved:.1f} %",
            f"{_mean(each, 'awake'):,.1f}",
            f"{each.wake_ups:,}",
            _seconds(median),
            _seconds(most),
            f"{each.unplaced:,}",
            f"{each.lost:,}",
            f"{_mean(each, 'fragmentation'):.1f} %",
        )
    print_table(console, shown)


def show_saturated(done: Mapping[str, Saturated], console: Console) -> None:
    """A line for each policy: the last column of its curve."""
    shown = table(*SATURATED_COLUMNS, left=SATURATED_COLUMNS[:1])
    for name, each in done.items():
        last = each.points[-1]
        shown.add_row(
            escape(name),
            f"{last.percent} %",
            f"{last.allocated:.2f} %",
            f"{last.fragmentation:.2f} %",
            f"{last.watts / 1000:,.1f} kW",
            f"{each.failed:,}",
        )
    print_table(console, shown)


def show_decision(task: str, policy: str, decision: Decision, console: Console) -> None:
    """A line for each server that fits, first to last, and who was dropped."""
    console.print(f"{escape(task)} by {escape(policy)}:")
    shown = table(*ORDER_COLUMNS, left=ORDER_COLUMNS[:1])
    for name in decision.order[:_SHOWN]:
        then = decision.servers[name]
        first = ", ".join(f"{watts:g}" for watts in sorted({*then.first}))
        third = "-" if then.third is None else f"{then.third:g} W"
        shown.add_row(escape(name), f"{then.idle}", f"{first} W" if first else "-", f"{then.second:g} W", third)
    print_table(console, shown)
    if len(decision.order) > _SHOWN:
        console.print(f"and {len(decision.order) - _SHOWN:,} more")
    dropped = ", ".join(map(escape, decision.dropped[:_SHOWN])) or "none"
    more = f" and {len(decision.dropped) - _SHOWN:,} more" if len(decision.dropped) > _SHOWN else ""
    console.print(f"dropped: {dropped}{more}", soft_wrap=True)


def decision_json(task: str, policy: str, decision: Decision) -> dict[str, Any]:
    """As `--order TASK --json` has it."""
    return {
        "task": task,
        "policy": policy,
        "order": list(decision.order),
        "groups": [list(group) for group in decision.groups],
        "dropped": list(decision.dropped),
        "servers": {
            name: {"idle": then.idle, "first": list(then.first), "second": then.second, "third": then.third}
            for name, then in decision.servers.items()
        },
    }


def document(cluster: GpuCluster, played: Mapping[str, PlacementRun], seed: int, fleet: str) -> dict[str, Any]:
    """As `--json` has it. `energy_j` is metered where servers are emulated; `predicted_j` is what the table of watts
    says, and `awake_j` the same with nothing ever asleep."""
    return {
        "name": cluster.name,
        "seed": seed,
        "policies": {
            name: {
                "fleet": fleet,
                "tasks": {task: _task(cluster, found) for task, found in each.tasks.items()},
                "until": each.until,
                "energy_j": each.energy_j,
                "predicted_j": each.predicted_j,
                "awake_j": each.awake_j,
                "wake_ups": each.wake_ups,
                "awake_servers": _mean(each, "awake"),
                "fragmentation": _mean(each, "fragmentation"),
                "unplaced": each.unplaced,
                "lost_tries": each.lost,
                "wasted_gpu_s": each.wasted,
                "waiting_s": {"median": percentile(each.waited, 50), "p99": percentile(each.waited, 99)},
            }
            for name, each in played.items()
        },
    }


def saturation_document(cluster: GpuCluster, done: Mapping[str, Saturated], seed: int, fleet: str) -> dict[str, Any]:
    """As `--json` has it."""
    return {
        "name": cluster.name,
        "seed": seed,
        "policies": {
            name: {
                "fleet": fleet,
                "percent": each.points[-1].percent,
                "allocated": each.points[-1].allocated,
                "fragmentation": each.points[-1].fragmentation,
                "watts": each.points[-1].watts,
                "arrived": len(each.arrivals),
                "unplaced": each.failed,
            }
            for name, each in done.items()
        },
    }


def curves(played: Mapping[str, PlacementRun], seed: int) -> str:
    """CSV."""
    rows = (
        (
            name,
            seed,
            f"{at.at:g}",
            f"{at.allocated:.2f}",
            f"{at.fragmentation:.2f}",
            f"{at.watts:.1f}",
            at.waiting,
            at.awake,
        )
        for name, each in played.items()
        for at in each.curve
    )
    return _csv(("policy", "seed", "at", "allocated", "fragmentation", "watts", "waiting", "awake"), rows)


def placements(cluster: GpuCluster, played: Mapping[str, PlacementRun], seed: int) -> str:
    """CSV."""
    rows = (
        (name, seed, task, *_where(cluster, found.placed), found.task.at, _blank(found.began), _blank(found.ended))
        for name, each in played.items()
        for task, found in each.tasks.items()
    )
    return _csv(("policy", "seed", "task", "server", "gpus", "at", "began", "ended"), rows)


def saturation_curves(done: Mapping[str, Saturated], seed: int) -> str:
    """CSV. Two places, as published figures have them."""
    rows = (
        (name, seed, at.percent, f"{at.allocated:.2f}", f"{at.fragmentation:.2f}", f"{at.watts:.1f}")
        for name, each in done.items()
        for at in each.points
    )
    return _csv(("policy", "seed", "percent", "allocated", "fragmentation", "watts"), rows)


def saturation_placements(cluster: GpuCluster, done: Mapping[str, Saturated], seed: int) -> str:
    """CSV."""
    rows = (
        (name, seed, number, cluster.tasks[place].name, *_where(cluster, placed))
        for name, each in done.items()
        for number, (place, placed) in enumerate(each.arrivals)
    )
    return _csv(("policy", "seed", "arrival", "task", "server", "gpus"), rows)


def percentile(values: list[float], percent: float) -> float | None:
    """The least value that so many percent of all don't exceed; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def _task(cluster: GpuCluster, found: PlacedTask) -> dict[str, Any]:
    server = None if found.placed is None else cluster.servers[found.placed.server].name
    return {
        "server": server,
        "gpus": [] if found.placed is None else _gpus(found.placed),
        "at": found.task.at,
        "began": found.began,
        "ended": found.ended,
        "tries": found.tries,
        "wasted_gpu_s": found.wasted,
        **({} if found.had is None else {"gpu_seconds": found.had}),
    }


def _gpus(placed: PlacedOn) -> list[str]:
    return [f"a.{gpu}" for gpu in placed.gpus]  # a server's ring is card a


def _where(cluster: GpuCluster, placed: PlacedOn | None) -> tuple[str, str]:
    return ("", "") if placed is None else (cluster.servers[placed.server].name, " ".join(_gpus(placed)))


def _mean(played: PlacementRun, figure: str) -> float:
    """Over time, of a run's curve."""
    curve = played.curve
    spans = [after.at - before.at for before, after in pairwise(curve)]
    spans.append(max(0.0, played.until - curve[-1].at))
    values = [float(getattr(at, figure)) for at in curve]
    whole = sum(spans)
    return fmean(values, spans) if whole else values[-1]


def _blank(value: float | None) -> float | str:
    return "" if value is None else value


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f} s"


def _csv(heads: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue()
