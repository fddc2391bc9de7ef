"""What sacct and kubectl print becomes a cluster; what is wrong with it is one line: where, what was found, what is
allowed. Nodes that are written for KWOK are the same servers when they are read."""

import json
import string
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringhil.emulator.cluster import load_cluster
from ringhil.emulator.cluster.cluster import (
    WHOLE,
    ClusterServer,
    ClusterTask,
    GpuCluster,
    Processor,
    TaskNeeds,
    TypePower,
)
from ringhil.emulator.cluster.convert import Imported, imported_texts
from ringhil.emulator.cluster.kubernetes import imported_kubernetes, kwok_nodes
from ringhil.emulator.cluster.moments import seconds_of
from ringhil.emulator.cluster.play import play
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.cluster.slurm import imported_sacct
from ringhil.emulator.scenario import ScenarioError

HEADS = "JobID|State|Submit|Start|End|ElapsedRaw|ReqTRES|AllocTRES|NNodes|NodeList"
DAY = "2024-05-01T"
TRES = "cpu=8,gres/gpu=4,mem=4G|cpu=8,gres/gpu:a100=4,mem=4G"
JOB = f"1|COMPLETED|{DAY}08:00:00|{DAY}08:00:10|{DAY}08:01:50|100|{TRES}|1|g1"
DONE = {"state": {"terminated": {"finishedAt": "2024-05-01T08:02:00Z"}}}
NODE: dict[str, Any] = {
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"nvidia.com/gpu.product": "Tesla-T4"}},
    "status": {
        "capacity": {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8"},
        "allocatable": {"cpu": "63500m", "memory": "1048576Ki", "nvidia.com/gpu": "6"},
    },
}
POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "p1", "namespace": "team", "creationTimestamp": "2024-05-01T08:00:00Z"},
    "spec": {"containers": [{"resources": {"requests": {"cpu": "500m", "memory": "1G", "nvidia.com/gpu": "2"}}}]},
    "status": {"phase": "Succeeded", "startTime": "2024-05-01T08:01:00Z", "containerStatuses": [DONE]},
}
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def sacct(folder: Path, *rows: str, heads: str = HEADS) -> Imported:
    (folder / "dump").write_text("\n".join([heads, *rows, ""]))
    return imported_sacct(folder / "dump")


def kubectl(folder: Path, *items: object) -> Imported:
    (folder / "list").write_text(json.dumps({"kind": "List", "items": items}))
    return imported_kubernetes(folder / "list")


def but(item: dict[str, Any], place: str, value: object) -> dict[str, Any]:
    """An object of Kubernetes with another value in one place."""
    changed: dict[str, Any] = json.loads(json.dumps(item))
    *above, last = place.split("/")
    here = changed
    for step in above:
        here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
    here[last] = value
    return changed


def loaded(found: Imported, folder: Path) -> GpuCluster:
    """What the written files say."""
    text, tasks = imported_texts(found, folder / "source", "c.pods.csv")
    (folder / "c.yaml").write_text(text)
    if tasks is not None:
        (folder / "c.pods.csv").write_text(tasks)
    return load_cluster(folder / "c.yaml")


def times(found: Imported) -> dict[str, tuple[float, float | None]]:
    return {task.name: (task.at, task.lasts) for task in found.tasks}


def test_a_job_is_a_task_and_its_node_a_server_with_what_was_used_at_once(tmp_path: Path) -> None:
    other = f"2|COMPLETED|{DAY}08:00:00|{DAY}08:00:20|{DAY}08:00:50|30||cpu=2,gres/gpu:a100=1,mem=500M|1|g1"
    later = f"3|COMPLETED|{DAY}08:00:00|{DAY}08:01:50|{DAY}08:02:00|10||cpu=1,gres/gpu:a100=4|1|g1"
    found = sacct(tmp_path, JOB, other, later)
    assert times(found) == {"1": (0, 100), "2": (0, 30), "3": (0, 10)}
    assert found.tasks[0].needs == TaskNeeds(4, WHOLE, 8000, 4096, ())
    assert found.servers == (ClusterServer("g1", ("a100",) * 5, frozenset(), 10_000, 4596, 0.0, None),)
    assert found.said() == ""
    assert loaded(found, tmp_path).servers == found.servers


