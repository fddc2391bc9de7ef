"""Cluster files from lists of nodes and pods (see `lists.py`), with the watts that their authors' successors take:
Lettich et al., "Power- and Fragmentation-aware Online Scheduling for GPU Datacenters", CCGrid 2025."""

import os
from pathlib import Path

from ringhil.emulator.cluster.lists import nodes, pods
from ringhil.emulator.scenario.writer import flow

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
