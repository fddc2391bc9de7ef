"""Cluster files: YAML in, a frozen and checked `GpuCluster` out."""

import copy
import math
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ringhil.emulator.cluster import lists
from ringhil.emulator.cluster.cluster import (
    RING,
    WHOLE,
    ClusterFault,
    ClusterServer,
    ClusterTask,
    GpuCluster,
    PolicyBound,
    Processor,
    Saturation,
    TaskNeeds,
    TypePower,
)
from ringhil.emulator.cluster.expect import UNTIL, judged
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.cluster.written import (
    MOST_GPUS,
    MOST_SERVERS,
    ClusterFile,
    PowerOfType,
    ServerTemplate,
    WrittenFault,
    WrittenProcessor,
    WrittenTask,
)
from ringhil.emulator.errors import printable
from ringhil.emulator.scenario.file.explain import explain
from ringhil.emulator.scenario.file.schema import DIALECT, schema_of
from ringhil.emulator.scenario.file.topology import GpuRef, LinkRef
from ringhil.emulator.scenario.yaml.errors import listing, quoted, shown, unknown
from ringhil.emulator.scenario.yaml.events import read_text
from ringhil.emulator.scenario.yaml.marks import Loc, Source, exactly_one
from ringhil.emulator.scenario.yaml.parse import parse

_TASKS = ("tasks", "pods")
_SERVERS = ("servers", "nodes")


def load_cluster(path: str | os.PathLike[str]) -> GpuCluster:
    """The cluster in the file at `path`. Raises ScenarioError, also for the lists that it names."""
    path = Path(path)
    source = parse(read_text(path), str(path))
    try:
        written = ClusterFile.model_validate(source.data)
    except ValidationError as error:
        raise explain(error, source, root=_schema()) from None
    return _Reader(source, written, path).cluster()


@cache
def _schema() -> dict[str, Any]:
    return schema_of(ClusterFile)


def cluster_schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12, that accepts every cluster file that loads. It can't follow names through the file,
    and doesn't know what stands in lists."""
    whole = copy.deepcopy(_schema())
    within = whole["properties"]["cluster"]
    for part, keys in ((whole, _TASKS), (within, _SERVERS)):
        part["oneOf"] = [{"required": [key]} for key in keys]
    return {"$schema": DIALECT, "title": "ringhil cluster", **whole}


