"""What `ringhil place` found, as tables for people, JSON and CSV."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.figures import Figure, alike, over_time, percentile, spreads
from ringhil.emulator.cluster.play import Decision, PlacedTask, PlacementRun
from ringhil.emulator.cluster.saturate import Saturated
from ringhil.emulator.cluster.scheduler import PlacedOn
from ringhil.emulator.pages.tables import print_table, table

Played = Mapping[str, Mapping[int, Any]]  # runs by policy and seed
ByLoad = Mapping[float | None, Played]  # None: the load of the file
_SHOWN = 40  # servers of an order

ORDER_COLUMNS = ("server", "idle GPUs", "first", "second", "third")


def heads(figures: Sequence[Figure], played: ByLoad) -> list[str]:
    """Of the columns of `rows`."""
    return [*(["load"] if len(played) > 1 else []), "policy", *(figure.column for figure in figures)]


def rows(figures: Sequence[Figure], played: ByLoad) -> list[list[str]]:
    """A row for each load and policy: of several seeds the mean, with the 95 percent interval around it."""
    return [
        [*([f"{load:g}"] if len(played) > 1 else []), name, *_cells(figures, list(runs.values()))]
        for load, at in played.items()
        for name, runs in at.items()
    ]


def _cells(figures: Sequence[Figure], runs: Sequence[Any]) -> Iterator[str]:
    for figure, spread in zip(figures, spreads(figures, runs).values(), strict=True):
        yield figure.text(spread.mean, spread.half)


def said(played: ByLoad) -> list[str]:
    """How several seeds are to be read."""
    first, *_ = loads = list(played.values())
    seeds = len(next(iter(first.values())))
    if seeds == 1:
        return []
    same = [name for name in first if all(alike(at[name]) for at in loads)]
    lines = [f"Mean of {seeds} seeds, ± 95 % interval: none where every seed gives the same figure."]
    return lines + ([f"The same for every seed: {', '.join(same)}."] if same else [])


def show(figures: Sequence[Figure], played: ByLoad, console: Console) -> None:
    """A line for each load and policy."""
    shown = table(*heads(figures, played), left=("policy",))
    for row in rows(figures, played):
        shown.add_row(*map(escape, row))
    print_table(console, shown)
    for line in said(played):
        console.print(escape(line), soft_wrap=True)


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


def document(
    cluster: GpuCluster,
    figures: Sequence[Figure],
    played: ByLoad,
    fleet: str,
    of_run: Callable[[GpuCluster, Any], dict[str, Any]],
) -> dict[str, Any]:
    """As `--json` has it. `of_run`: what it says of a single run. Of several it says less of each, and `figures`. Of
    several loads it has `loads`."""
    found = [
        {**_at_load(cluster, figures, at, fleet, of_run), **({} if load is None else {"load": load})}
        for load, at in played.items()
    ]
    if len(found) == 1:
        return found[0]
    each = [{"load": one.pop("load"), "policies": one.pop("policies")} for one in found]
    return {**found[0], "loads": each}


def by_load(played: ByLoad, text: Callable[[Played], str]) -> str:
    """CSV of all loads: of several, the load comes first in each row."""
    if len(played) == 1:
        return text(next(iter(played.values())))
    tables = {load: text(at).splitlines() for load, at in played.items()}
    (head, *_), *_ = tables.values()
    lines = [f"load,{head}", *(f"{load:g},{line}" for load, (_, *rest) in tables.items() for line in rest)]
    return "".join(f"{line}\n" for line in lines)


def _at_load(
    cluster: GpuCluster,
    figures: Sequence[Figure],
    played: Played,
    fleet: str,
    of_run: Callable[[GpuCluster, Any], dict[str, Any]],
) -> dict[str, Any]:
    seeds = list(next(iter(played.values())))
    if len(seeds) == 1:
        found = {name: {"fleet": fleet, **of_run(cluster, runs[seeds[0]])} for name, runs in played.items()}
        return {"name": cluster.name, "seed": seeds[0], "policies": found}
    policies = {}
    for name, runs in played.items():
        each = [{"seed": seed, **of_run(cluster, run)} for seed, run in runs.items()]
        for run in each:
            run.pop("tasks", None)
        policies[name] = {
            "fleet": fleet,
            "same": alike(runs),
            "figures": {
                key: {"mean": found.mean, "half": found.half}
                for key, found in spreads(figures, [*runs.values()]).items()
            },
            "runs": each,
        }
    return {"name": cluster.name, "seeds": seeds, "policies": policies}


def run_json(cluster: GpuCluster, run: PlacementRun) -> dict[str, Any]:
    """Of one policy and seed. `energy_j` is metered where servers are emulated; `predicted_j` is what the table of
    watts says, and `awake_j` the same with nothing ever asleep."""
    return {
        "tasks": {task: _task(cluster, found) for task, found in run.tasks.items()},
        "until": run.until,
        "energy_j": run.energy_j,
        **({} if run.metered_j is None else {"unread_gpus": _unread(cluster, run)}),
        "predicted_j": run.predicted_j,
        "awake_j": run.awake_j,
        "wake_ups": run.wake_ups,
        "awake_servers": over_time(run, "awake"),
        "fragmentation": over_time(run, "fragmentation"),
        "unplaced": run.unplaced,
        "lost_tries": run.lost,
        "wasted_gpu_s": run.wasted,
        "waiting_s": {"median": percentile(run.waited, 50), "p99": percentile(run.waited, 99)},
    }


def _unread(cluster: GpuCluster, run: PlacementRun) -> dict[str, int]:
    return {cluster.servers[place].name: gpus for place, gpus in run.unread.items()}


def missing(cluster: GpuCluster, played: ByLoad) -> list[str]:
    """Where meters couldn't be read in the end, so that energy is missing."""
    lines = []
    for load, at in played.items():
        for name, runs in at.items():
            for seed, run in runs.items():
                unread = _unread(cluster, run) if isinstance(run, PlacementRun) else {}
                if not unread:
                    continue
                which = [name] + [f"seed {seed}"] * (len(runs) > 1) + ([] if load is None else [f"load {load:g}"])
                told = [f"{server} ({gpus:,} GPU{'s' * (gpus > 1)})" for server, gpus in unread.items()]
                servers = ", ".join(told[:_SHOWN])
                more = f" and {len(unread) - _SHOWN:,} more" if len(unread) > _SHOWN else ""
                lines.append(
                    f"{', '.join(which)}: energy is missing: meters could not be read in the end of {servers}{more}"
                )
    return lines