@pytest.mark.parametrize(
    ("asked", "used", "types"),
    [
        ("gres/gpu:a100=2", "gres/gpu=2", ("a100",) * 2),
        ("gres/gpu:a100=2", "gres/gpu=4", ("a100",) * 4),  # it was given more
        ("gres/gpu:a100=1,gres/gpu:t4=1", "gres/gpu=2", ("a100", "t4")),
        ("gres/gpu=2", "gres/gpu:t4=2", ("t4",) * 2),
        ("gres/gpu=2", "gres/gpu=2", ("GPU",) * 2),
    ],
)
def test_each_job_fits_the_node_that_it_had(asked: str, used: str, types: tuple[str, ...], tmp_path: Path) -> None:
    """Also where only what was asked for says of which type the GPUs are."""
    found = sacct(tmp_path, JOB.replace(TRES, f"{asked}|{used}"))
    assert found.servers[0].types == types
    (task,) = play(loaded(found, tmp_path), POLICIES["pack-first"], 0).tasks.values()
    assert task.began is not None


def test_rows_that_are_no_tasks_are_counted(tmp_path: Path) -> None:
    waits = f"4_[1-9%2]|PENDING|{DAY}08:00:00|Unknown|Unknown|0|gres/gpu=1||1|None assigned"
    step = f"1.batch|COMPLETED|{DAY}08:00:10|{DAY}08:00:10|{DAY}08:01:50|100||gres/gpu=4|1|g1"
    again = JOB.replace("|100|", "|50|")
    nothing = f"7|COMPLETED|{DAY}08:00:00|{DAY}08:00:10|{DAY}08:01:50|100||billing=1|1|g1"
    found = sacct(tmp_path, JOB, step, waits, again, nothing)
    assert times(found) == {"1": (0, 50)}
    assert found.said() == (
        "left out 4 of 5 entries (steps: 1; arrays that wait: 1; earlier tries: 1; without resources: 1)"
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (f"2|PENDING|{DAY}08:00:05|Unknown|Unknown|0|gres/gpu=1||1|None assigned", (5, None)),
        (f"2|PENDING|{DAY}08:00:05|{DAY}08:01:00|Unknown|0|gres/gpu=1||1|None assigned", (5, None)),  # as planned
        (f"2|CANCELLED by 9|{DAY}08:00:05|None|{DAY}08:00:09|0|gres/gpu=1||1|None assigned", (5, None)),
        (f"2|RUNNING|{DAY}08:00:05|{DAY}08:00:10|Unknown|600||gres/gpu=1|1|g1", (5, 600)),
        (f"2|RUNNING|{DAY}08:00:05|{DAY}08:00:10|Unknown|||gres/gpu=1|1|g1", (5, 100)),
        (f"2|COMPLETED|{DAY}08:00:05|{DAY}08:00:10|{DAY}08:00:25|||gres/gpu=1|1|g1", (5, 15)),
    ],
)
def test_when_a_job_ends(row: str, expected: tuple[float, float | None], tmp_path: Path) -> None:
    assert times(sacct(tmp_path, JOB, row))["2"] == expected


def test_days_and_hours_of_elapsed_are_read(tmp_path: Path) -> None:
    row = JOB.replace("|100|", "|1-02:03:04|")
    assert times(sacct(tmp_path, row, heads=HEADS.replace("ElapsedRaw", "Elapsed"))) == {"1": (0, 93784)}


moments = st.datetimes(timezones=st.none() | st.sampled_from([UTC, timezone(timedelta(hours=-9.5))]))


