"""Servers and tasks from Kubernetes, as `kubectl get nodes,pods -A -o json` prints them, and nodes for KWOK.

| entry | rule |
|---|---|
| a node | has what is allocatable; GPUs of its capacity that aren't are taken for the whole run |
| type of its GPUs | label `nvidia.com/gpu.product`, or one of `_TYPE_LABELS` |
| a pod that is over | arrives when it was created, lasts from its start to the end of its last container |
| a pod that runs | ends with the list: at the latest time in it |
| a pod that waits | has no duration: no run over time has it; a saturation draws it |
| a pod of a DaemonSet, or of the node itself | no task: its node has so much less; left out when it is over |
| what a pod needs | all its containers; if one of those that come first needs more, that |
| its types | node selector and required affinity, on the same labels |
| part of a GPU | annotation `alibabacloud.com/gpu-milli` |
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic_core import from_json

from ringhil.emulator.cluster.cluster import WHOLE, ClusterServer, ClusterTask, GpuCluster, Processor, TaskNeeds
from ringhil.emulator.cluster.convert import Imported, server_entry
from ringhil.emulator.cluster.moments import seconds_of
from ringhil.emulator.cluster.written import MOST_GPUS, GivenName, ServerTemplate
from ringhil.emulator.documents import explained, wrong
from ringhil.emulator.scenario.yaml.errors import ScenarioError, quoted
from ringhil.emulator.scenario.yaml.events import read_text

_MOST_BYTES = 256 << 20
_MOST = 10**18  # of any quantity
_PRODUCT = "nvidia.com/gpu.product"
_TYPE_LABELS = (_PRODUCT, "alibabacloud.com/gpu-card-model", "cloud.google.com/gke-accelerator")
_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "alibabacloud.com/gpu-count")
_SHARE = "alibabacloud.com/gpu-milli"
_SERVER = "ringhil/server"  # annotation: what a cluster file says of a server that Kubernetes has no word for
_UNTYPED = "GPU"  # the type of GPUs of a node without such a label
_OWNERS = ("DaemonSet", "Node")
_OVER = ("Succeeded", "Failed")

_QUANTITY = re.compile(
    r"([0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})(?:[eE]([+-]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i))?", re.ASCII
)
_SUFFIXES = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000)}
_SUFFIXES |= {letter: Fraction(1000) ** power for power, letter in enumerate("kMGTPE", 1)}
_SUFFIXES |= {f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", 1)}


def _quantity(value: object) -> Fraction:
    found = None
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        found = _QUANTITY.fullmatch(value if isinstance(value, str) else str(value)[:80])
    if found is not None:
        amount = Fraction(found[1] + "0" if found[1].endswith(".") else found[1])
        amount *= Fraction(10) ** int(found[2] or 0) * (_SUFFIXES[found[3]] if found[3] else 1)
        if amount <= _MOST:
            return amount
    raise ValueError("a quantity from 0 on, such as 4, 500m or 16Gi")


def _time(value: object) -> int:
    if isinstance(value, str):
        with suppress(ValueError):
            found, has_zone = seconds_of(value)
            if has_zone:
                return found
    raise ValueError("a time such as 2024-05-01T12:00:00Z")


def _needed(value: Any) -> Any:
    """The part of a mapping that isn't null."""
    return {key: each for key, each in value.items() if each is not None} if isinstance(value, dict) else value


_Quantities = Annotated[dict[str, Annotated[Fraction, BeforeValidator(_quantity)]], BeforeValidator(_needed)]
_Texts = Annotated[dict[str, str], BeforeValidator(_needed)]
_Time = Annotated[int, BeforeValidator(_time)]


