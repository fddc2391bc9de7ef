"""The lists of nodes and pods in which Alibaba publishes traces of GPU clusters (cluster-trace-gpu-v2023, "openb"), and
the orders of arrivals and ties of an experiment.

| row | rule |
|---|---|
| a pod that was never scheduled, or has no end | no run over time has it; a saturation draws it all the same |
| `gpu_milli` | thousandths of each of `num_gpu` GPUs; 0 for a pod that needs none |
| a pod that was running at the end of the trace | ends with the trace: that is its deletion time in the list |
| `members`, a column that there may be | a gang of so many, each of which has these needs, on as many servers |
| time | seconds from the start of the trace; a pod arrives when it was created |
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ringhil.emulator.cluster.cluster import WHOLE, ClusterServer, ClusterTask, Processor, TaskNeeds
from ringhil.emulator.cluster.written import MOST_MEMBERS
from ringhil.emulator.scenario.file.names import IN_WORDS, LISTED
from ringhil.emulator.scenario.yaml.errors import ScenarioError, listing, quoted, shown, unknown
from ringhil.emulator.scenario.yaml.events import read_text

MOST_BYTES = 64 << 20
MOST = 10**9  # of any number in a list
_NAME = re.compile(LISTED)
_MOST_GPUS = 64  # of a server
_NODES = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
PODS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time", "deletion_time")


class ListRow:
    """A line of a list."""

    def __init__(self, path: Path, line: int, cells: Mapping[str, str]) -> None:
        self._path, self._line, self.cells = path, line, cells

    def number(self, column: str, most: int = MOST) -> int:
        """Raises ScenarioError."""
        text = self.cells[column]
        if not text.isascii() or not text.isdecimal() or len(text) > 10 or int(text) > most:
            raise self.error(column, f"found {shown(text)}; allowed is a whole number, 0 .. {most}")
        return int(text)

    def name(self, column: str) -> str:
        """Of a server or a task. Raises ScenarioError."""
        text = self.cells[column]
        if not _NAME.fullmatch(text):
            raise self.error(column, f"found {shown(text)}; allowed is {IN_WORDS[LISTED]}")
        return text

    def error(self, column: str, problem: str) -> ScenarioError:
        """About a cell."""
        return ScenarioError(str(self._path), self._line, 1, f"{column}: {problem}")


def rows_of(
    path: Path, columns: Iterable[str], *, bars: bool = False, any_of: Sequence[Sequence[str]] = ()
) -> Iterator[ListRow]:
    """The rows of a file with at least these columns, and one `any_of` each of these; `bars` between cells that have no
    quotes, and not commas. Raises ScenarioError."""
    text = io.StringIO(read_text(path, MOST_BYTES).removeprefix("\ufeff"), newline="")
    reader = csv.reader(text, delimiter="|", quoting=csv.QUOTE_NONE) if bars else csv.reader(text)
    try:
        heads = next(reader, [])
        for column in columns:
            if column not in heads:
                problem = f"no column {quoted(column)}; found are {listing(heads) or 'none'}"
                raise ScenarioError(str(path), 1, 1, problem)
        for choices in any_of:
            if not any(column in heads for column in choices):
                problem = f"no column of {listing(choices)}; found are {listing(heads) or 'none'}"
                raise ScenarioError(str(path), 1, 1, problem)
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(heads):
                problem = f"{len(cells)} cells; allowed are {len(heads)}, as in the first line"
                raise ScenarioError(str(path), reader.line_num, 1, problem)
            yield ListRow(path, reader.line_num, dict(zip(heads, cells, strict=True)))
    except csv.Error as error:
        raise ScenarioError(str(path), reader.line_num, 1, f"no CSV: {error}") from None


def nodes(
    path: Path, types: Sequence[str], standby: float, processors: Mapping[str, Processor]
) -> tuple[ClusterServer, ...]:
    """A list of nodes; `processors`: by type of GPU. Raises ScenarioError."""
    found = dict[str, ClusterServer]()
    for row in rows_of(path, _NODES):
        name, model, gpus = row.name("sn"), row.cells["model"], row.number("gpu", _MOST_GPUS)
        if name in found:
            raise row.error("sn", f"a second node {quoted(name)}; allowed is one")
        if gpus and model not in types:
            raise row.error("model", unknown("type of GPU", model, types))
        kinds = (model,) * gpus
        cpus, memory = row.number("cpu_milli"), row.number("memory_mib")
        found[name] = ClusterServer(name, kinds, frozenset(), cpus, memory, standby, processors.get(model))
    if not found:
        raise ScenarioError(str(path), 1, 1, "no rows; needed is at least one node")
    return tuple(found.values())


def pods(path: Path, types: Sequence[str]) -> tuple[ClusterTask, ...]:
    """A list of pods. Raises ScenarioError."""
    found = dict[str, ClusterTask]()
    for row in rows_of(path, PODS):
        name, gpus = row.name("name"), row.number("num_gpu", _MOST_GPUS)
        if name in found:
            raise row.error("name", f"a second pod {quoted(name)}; allowed is one")
        share = row.number("gpu_milli", WHOLE) if gpus else WHOLE
        if not share or (gpus > 1 and share < WHOLE):
            raise row.error("gpu_milli", f"found {share} of {gpus} GPUs; allowed is 1 .. {WHOLE}, of several {WHOLE}")
        allowed = tuple(sorted({each for each in row.cells["gpu_spec"].split("|") if each}))
        for each in allowed:
            if each not in types:
                raise row.error("gpu_spec", unknown("type of GPU", each, types))
        needs = TaskNeeds(gpus, share, row.number("cpu_milli"), row.number("memory_mib"), allowed)
        members = row.number("members", MOST_MEMBERS) if row.cells.get("members") else 1
        if not members:
            raise row.error("members", f"found 0; allowed is 1 .. {MOST_MEMBERS}")
        at = float(row.number("creation_time"))
        found[name] = ClusterTask(name, needs, at, _lasts(row), members, spread=members > 1)
    if not found:
        raise ScenarioError(str(path), 1, 1, "no rows; needed is at least one pod")
    return tuple(found.values())


def _lasts(row: ListRow) -> float | None:
    if not row.cells.get("scheduled_time") or not row.cells["deletion_time"]:
        return None
    began, ended = row.number("scheduled_time"), row.number("deletion_time")
    if ended < began:
        raise row.error("deletion_time", f"found {ended}, before {began}, when it was scheduled; allowed is later")
    return float(ended - began) or None


def arrivals(path: Path, column: str, tasks: int) -> tuple[int, ...]:
    """The order in which tasks come, by their places in the list, from 0. Raises ScenarioError."""
    found = [row.number(column, tasks - 1) for row in rows_of(path, (column,)) if row.cells[column]]
    if not found:
        raise ScenarioError(str(path), 1, 1, f"column {quoted(column)} is empty; needed is at least one task")
    return tuple(found)


def ties(path: Path, column: str, servers: Sequence[ClusterServer]) -> tuple[int, ...]:
    """The place of each server among those that are equal. Raises ScenarioError."""
    names, found = {server.name for server in servers}, dict[str, int]()
    for row in rows_of(path, ("node", column)):
        name = row.cells["node"]
        if name not in names:
            raise row.error("node", f"{quoted(name)} is no server of the cluster")
        found[name] = row.number(column)
    missing = names - found.keys()
    if missing:
        raise ScenarioError(str(path), 1, 1, f"no row for {quoted(min(missing))}; needed is one for each server")
    return tuple(found[server.name] for server in servers)