@QUICK
@given(moment=moments)
def test_times_of_day_are_seconds(moment: datetime) -> None:
    """Python's own arithmetic says the same."""
    there = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    whole = (there.replace(microsecond=0) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    assert seconds_of(moment.isoformat()) == (whole, moment.tzinfo is not None)


def test_a_job_over_several_nodes_is_a_gang(tmp_path: Path) -> None:
    row = f"5|COMPLETED|{DAY}08:00:00|{DAY}08:00:00|{DAY}08:00:09|9|gres/gpu:t4=5|cpu=3,gres/gpu:t4=5|2|g[09-10]"
    found = sacct(tmp_path, row)
    needs = TaskNeeds(3, WHOLE, 1500, 0, ("t4",))
    assert found.tasks == (ClusterTask("5", needs, 0.0, 9.0, 2, spread=True),)
    assert [(server.name, len(server.types)) for server in found.servers] == [("g09", 3), ("g10", 3)]
    assert loaded(found, tmp_path).tasks == found.tasks


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("|NodeList", "|Nodes", "dump:1:1: no column 'NodeList'; found are JobID, State, Submit"),
        ("ReqTRES|AllocTRES", "Req|Alloc", "dump:1:1: no column of AllocTRES, ReqTRES; found are"),
        ("1|COMPLETED", "a b|COMPLETED", "dump:2:1: JobID: found 'a b'; allowed is a name"),
        ("|1|g1", "|1|g1|", "dump:2:1: 11 cells; allowed are 10, as in the first line"),
        (f"{DAY}08:00:10", "yesterday", "dump:2:1: Start: found 'yesterday'; allowed is a time such as 2024-05-01T1"),
        ("|100|", "|-1|", "dump:2:1: ElapsedRaw: found '-1'; allowed is a whole number, 0 .. 1000000000"),
        ("mem=4G|1", "mem=1e400|1", "dump:2:1: AllocTRES: found 'mem=1e400'; allowed is a number, such as cpu=8"),
        ("a100=4", "a100=-4", "dump:2:1: AllocTRES: found 'gres/gpu:a100=-4'; allowed is a number"),
        ("a100=4", "a100=99", "dump:2:1: AllocTRES: 99 GPUs on 1 nodes; allowed are 64 on each"),
        ("cpu=8,gres/gpu:", f"cpu={'9' * 12},gres/gpu:", "dump:2:1: AllocTRES: found 'cpu=999999999999'; allowed"),
        ("|1|g1", "|1|g[1-999999999]", "dump:2:1: NodeList: found 'g[1-999999999]'; allowed are names such as"),
        ("|1|g1", "|1|g[1", "dump:2:1: NodeList: found 'g[1'; allowed are names such as gpu[01-03,7],login"),
        ("|1|g1", "|1|g[1-99][1-99][1-99]", "dump:2:1: NodeList: found 'g[1-99][1-99][1-99]'; allowed are names"),
        ("|1|g1", "|99999|", "dump:2:1: NNodes: found '99999'; allowed is a whole number, 0 .. 10000"),
        (JOB, "", "dump:1:1: no jobs; needed is at least one row of a job"),
    ],
)
def test_what_is_wrong_with_a_dump_is_one_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as refused:
        sacct(tmp_path, *f"{HEADS}\n{JOB}".replace(old, new, 1).splitlines()[1:], heads=HEADS.replace(old, new, 1))
    assert str(refused.value).startswith(f"{tmp_path}/{said}")
    assert "\n" not in str(refused.value)


def test_nodes_are_servers_and_pods_are_tasks(tmp_path: Path) -> None:
    """GPUs that aren't allocatable are taken."""
    found = kubectl(tmp_path, NODE, POD)
    assert found.servers == (ClusterServer("n1", ("Tesla-T4",) * 8, frozenset({0, 1}), 63_500, 1024, 0.0, None),)
    assert found.tasks[0].needs == TaskNeeds(2, WHOLE, 500, 954, ())
    assert times(found) == {"p1": (0, 60)}
    again = loaded(found, tmp_path)
    assert (again.servers, again.tasks) == (found.servers, found.tasks)
    assert again.power["Tesla-T4"] == TypePower(10, 70, 10, 10)