def filled_json(cluster: GpuCluster, done: Saturated) -> dict[str, Any]:
    """The same where a cluster was filled."""
    last = done.points[-1]
    return {
        "percent": last.percent,
        "allocated": last.allocated,
        "fragmentation": last.fragmentation,
        "watts": last.watts,
        "arrived": len(done.arrivals),
        "unplaced": done.failed,
    }


def curves(played: Mapping[str, Mapping[int, PlacementRun]]) -> str:
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
        for name, runs in played.items()
        for seed, each in runs.items()
        for at in each.curve
    )
    return _csv(("policy", "seed", "at", "allocated", "fragmentation", "watts", "waiting", "awake"), rows)


def placements(cluster: GpuCluster, played: Mapping[str, Mapping[int, PlacementRun]]) -> str:
    """CSV: a row for each member of a task."""
    rows = (
        (name, seed, task, *_where(cluster, placed), found.task.at, _blank(found.began), _blank(found.ended))
        for name, runs in played.items()
        for seed, each in runs.items()
        for task, found in each.tasks.items()
        for placed in found.everywhere or (None,)
    )
    return _csv(("policy", "seed", "task", "server", "gpus", "at", "began", "ended"), rows)


def saturation_curves(done: Mapping[str, Mapping[int, Saturated]]) -> str:
    """CSV. Two places, as published figures have them."""
    rows = (
        (name, seed, at.percent, f"{at.allocated:.2f}", f"{at.fragmentation:.2f}", f"{at.watts:.1f}")
        for name, runs in done.items()
        for seed, each in runs.items()
        for at in each.points
    )
    return _csv(("policy", "seed", "percent", "allocated", "fragmentation", "watts"), rows)


def saturation_placements(cluster: GpuCluster, done: Mapping[str, Mapping[int, Saturated]]) -> str:
    """CSV."""
    rows = (
        (name, seed, number, cluster.tasks[place].name, *_where(cluster, member))
        for name, runs in done.items()
        for seed, each in runs.items()
        for number, (place, placed) in enumerate(each.arrivals)
        for member in placed or (None,)
    )
    return _csv(("policy", "seed", "arrival", "task", "server", "gpus"), rows)


def _task(cluster: GpuCluster, found: PlacedTask) -> dict[str, Any]:
    server = None if found.placed is None else cluster.servers[found.placed.server].name
    return {
        "server": server,
        "gpus": [] if found.placed is None else _gpus(found.placed),
        **({} if found.task.members == 1 else {"members": _members(cluster, found)}),
        "at": found.task.at,
        "began": found.began,
        "ended": found.ended,
        "tries": found.tries,
        "wasted_gpu_s": found.wasted,
        **({} if found.had is None else {"gpu_seconds": found.had}),
    }


def _members(cluster: GpuCluster, found: PlacedTask) -> list[dict[str, Any]]:
    return [{"server": cluster.servers[each.server].name, "gpus": _gpus(each)} for each in found.everywhere]


def _gpus(placed: PlacedOn) -> list[str]:
    return [f"a.{gpu}" for gpu in placed.gpus]  # a server's ring is card a


def _where(cluster: GpuCluster, placed: PlacedOn | None) -> tuple[str, str]:
    return ("", "") if placed is None else (cluster.servers[placed.server].name, " ".join(_gpus(placed)))


def _blank(value: float | None) -> float | str:
    return "" if value is None else value


def _csv(heads: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue()