class _Reader:
    def __init__(self, source: Source, written: ClusterFile, path: Path) -> None:
        self._source, self._written, self._path = source, written, path
        self._power = {name: self._power_of(name, each) for name, each in written.cluster.power.items()}

    def cluster(self) -> GpuCluster:
        written = self._written
        servers, tasks = self._servers(), self._tasks()
        self._check_room(servers, tasks)
        return GpuCluster(
            written.name or printable(self._path.stem),
            written.seed,
            written.until,
            self._power,
            servers,
            tasks,
            self._saturation(servers, tasks),
            float(written.cluster.census),
            faults=self._faults(servers),
            failing=0.0 if written.failing is None else written.failing.gpus,
            expect=tuple(self._expected()),
        )

    def _faults(self, servers: tuple[ClusterServer, ...]) -> tuple[ClusterFault, ...]:
        known = {server.name: place for place, server in enumerate(servers)}
        if self._written.cluster.saturate is not None:
            for key in ("faults", "failing", "until"):
                if getattr(self._written, key):
                    problem = f"{key!r} beside 'saturate'; allowed is one of them"
                    raise self._source.error((key,), problem, key=True)
        if self._written.failing is not None and self._written.until is None:
            raise self._source.error(("failing",), "'failing' without 'until'; needed are both", key=True)
        return tuple(self._fault(each, ("faults", n), known, servers) for n, each in enumerate(self._written.faults))

    def _fault(
        self, fault: WrittenFault, loc: Loc, known: dict[str, int], servers: tuple[ClusterServer, ...]
    ) -> ClusterFault:
        until = self._written.until
        if until is not None and fault.at >= until:
            raise self._source.error((*loc, "at"), f"found {fault.at:g}; allowed is less than 'until', {until:g}")
        if fault.server not in known:
            raise self._source.error((*loc, "server"), unknown("server", fault.server, known))
        server, gpu, link = servers[known[fault.server]], None, None
        if not server.types:  # no census would find that out
            raise self._source.error(
                (*loc, "server"), f"{quoted(server.name)} has no GPUs; allowed are those with some"
            )
        if fault.gpu is not None and fault.link is not None:
            raise self._source.error((*loc, "link"), "'gpu' and 'link'; allowed is one of them, or neither", key=True)
        try:
            if fault.gpu is not None:
                found = GpuRef.parse(fault.gpu)
                if found.card != RING or found.index >= len(server.types):
                    raise ValueError(f"{server.name} has no GPU {fault.gpu!r}")
                gpu = found.index
            elif fault.link is not None:
                cut = LinkRef.parse(fault.link, len(server.types))
                if cut.card != RING:
                    raise ValueError(f"{server.name} has no link {fault.link!r}")
                link = cut.index
        except ValueError as error:
            last = len(server.types) - 1
            allowed = (
                f"{RING}.0 .. {RING}.{last}" if fault.link is None else f"{RING}.0-{RING}.{1 % (last + 1)} and so on"
            )
            where = (*loc, "gpu" if fault.link is None else "link")
            raise self._source.error(where, f"{error}; allowed is {allowed}") from None
        if server.busy and link is None and (gpu is None or gpu in server.busy):
            raise self._source.error(loc, "a GPU that is taken from the start ('busy'); allowed are others")
        ends = math.inf if fault.lasts is None else fault.at + fault.lasts
        return ClusterFault(fault.at, ends, known[fault.server], gpu, link)

    def _servers(self) -> tuple[ClusterServer, ...]:
        written = self._written.cluster
        if exactly_one(self._source, ("cluster",), _SERVERS) == "nodes":
            assert written.nodes is not None
            processors = {name: _processor(each) for name, each in written.nodes.processors.items()}
            for name in processors:
                self._check_type(("cluster", "nodes", "processors", name), name, key=True)
            path = self._path.parent / written.nodes.list
            return lists.nodes(path, list(self._power), written.nodes.standby, processors)
        assert written.servers is not None
        found = dict[str, ClusterServer]()
        for place, template in enumerate(written.servers):
            loc: Loc = ("cluster", "servers", place)
            if len(found) + (template.count or 1) > MOST_SERVERS:
                problem = f"{len(found) + (template.count or 1)} servers up to here; allowed are {MOST_SERVERS}"
                raise self._source.error(loc, problem)
            for server in self._from_template(template, loc):
                if server.name in found:
                    raise self._source.error((*loc, "name"), f"a second server {quoted(server.name)}; allowed is one")
                found[server.name] = server
        return tuple(found.values())

    def _from_template(self, template: ServerTemplate, loc: Loc) -> list[ClusterServer]:
        types = list[str]()
        if template.type is not None:
            self._check_type((*loc, "type"), template.type)
            types = [template.type] * template.gpus
        elif template.gpus:
            raise self._source.error(loc, "key 'type' is missing; needed is the type of its GPUs")
        for index, kind in template.types.items():
            where = (*loc, "types", index)
            if int(index) >= template.gpus:
                raise self._source.error(where, _no_gpu(int(index), template.gpus), key=True)
            self._check_type(where, kind)
            types[int(index)] = kind
        for number, taken in enumerate(template.busy):
            if taken >= template.gpus:
                raise self._source.error((*loc, "busy", number), _no_gpu(taken, template.gpus))
        names = [template.name]
        if template.count is not None:
            names = [f"{template.name}.{number}" for number in range(template.count)]
        return [
            ClusterServer(
                name,
                tuple(types),
                frozenset(template.busy),
                round(template.cpus * 1000),
                template.memory,
                template.standby,
                None if template.processor is None else _processor(template.processor),
            )
            for name in names
        ]

    def _power_of(self, kind: str, written: PowerOfType) -> TypePower:
        """Idler states draw no more."""
        low = written.idle if written.low is None else written.low
        found = TypePower(written.idle, written.task, low, low if written.off is None else written.off)
        for less, more in pairwise(("off", "low", "idle", "task")):
            if (draws := getattr(found, less)) > (most := getattr(found, more)):
                loc: Loc = ("cluster", "power", kind, less)
                raise self._source.error(loc, f"found {draws:g}; allowed is up to {most:g}, that of {more!r}")
        return found

    def _check_type(self, loc: Loc, name: str, *, key: bool = False) -> None:
        if name not in self._power:
            raise self._source.error(loc, unknown("type of GPU", name, self._power), key=key)

    def _tasks(self) -> tuple[ClusterTask, ...]:
        if exactly_one(self._source, (), _TASKS) == "pods":
            assert self._written.pods is not None
            return lists.pods(self._path.parent / self._written.pods, list(self._power))
        assert self._written.tasks is not None
        found = dict[str, ClusterTask]()
        for place, task in enumerate(self._written.tasks):
            if task.name in found:
                raise self._source.error(("tasks", place, "name"), f"a second task {quoted(task.name)}; allowed is one")
            found[task.name] = self._task(task, ("tasks", place))
        return tuple(found.values())

    def _task(self, task: WrittenTask, loc: Loc) -> ClusterTask:
        share = round(task.gpus * WHOLE)
        whole = share >= WHOLE
        if (share != task.gpus * WHOLE and abs(share - task.gpus * WHOLE) > 1e-6) or (whole and share % WHOLE):
            allowed = f"0, 0.001 .. 0.999 in steps of 0.001, or a whole number to {MOST_GPUS}"
            raise self._source.error((*loc, "gpus"), f"found {shown(task.gpus)}; allowed is {allowed}")
        for number, kind in enumerate(task.types):
            self._check_type((*loc, "types", number), kind)
        until = self._written.until
        if until is not None and task.at >= until:
            raise self._source.error((*loc, "at"), f"found {task.at:g}; allowed is less than 'until', {until:g}")
        needs = TaskNeeds(
            share // WHOLE if whole else min(share, 1),
            share if 0 < share < WHOLE else WHOLE,
            round(task.cpus * 1000),
            task.memory,
            tuple(sorted({*task.types})),
        )
        if task.spread and task.members == 1:
            raise self._source.error((*loc, "spread"), "'spread' without 'members'; needed are both", key=True)
        return ClusterTask(task.name, needs, task.at, task.lasts, task.members, task.spread)

    def _check_room(self, servers: tuple[ClusterServer, ...], tasks: tuple[ClusterTask, ...]) -> None:
        """No task is larger than every server, were it empty."""
        if self._written.tasks is None:
            return  # those of a trace may be: they are counted
        sizes = {(server.types, server.cpus, server.memory) for server in servers}
        known = dict[TaskNeeds, bool]()
        for place, task in enumerate(tasks):
            if task.needs not in known:
                known[task.needs] = any(_fits(task.needs, *size) for size in sizes)
            if not known[task.needs]:
                problem = f"{quoted(task.name)} fits on no server, also if all of it were free"
                raise self._source.error(("tasks", place), f"{problem}; allowed is what one of them has")
            if task.members > 1 and (room := _room(task, servers)) < task.members:
                problem = f"{quoted(task.name)} has {task.members:,} members; allowed are {room:,}"
                more = (
                    ", one on each server that is large enough" if task.spread else ", for which the cluster has room"
                )
                raise self._source.error(("tasks", place, "members"), problem + more)

    def _saturation(self, servers: tuple[ClusterServer, ...], tasks: tuple[ClusterTask, ...]) -> Saturation | None:
        written = self._written.cluster.saturate
        if written is None:
            return None
        loc: Loc = ("cluster", "saturate")
        for key in ("arrivals", "ties"):
            if getattr(written, key) is not None and written.column is None:
                raise self._source.error((*loc, key), "a file without 'column'; needed is the column to read")
        if written.column is not None and written.arrivals is written.ties is None:
            raise self._source.error((*loc, "column"), "a column without a file; needed is 'arrivals' or 'ties'")
        if not any(task.needs.asked for task in tasks):
            raise self._source.error(loc, "no task needs a GPU; needed is one that does")
        folder, column = self._path.parent, written.column or ""
        return Saturation(
            written.load,
            column,
            None if written.arrivals is None else lists.arrivals(folder / written.arrivals, column, len(tasks)),
            None if written.ties is None else lists.ties(folder / written.ties, column, servers),
        )

    def _expected(self) -> Iterator[PolicyBound]:
        filled = self._written.cluster.saturate is not None
        allowed = judged(filled=filled)
        for place, each in enumerate(self._written.expect):
            loc: Loc = ("expect", place)
            if each.policy not in POLICIES:
                raise self._source.error((*loc, "policy"), unknown("policy", each.policy, POLICIES))
            bounds = each.model_dump(exclude={"policy"}, exclude_none=True)
            waiting = bounds.pop("waiting", None)
            found: dict[Loc, Any] = {(what,): bound for what, bound in bounds.items()}
            if waiting is not None:
                found |= {("waiting", what): bound for what, bound in waiting.items()}
                if not waiting:
                    raise self._source.error((*loc, "waiting"), "nothing in it; needed is 'median' or 'p99'")
            if not found:
                raise self._source.error(loc, "nothing beside 'policy'; needed is at least one of " + listing(allowed))
            for keys, bound in found.items():
                what = ".".join(map(str, keys))
                if what not in allowed:
                    kind = "a file with 'saturate'" if filled else "a run over time"
                    problem = f"{what!r} is not known of {kind}; allowed: {listing(allowed)}"
                    raise self._source.error((*loc, keys[0]), problem, key=True)
                if what in UNTIL and not filled and self._written.until is None:
                    problem = f"{what!r} without 'until'; needed is the moment to which it is counted"
                    raise self._source.error((*loc, keys[0]), problem, key=True)
                yield PolicyBound(each.policy, what, float(bound), self._source.mark((*loc, *keys)).line)