def test_when_a_pod_ends(tmp_path: Path) -> None:
    """One that runs ends with the list; one that waits has no duration; names in two namespaces have both."""
    runs = but(but(POD, "status/phase", "Running"), "metadata/name", "runs")
    waits = but(but(POD, "status", {"phase": "Pending"}), "metadata/namespace", "other")
    gone = but(but(POD, "status", {"phase": "Failed"}), "metadata/name", "evicted")
    beat = but(NODE, "status/conditions", [{"lastHeartbeatTime": "2024-05-01T08:05:00Z"}])
    found = kubectl(tmp_path, beat, POD, runs, waits, gone, {"kind": "Service"})
    assert times(found) == {"team/p1": (0, 60), "runs": (0, 240), "other/p1": (0, None)}
    assert found.said() == ("left out 2 of 6 entries (neither nodes nor pods: 1; pods without start and end, over: 1)")


def test_pods_of_a_node_itself_take_off_what_it_has(tmp_path: Path) -> None:
    stays = but(but(POD, "status/phase", "Running"), "metadata/ownerReferences", [{"kind": "DaemonSet"}])
    found = kubectl(tmp_path, NODE, but(stays, "spec/nodeName", "n1"), but(POD, "metadata/name", "p2"))
    (server,) = found.servers
    assert (server.busy, server.cpus, server.memory) == (frozenset(range(4)), 63_000, 70)
    assert list(times(found)) == ["p2"]


def test_the_largest_need_of_containers_counts(tmp_path: Path) -> None:
    init = [
        {"resources": {"requests": {"cpu": "3"}}},
        {"restartPolicy": "Always", "resources": POD["spec"]["containers"][0]["resources"]},
    ]
    (task,) = kubectl(tmp_path, NODE, but(POD, "spec/initContainers", init)).tasks
    assert (task.needs.cpus, task.needs.gpus) == (3000, 4)