class _Part(BaseModel):
    """Of an object of Kubernetes: what is read here, among much else."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_null(cls, value: Any) -> Any:
        return _needed(value)


class _Owner(_Part):
    kind: str = ""


class _Metadata(_Part):
    name: GivenName
    namespace: str = ""
    labels: _Texts = {}
    annotations: _Texts = {}
    creationTimestamp: _Time | None = None
    ownerReferences: list[_Owner] = []


class _NodeCondition(_Part):
    lastHeartbeatTime: _Time | None = None


class _NodeStatus(_Part):
    capacity: _Quantities = {}
    allocatable: _Quantities = {}
    conditions: list[_NodeCondition] = []


class _Node(_Part):
    metadata: _Metadata
    status: _NodeStatus = _NodeStatus()


class _Resources(_Part):
    requests: _Quantities = {}
    limits: _Quantities = {}


class _Container(_Part):
    resources: _Resources = _Resources()
    restartPolicy: str = ""

    @property
    def needs(self) -> dict[str, Fraction]:
        return {**self.resources.limits, **self.resources.requests}


class _Expression(_Part):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class _Term(_Part):
    matchExpressions: list[_Expression] = []


class _Terms(_Part):
    nodeSelectorTerms: list[_Term] = []


class _NodeAffinity(_Part):
    requiredDuringSchedulingIgnoredDuringExecution: _Terms = _Terms()


class _Affinity(_Part):
    nodeAffinity: _NodeAffinity = _NodeAffinity()


class _PodSpec(_Part):
    nodeName: str = ""
    nodeSelector: _Texts = {}
    affinity: _Affinity = _Affinity()
    containers: list[_Container] = []
    initContainers: list[_Container] = []
    overhead: _Quantities = {}


class _Terminated(_Part):
    finishedAt: _Time | None = None


class _State(_Part):
    terminated: _Terminated = _Terminated()


class _ContainerStatus(_Part):
    state: _State = _State()


class _PodStatus(_Part):
    phase: str = "Pending"
    startTime: _Time | None = None
    containerStatuses: list[_ContainerStatus] = []

    @property
    def finished(self) -> int | None:
        ends = [each.state.terminated.finishedAt for each in self.containerStatuses]
        return max((end for end in ends if end is not None), default=None)


class _Pod(_Part):
    metadata: _Metadata
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()

    @property
    def stays(self) -> bool:
        """Whether it belongs to its node."""
        owners = any(owner.kind in _OWNERS for owner in self.metadata.ownerReferences)
        return owners or "kubernetes.io/config.mirror" in self.metadata.annotations


_P = TypeVar("_P", bound=_Part)


def imported_kubernetes(path: Path) -> Imported:
    """Raises ScenarioError."""
    items = _items(path)
    left_out = Counter[str]()
    nodes, pods = list[tuple[str, _Node]](), list[tuple[str, _Pod]]()
    for number, (kind, item) in enumerate(items):
        where = f"items[{number}]"
        match kind:
            case "Node":
                nodes.append((where, _read(path, where, item, _Node)))
            case "Pod":
                pods.append((where, _read(path, where, item, _Pod)))
            case _:
                left_out["neither nodes nor pods"] += 1
    held = defaultdict[str, list[tuple[str, _Pod]]](list)
    tasks = list[tuple[str, _Pod]]()
    for where, pod in pods:
        over = pod.status.phase in _OVER
        if pod.stays and over:
            left_out["pods of a node, over"] += 1
        elif pod.stays:
            held[pod.spec.nodeName].append((where, pod))
        elif over and (pod.status.startTime is None or pod.status.finished is None):
            left_out["pods without start and end, over"] += 1
        else:
            tasks.append((where, pod))
    servers = dict[str, ClusterServer]()
    for where, node in nodes:
        name = node.metadata.name
        if name in servers:
            raise _error(path, f"{where}.metadata.name: a second node {quoted(name)}; allowed is one")
        servers[name] = _server(path, where, node, held[name])
    notes = ("what pods of the nodes themselves hold (DaemonSets) is taken off",) if any(held.values()) else ()
    return Imported(tuple(servers.values()), tuple(_tasks(path, tasks, nodes)), notes, len(items), left_out)


def _error(path: Path, problem: str) -> ScenarioError:
    return ScenarioError(str(path), None, None, problem)


def _items(path: Path) -> list[tuple[str, Any]]:
    """Kind and object. Raises ScenarioError."""
    text = read_text(path, _MOST_BYTES)
    try:
        whole = from_json(text)
    except ValueError as error:
        found = re.fullmatch(r"(.*) at line ([0-9]+) column ([0-9]+)", str(error))
        place = (int(found[2]), max(1, int(found[3]))) if found else (1, 1)
        raise ScenarioError(str(path), *place, f"invalid JSON: {found[1] if found else error}") from None
    if not isinstance(whole, dict) or not isinstance(items := whole.get("items"), list):
        allowed = "a list of nodes and pods, as kubectl get nodes,pods -o json prints it"
        raise _error(path, f"no 'items'; allowed is {allowed}")
    of_all = str(whole.get("kind")).removesuffix("List")
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            raise _error(path, wrong(f"items[{number}]", item, "a node or a pod"))
    return [(str(item.get("kind") or of_all), item) for item in items]


def _read(path: Path, where: str, item: object, model: type[_P]) -> _P:
    try:
        return model.model_validate(item)
    except ValidationError as error:
        said = explained(error)
        rest = said.removeprefix("the file")
        raise _error(path, where + (f".{said}" if rest == said else rest)) from None


def _gpus(path: Path, where: str, found: Mapping[str, Fraction]) -> int:
    for name in _GPUS:
        if amount := found.get(name):
            if amount.denominator != 1 or amount > MOST_GPUS:
                raise _error(path, wrong(f"{where}.{name}", str(amount), f"a whole number, 0 .. {MOST_GPUS}"))
            return int(amount)
    return 0


def _server(path: Path, where: str, node: _Node, held: Sequence[tuple[str, _Pod]]) -> ClusterServer:
    status = node.status
    capacity = status.capacity or status.allocatable
    given = status.allocatable or capacity
    gpus = _gpus(path, f"{where}.status.capacity", capacity)
    usable = min(gpus, _gpus(path, f"{where}.status.allocatable", given))
    kind = next((node.metadata.labels[label] for label in _TYPE_LABELS if label in node.metadata.labels), _UNTYPED)
    server = ClusterServer(
        node.metadata.name,
        (_type(path, f"{where}.metadata.labels", kind),) * gpus if gpus else (),
        frozenset(range(gpus - usable)),
        _amount(path, f"{where}.status.allocatable.cpu", given.get("cpu", Fraction(0)) * 1000, floor),
        _amount(path, f"{where}.status.allocatable.memory", given.get("memory", Fraction(0)) / 2**20, floor),
        0.0,
        None,
    )
    server = _as_annotated(path, where, node, server, gpus - usable)
    for place, pod in held:
        needs = _needs(path, place, pod)
        free = [gpu for gpu in range(gpus) if gpu not in server.busy]
        cpus, memory = max(0, server.cpus - needs.cpus), max(0, server.memory - needs.memory)
        server = replace(server, busy=server.busy | set(free[: needs.gpus]), cpus=cpus, memory=memory)
    return server


def _as_annotated(path: Path, where: str, node: _Node, server: ClusterServer, busy: int) -> ClusterServer:
    """With what an annotation says beyond Kubernetes, if it speaks of as many GPUs. Raises ScenarioError."""
    text = node.metadata.annotations.get(_SERVER)
    if text is None:
        return server
    place = f"{where}.metadata.annotations.{_SERVER}"
    try:
        written = ServerTemplate.model_validate_json(text)
    except ValidationError as error:
        raise _error(path, f"{place}: {explained(error)}") from None
    gpus = len(server.types)
    if written.gpus != gpus or (gpus and written.type is None):
        return server
    types = [written.type or ""] * gpus
    for index, kind in written.types.items():
        if int(index) >= gpus:
            raise _error(path, f"{place}: types: there is no GPU {index}")
        types[int(index)] = kind
    taken = frozenset(written.busy) if len(set(written.busy)) == busy and max(written.busy, default=0) < gpus else None
    return replace(
        server,
        types=tuple(types),
        busy=server.busy if taken is None else taken,
        standby=written.standby,
        processor=None if written.processor is None else Processor(**written.processor.model_dump()),
    )


def _amount(path: Path, where: str, found: Fraction, cut: Any) -> int:
    amount = int(cut(found))
    if amount > 10**9:
        raise _error(path, f"{where}: found {amount:,}; allowed are 1,000,000,000 (thousandths of a processor, MiB)")
    return amount


def _type(path: Path, where: str, kind: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", kind):
        raise _error(path, wrong(where, kind, "the name of a type of GPU (letters, digits, '_', '.', '-')"))
    return kind


def _tasks(path: Path, pods: Sequence[tuple[str, _Pod]], nodes: Sequence[tuple[str, _Node]]) -> Iterator[ClusterTask]:
    """In the order in which they came. Raises ScenarioError."""
    times = [each.lastHeartbeatTime for _, node in nodes for each in node.status.conditions]
    created = [pod.metadata.creationTimestamp for _, pod in pods]
    times += created
    times += [time for _, pod in pods for time in (pod.status.startTime, pod.status.finished)]
    latest = max((time for time in times if time is not None), default=0)
    first = min((time for time in created if time is not None), default=0)
    names = Counter(pod.metadata.name for _, pod in pods)
    found = dict[str, ClusterTask]()
    for where, pod in pods:
        name = pod.metadata.name
        if names[name] > 1:
            name = f"{pod.metadata.namespace or 'default'}/{name}"
        if name in found:
            raise _error(path, f"{where}.metadata.name: a second pod {quoted(name)}; allowed is one")
        lasts, began = None, pod.status.startTime
        if began is not None and pod.status.phase != "Pending":
            ended = pod.status.finished if pod.status.phase in _OVER else latest
            lasts = float(max(0, (ended or latest) - began)) or None
        at = pod.metadata.creationTimestamp
        found[name] = ClusterTask(name, _needs(path, where, pod), float(0 if at is None else at - first), lasts)
    yield from sorted(found.values(), key=lambda task: task.at)


def _needs(path: Path, where: str, pod: _Pod) -> TaskNeeds:
    spec, annotations = pod.spec, pod.metadata.annotations
    beside = defaultdict[str, Fraction](Fraction)  # containers that run at the same time
    most = dict[str, Fraction]()
    for container in spec.initContainers:
        for name, amount in container.needs.items():
            if container.restartPolicy == "Always":
                beside[name] += amount
            most[name] = max(most.get(name, Fraction(0)), amount)
    for container in spec.containers:
        for name, amount in container.needs.items():
            beside[name] += amount
    whole = {name: max(beside[name], most.get(name, Fraction(0))) for name in (*beside, *most)}
    for name, amount in spec.overhead.items():
        whole[name] = whole.get(name, Fraction(0)) + amount
    count, milli = annotations.get(_GPUS[-1]), annotations.get(_SHARE)
    place = f"{where}.metadata.annotations"
    if count is not None and not whole.get(_GPUS[0]):
        whole[_GPUS[0]] = Fraction(_whole(path, f"{place}.{_GPUS[-1]}", count, MOST_GPUS))
    gpus, share = _gpus(path, f"{where}.spec.containers", whole), WHOLE
    if milli is not None:
        share = _whole(path, f"{place}.{_SHARE}", milli, WHOLE)
        gpus = max(gpus, min(1, share))
        if gpus > 1 or not share:
            share = WHOLE  # several GPUs are whole ones
    return TaskNeeds(
        gpus,
        share if gpus else WHOLE,
        _amount(path, f"{where}.spec.containers: cpu", whole.get("cpu", Fraction(0)) * 1000, ceil),
        _amount(path, f"{where}.spec.containers: memory", whole.get("memory", Fraction(0)) / 2**20, ceil),
        _types(path, where, pod) if gpus else (),
    )


def _whole(path: Path, where: str, text: str, most: int) -> int:
    if not re.fullmatch("[0-9]{1,6}", text, re.ASCII) or int(text) > most:
        raise _error(path, wrong(where, text, f"a whole number, 0 .. {most}"))
    return int(text)


def _types(path: Path, where: str, pod: _Pod) -> tuple[str, ...]:
    """Those that it asks for, none for any."""
    found = {pod.spec.nodeSelector[label] for label in _TYPE_LABELS if label in pod.spec.nodeSelector}
    found |= {kind for kind in pod.metadata.annotations.get(_TYPE_LABELS[1], "").split("|") if kind}
    terms = pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
    of_terms = [
        {v for each in term.matchExpressions if each.operator == "In" and each.key in _TYPE_LABELS for v in each.values}
        for term in terms
    ]
    if of_terms and all(of_terms):  # any of the terms will do
        found |= set().union(*of_terms)
    return tuple(sorted(_type(path, f"{where}.spec", kind) for kind in found))


def kwok_nodes(cluster: GpuCluster, path: Path) -> str:
    """The servers as nodes for KWOK, a JSON List that `kubectl apply -f` takes. Raises ScenarioError for the file at
    `path` where Kubernetes can't have such a name."""
    return json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [_kwok(each, path) for each in cluster.servers]}, indent=1
    )