def _no_gpu(index: int, gpus: int) -> str:
    return f"there is no GPU {index}; allowed is {f'0 .. {gpus - 1}' if gpus else 'none'}"


def _fits(needs: TaskNeeds, types: tuple[str, ...], cpus: int, memory: int) -> bool:
    usable = sum(not needs.types or kind in needs.types for kind in types)
    return usable >= needs.gpus and cpus >= needs.cpus and memory >= needs.memory


def _room(task: ClusterTask, servers: tuple[ClusterServer, ...]) -> int:
    """How many of its members the servers could hold, were they empty; not more than it has."""
    held = Counter((server.types, server.cpus, server.memory) for server in servers)
    return min(task.members, sum(number * _members(task, *size) for size, number in held.items()))


def _members(task: ClusterTask, types: tuple[str, ...], cpus: int, memory: int) -> int:
    needs = task.needs
    usable = sum(not needs.types or kind in needs.types for kind in types)
    most = [1] if task.spread else [task.members]
    if needs.gpus:
        most.append(usable // needs.gpus * (WHOLE // needs.share))
    most += [has // each for has, each in ((cpus, needs.cpus), (memory, needs.memory)) if each]
    return min(most)


def _processor(written: WrittenProcessor) -> Processor:
    return Processor(written.idle, written.task, written.cores)
