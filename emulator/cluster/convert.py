"""Cluster files from what other programs write: from lists of nodes and pods (see `lists.py`), and from servers and
tasks that `slurm.py` and `kubernetes.py` found. Watts are those of Lettich et al., "Power- and Fragmentation-aware
Online Scheduling for GPU Datacenters", CCGrid 2025."""

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ringhil.emulator.cluster.cluster import ClusterServer, ClusterTask
from ringhil.emulator.cluster.lists import MOST, PODS, nodes, pods
from ringhil.emulator.cluster.written import MOST_GPUS, MOST_SERVERS
from ringhil.emulator.scenario.writer import flow
from ringhil.emulator.scenario.yaml.errors import ScenarioError, quoted

_XEON_8163 = {"idle": 20, "task": 165, "cores": 48}
_XEON_6326 = {"idle": 20, "task": 185, "cores": 32}
_XEON_8369B = {"idle": 20, "task": 270, "cores": 64}
_E5_2682 = {"idle": 15, "task": 120, "cores": 32}
# By type of GPU: idle watts, watts with a task, and the processor of its servers. Lists count two `cpus` a core. Which
# processor servers with A10 and G2 have isn't said there: it is that of Alibaba's instances with A10.
_TYPES = {
    "T4": (10, 70, _XEON_8163),
    "A10": (30, 150, _XEON_8369B),
    "P100": (25, 250, _E5_2682),
    "V100M16": (30, 300, _XEON_6326),
    "V100M32": (30, 300, _XEON_6326),
    "A100": (50, 400, _XEON_8369B),
    "G2": (30, 150, _XEON_8369B),
    "G3": (50, 400, _XEON_8369B),
}
_GUESS = (50, 300)  # watts of a type that isn't known
MOST_TASKS = 1_000_000


@dataclass(frozen=True)
class Imported:
    """What another program's file says of a cluster. `notes`: what to know of the servers. `left_out`: how many of its
    `entries` are no tasks and servers, by the reason."""

    servers: tuple[ClusterServer, ...]
    tasks: tuple[ClusterTask, ...]
    notes: tuple[str, ...]
    entries: int
    left_out: Mapping[str, int]

    def said(self) -> str:
        """What was left out, "" for nothing."""
        reasons = [f"{reason}: {number:,}" for reason, number in self.left_out.items() if number]
        whole = sum(self.left_out.values())
        return f"left out {whole:,} of {self.entries:,} entries ({'; '.join(reasons)})" if reasons else ""


def imported_texts(found: Imported, source: Path, list_name: str) -> tuple[str, str | None]:
    """The texts of a cluster file, and of the list of tasks `list_name` beside it, if there are any. Raises
    ScenarioError where such files could not be read later."""
    _check(found, source)
    kinds = Counter(kind for server in found.servers for kind in server.types)
    for task in found.tasks:
        kinds.update(dict.fromkeys(task.needs.types, 0))
    lines = ["cluster:", "  power:  # watts"]
    for name in sorted(kinds, key=lambda kind: (-kinds[kind], kind)):
        known = _watts(name)
        idle, task_watts = known or _GUESS
        guess = "" if known else "  # a guess: this type isn't known here"
        lines.append(f"    {flow(name)}: {flow({'idle': idle, 'task': task_watts})}{guess}")
    lines += [*(f"  # {note}" for note in found.notes), "  servers:"]
    lines += [f"    - {flow(server_entry(server))}" for server in found.servers]
    if not found.tasks:
        lines += ["tasks:  # none are known: this stands for yours", "  - {name: example, gpus: 1, for: 3600}", ""]
        return "\n".join(lines), None
    return "\n".join([*lines, f"pods: {flow(list_name)}", ""]), _task_list(found.tasks)