def _kwok(server: ClusterServer, path: Path) -> dict[str, Any]:
    if len(server.name) > 253 or not re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", server.name):
        allowed = "lower-case letters, digits, '-' and '.' as the name of a node"
        raise _error(path, f"server {quoted(server.name)}: Kubernetes allows {allowed}")
    entry = server_entry(server)
    kind = entry.get("type", "")
    if kind and not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", kind):
        raise _error(path, f"type {quoted(kind)}: Kubernetes allows 63 letters, digits, '-', '_' and '.' in a label")
    gpus = len(server.types)
    amounts = {"cpu": f"{server.cpus}m", "memory": f"{server.memory}Mi", "pods": "110"}
    labels = {
        "kubernetes.io/hostname": server.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/role": "agent",
        "node-role.kubernetes.io/agent": "",
        "type": "kwok",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": server.name,
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0",
                "kwok.x-k8s.io/node": "fake",
                _SERVER: json.dumps(entry),
            },
            "labels": labels | ({_PRODUCT: kind} if kind else {}),
        },
        "spec": {"taints": [{"effect": "NoSchedule", "key": "kwok.x-k8s.io/node", "value": "fake"}]},
        "status": {
            "capacity": amounts | ({_GPUS[0]: str(gpus)} if gpus else {}),
            "allocatable": amounts | ({_GPUS[0]: str(gpus - len(server.busy))} if gpus else {}),
        },
    }