def test_a_pod_says_its_share_and_its_types(tmp_path: Path) -> None:
    notes = {"alibabacloud.com/gpu-milli": "460", "alibabacloud.com/gpu-card-model": "V100M16|V100M32"}
    pod = but(but(POD, "metadata/annotations", notes), "spec/containers", [])
    found = kubectl(tmp_path, NODE, pod)
    (task,) = found.tasks
    assert loaded(found, tmp_path).tasks == found.tasks
    assert task.needs == TaskNeeds(1, 460, 0, 0, ("V100M16", "V100M32"))
    term = {"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": ["A100", "T4"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    (task,) = kubectl(tmp_path, NODE, but(POD, "spec/affinity", affinity)).tasks
    assert task.needs.types == ("A100", "T4")
    (task,) = kubectl(tmp_path, NODE, but(POD, "spec/nodeSelector", {"nvidia.com/gpu.product": "T4"})).tasks
    assert task.needs.types == ("T4",)


CPU, REQUESTS = "status/allocatable/cpu", "spec/containers/0/resources/requests"


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([but(NODE, CPU, "-1")], "items[0].status.allocatable.cpu: found '-1'; allowed is a quantity from 0 on, such"),
        ([but(NODE, CPU, "1e400")], "items[0].status.allocatable.cpu: found '1e400'; allowed is a quantity"),
        ([but(NODE, CPU, "9" * 5000)], "items[0].status.allocatable.cpu: found '9999"),
        ([but(NODE, CPU, "9E")], "items[0].status.allocatable.cpu: found '9E'; allowed is a quantity"),
        ([but(NODE, CPU, True)], "items[0].status.allocatable.cpu: found True; allowed is a quantity"),
        ([but(NODE, CPU, "9T")], "items[0].status.allocatable.cpu: found 9,000,000,000,000,000; allowed are 1,000"),
        ([but(NODE, "metadata/name", "a\nb")], "items[0].metadata.name: found 'a\\nb'; allowed is"),
        ([NODE, NODE], "items[1].metadata.name: a second node 'n1'; allowed is one"),
        ([NODE, POD, POD], "items[2].metadata.name: a second pod 'team/p1'; allowed is one"),
        ([NODE, but(POD, "metadata/creationTimestamp", "noon")], "items[1].metadata.creationTimestamp: found 'noon'"),
        ([NODE, but(POD, REQUESTS, {"nvidia.com/gpu": "1.5"})], "items[1].spec.containers.nvidia.com/gpu: found '3/2"),
        ([NODE, but(POD, REQUESTS, {"nvidia.com/gpu": 65})], "items[1].spec.containers.nvidia.com/gpu: found '65'; al"),
        ([NODE, but(POD, "metadata/annotations", {"alibabacloud.com/gpu-milli": "1001"})], "items[1].metadata.annotat"),
        ([NODE, but(POD, "metadata", [])], "items[1].metadata: found []; allowed is"),
        ([NODE, {"kind": "Pod"}], "items[1]: found ['kind']; needed is 'metadata' as well"),
        ([NODE, 7], "items[1]: found 7; allowed is a node or a pod"),
        ([but(NODE, "metadata/annotations", {"ringhil/server": "{"})], "items[0].metadata.annotations.ringhil/server"),
        ([POD], "no server with a GPU; needed is at least one"),
    ],
)
def test_what_is_wrong_with_a_list_is_one_line(items: list[Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as refused:
        imported_texts(kubectl(tmp_path, *items), tmp_path / "list", "x")
    assert str(refused.value).startswith(f"{tmp_path}/list: {said}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"items":\n x}', "list:2:2: invalid JSON: expected value"),
        ("[" * 10**5, "list:1:202: invalid JSON: recursion limit exceeded"),
        ('{"items": ' + "9" * 5000 + "}", "list:1:4312: invalid JSON: number out of range"),
        ("[]", "list: no 'items'; allowed is a list of nodes and pods, as kubectl get nodes,pods -o json prints it"),
    ],
)
def test_what_is_no_list_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(text)
    with pytest.raises(ScenarioError) as refused:
        imported_kubernetes(tmp_path / "list")
    assert str(refused.value).startswith(f"{tmp_path}/{said}")


def read_or_refused(read: Callable[[Path], Imported], folder: Path, text: str) -> None:
    """Either what is read can be loaded once it is written, or one line says what is wrong."""
    (folder / "source").write_text(text)
    try:
        found = read(folder / "source")
        texts = imported_texts(found, folder / "source", "x")
    except ScenarioError as error:
        said = str(error).splitlines()
        assert len(said) == 1
    else:
        again = loaded(found, folder)
        assert again.servers == found.servers
        assert texts[1] is None or again.tasks == found.tasks


wild = st.sampled_from(
    ["", "Unknown", "1e400", "-1", "9" * 30, "a\u2028b", "g[1-3]", "1:2:3", "0", "2024-05-01T08:00:00", "PENDING"]
)
tres = st.sampled_from(["", "cpu=1", "gres/gpu=2", "gres/gpu:x=3", "mem=4G", "gres/gpu:=1", "cpu=inf"])
cells = [JOB.split("|"), f"2|RUNNING|{DAY}08:00:00|{DAY}08:00:10|Unknown||cpu=1|cpu=1,gres/gpu=1|3|a[1-2],b".split("|")]


@QUICK
@given(data=st.data())
def test_a_changed_dump_is_read_or_refused_in_one_line(data: st.DataObject, tmp_path: Path) -> None:
    rows = [list(data.draw(st.sampled_from(cells))) for _ in range(data.draw(st.integers(1, 4)))]
    for number, row in enumerate(rows):
        row[0] = str(number)
        for place in data.draw(st.sets(st.integers(0, len(row) - 1), max_size=2)):
            row[place] = data.draw(wild | tres | st.text(max_size=8))
    read_or_refused(imported_sacct, tmp_path, "\n".join([HEADS, *map("|".join, rows)]))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6) | wild,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["cpu", "name"]), inner, max_size=2),
    max_leaves=4,
)
places = st.sampled_from(
    "kind metadata metadata/name metadata/labels metadata/annotations metadata/creationTimestamp spec spec/containers "
    f"status status/phase status/startTime status/capacity {CPU} {REQUESTS}".split()
)