def _check(found: Imported, source: Path) -> None:
    problem = ""
    if not any(server.types for server in found.servers):
        problem = "no server with a GPU; needed is at least one"
    elif len(found.tasks) > MOST_TASKS:
        problem = f"{len(found.tasks):,} tasks; allowed are {MOST_TASKS:,}"
    elif len(found.servers) > MOST_SERVERS:
        problem = f"{len(found.servers):,} servers; allowed are {MOST_SERVERS:,}"
    if problem:
        raise ScenarioError(str(source), None, None, problem)
    for server in found.servers:
        for what, number, most in (
            ("GPUs", len(server.types), MOST_GPUS),
            ("thousandths of a processor", server.cpus, MOST // 10),
            ("MiB of memory", server.memory, MOST),
        ):
            if number > most:
                problem = f"server {quoted(server.name)}: {number:,} {what}; allowed are {most:,}"
                raise ScenarioError(str(source), None, None, problem)
    for task in found.tasks:
        needs = task.needs
        for what, number, most in (
            ("GPUs", needs.gpus, MOST_GPUS),
            ("thousandths of a processor", needs.cpus, MOST),
            ("MiB of memory", needs.memory, MOST),
            ("seconds to its end", int(task.at + (task.lasts or 0)), MOST),
        ):
            if number > most:
                problem = f"task {quoted(task.name)}: {number:,} {what}; allowed are {most:,}"
                raise ScenarioError(str(source), None, None, problem)


def _watts(kind: str) -> tuple[int, int] | None:
    """Idle, and with a task, of a type by any of the names that it has: V100, NVIDIA-A100-SXM4-80GB."""
    for word in re.split("[^A-Z0-9]+", kind.upper()):
        for name, (idle, task, _) in _TYPES.items():
            if word == name or (word == "V100" and name.startswith(word)):
                return idle, task
    return None


def server_entry(server: ClusterServer) -> dict[str, Any]:
    """A server as a cluster file has it."""
    written: dict[str, Any] = {"name": server.name, "gpus": len(server.types)}
    if server.types:
        ((common, _),) = Counter(server.types).most_common(1)
        written["type"] = common
        others = {str(index): kind for index, kind in enumerate(server.types) if kind != common}
        written |= {"types": others} if others else {}
    written |= {"busy": sorted(server.busy)} if server.busy else {}
    cpus, part = divmod(server.cpus, 1000)
    written |= {"cpus": server.cpus / 1000 if part else cpus, "memory": server.memory}
    written |= {"standby": server.standby} if server.standby else {}
    return written | ({"processor": asdict(server.processor)} if server.processor else {})


def _task_list(tasks: Sequence[ClusterTask]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    gangs = any(task.members > 1 for task in tasks)
    rows.writerow([*PODS, "scheduled_time", *(["members"] if gangs else [])])
    for task in tasks:
        needs, at = task.needs, int(task.at)
        ends = [at + int(task.lasts), at] if task.lasts else ["", ""]
        share = needs.share if needs.gpus else 0
        row = [task.name, needs.cpus, needs.memory, needs.gpus, share, "|".join(needs.types), at, *ends]
        rows.writerow([*row, *([task.members] if gangs else [])])
    return text.getvalue()


def cluster_text(node_list: Path, pod_list: Path, folder: Path) -> str:
    """The text of a cluster file in `folder` that names the two lists. Raises ScenarioError for lists that it could not
    read later."""
    servers = nodes(node_list, tuple(_TYPES), 0.0, {})
    pods(pod_list, tuple(_TYPES))
    found = {kind for server in servers for kind in server.types}
    processors = {name: each[2] for name, each in _TYPES.items() if name in found}
    lines = ["cluster:", "  power:"]
    lines += [f"    {name}: {flow({'idle': idle, 'task': task})}" for name, (idle, task, _) in _TYPES.items()]
    lines += ["  nodes:", f"    list: {flow(os.path.relpath(node_list, folder))}", "    processors:"]
    lines += [f"      {name}: {flow(each)}" for name, each in processors.items()]
    return "\n".join([*lines, f"pods: {flow(os.path.relpath(pod_list, folder))}", ""])