@QUICK
@given(data=st.data())
def test_a_changed_list_is_read_or_refused_in_one_line(data: st.DataObject, tmp_path: Path) -> None:
    items = [NODE, POD]
    for _ in range(data.draw(st.integers(1, 2))):
        which, place = data.draw(st.integers(0, 1)), data.draw(places)
        try:
            items[which] = but(items[which], place, data.draw(values))
        except (TypeError, AttributeError, LookupError):
            continue  # an earlier change took that place away
    read_or_refused(imported_kubernetes, tmp_path, json.dumps({"items": items}))


names = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8)
watts = st.floats(0, 1000)


@st.composite
def servers(draw: st.DrawFn) -> tuple[ClusterServer, ...]:
    found = []
    for number, name in enumerate(draw(st.lists(names, min_size=1, max_size=4))):
        types = tuple(draw(st.lists(st.sampled_from(["T4", "H200", "x.9"]), min_size=number == 0, max_size=9)))
        busy = draw(st.frozensets(st.integers(0, len(types) - 1))) if types else frozenset[int]()
        processor = draw(st.none() | st.builds(Processor, watts, watts, st.integers(1, 128)))
        cpus, memory = draw(st.integers(0, 10**8)), draw(st.integers(0, 10**9))
        found.append(ClusterServer(f"{name}-{number}", types, busy, cpus, memory, draw(watts), processor))
    return tuple(found)


@settings(QUICK, max_examples=25)
@given(given_servers=servers())
def test_nodes_for_kwok_are_read_back_as_the_same_servers(
    given_servers: tuple[ClusterServer, ...], tmp_path: Path
) -> None:
    cluster = GpuCluster("c", 0, None, {}, given_servers, (), None)
    (tmp_path / "nodes").write_text(kwok_nodes(cluster, Path("c.yaml")))
    assert loaded(imported_kubernetes(tmp_path / "nodes"), tmp_path).servers == given_servers


def test_nodes_for_kwok_are_marked_as_its_own(tmp_path: Path) -> None:
    server = ClusterServer("n1", ("T4", "T4"), frozenset({1}), 1500, 64, 0.0, None)
    (node,) = json.loads(kwok_nodes(GpuCluster("c", 0, None, {}, (server,), (), None), tmp_path))["items"]
    assert node["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake"
    assert node["metadata"]["labels"].items() >= {"type": "kwok", "nvidia.com/gpu.product": "T4"}.items()
    assert node["spec"]["taints"] == [{"effect": "NoSchedule", "key": "kwok.x-k8s.io/node", "value": "fake"}]
    assert node["status"]["capacity"] == {"cpu": "1500m", "memory": "64Mi", "pods": "110", "nvidia.com/gpu": "2"}
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"


@pytest.mark.parametrize(("name", "kind", "said"), [("Rack_1", "T4", "server 'Rack_1'"), ("r", "T4-", "type 'T4-'")])
def test_names_that_kubernetes_cannot_have_are_refused(name: str, kind: str, said: str) -> None:
    server = ClusterServer(name, (kind,), frozenset(), 1, 1, 0.0, None)
    with pytest.raises(ScenarioError, match=f"^c.yaml: {said}: Kubernetes allows"):
        kwok_nodes(GpuCluster("c", 0, None, {}, (server,), (), None), Path("c.yaml"))
