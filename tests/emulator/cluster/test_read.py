"""Cluster files become clusters; what is wrong with one is one line: where, what was found, what is allowed."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ringhil.emulator.cluster import cluster_schema, load_cluster
from ringhil.emulator.cluster.cluster import WHOLE, TaskNeeds, TypePower
from ringhil.emulator.scenario import ScenarioError
from ringhil.emulator.scenario.yaml.parse import parse

GOOD = """cluster:
  power: {T4: {idle: 10, task: 70, low: 4}, H200: {idle: 75, task: 700}}
  servers:
    - {name: n1, gpus: 8, type: T4, standby: 25, busy: [0, 1], cpus: 96, memory: 1000}
    - {name: n2, gpus: 4, type: H200, types: {3: T4}, processor: {idle: 20, task: 165, cores: 48}}
    - {name: rack, count: 3, gpus: 2, type: T4}
tasks:
  - {name: t1, gpus: 3, at: 1, for: 100}
  - {name: t2, gpus: 0.25, cpus: 1.5, memory: 7, for: 0.5, types: [T4, H200]}
"""
FAILS = f"""until: 200
{GOOD}faults:
  - {{at: 5, server: n1, gpu: a.2}}
  - {{at: 6, server: n2, link: a.2-a.3, for: 9}}
  - {{at: 7, server: rack.0}}
failing: {{gpus: 2.5}}
expect:
  - {{policy: fgd, energy: 1.5, waiting: {{median: 0, p99: 9}}, lost: 3, awake: 2, wake_ups: 4}}
  - {{policy: pwr, unplaced: 0, fragments: 40}}
"""
NODES = "sn,cpu_milli,memory_mib,gpu,model\nx,4000,100,2,T4\ny,8000,200,1,T4\n"
PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,scheduled_time
p,1000,10,1,460,T4|A100,5,30,10
q,2000,10,2,1000,,6,,
"""
LISTS = """cluster:
  power: {T4: {idle: 10, task: 70}, A100: {idle: 50, task: 400}}
  nodes: {list: nodes.csv, standby: 9, processors: {T4: {idle: 1, task: 2, cores: 3}}}
  saturate: {load: 1.5, arrivals: arrivals.csv, column: seed7, ties: ties.csv}
pods: pods.csv
"""


def written(folder: Path, text: str = GOOD, **lists: str) -> Path:
    """A cluster file, with lists beside it."""
    given = {"nodes": NODES, "pods": PODS, "arrivals": "seed7\n1\n0\n1\n", "ties": "node,seed7\nx,5\ny,3\n", **lists}
    for name, content in given.items():
        (folder / f"{name}.csv").write_text(content)
    (folder / "c.yaml").write_text(text)
    return folder / "c.yaml"


def test_servers_tasks_and_power_are_what_the_file_says(tmp_path: Path) -> None:
    found = load_cluster(written(tmp_path))
    assert (found.name, found.seed, found.until, found.saturation, found.gpus) == ("c", 0, None, None, 18)
    assert found.power == {"T4": TypePower(10, 70, 4, 4), "H200": TypePower(75, 700, 75, 75)}
    first, second, *rack = found.servers
    assert (first.busy, first.cpus, first.memory, first.standby) == ({0, 1}, 96_000, 1000, 25)
    assert second.types == ("H200", "H200", "H200", "T4")
    assert second.processor is not None
    assert second.processor.cores == 48
    assert [each.name for each in rack] == ["rack.0", "rack.1", "rack.2"]
    one, other = found.tasks
    assert (one.at, one.lasts, one.needs) == (1, 100, TaskNeeds(3, WHOLE, 0, 0, ()))
    assert (other.at, other.lasts, other.needs) == (0, 0.5, TaskNeeds(1, 250, 1500, 7, ("H200", "T4")))


def test_a_task_may_be_a_gang(tmp_path: Path) -> None:
    gang = GOOD.replace("gpus: 3, at: 1", "gpus: 2, members: 4, spread: true, at: 1")
    found = load_cluster(written(tmp_path, gang)).tasks[0]
    assert (found.members, found.spread, found.needs.gpus, found.asked) == (4, True, 2, 8 * WHOLE)
    rows = PODS.splitlines()
    listed = "\n".join([rows[0] + ",members", rows[1] + ",", rows[2] + ",3", ""])
    file = written(tmp_path, LISTS.replace("  saturate", "  # saturate"), pods=listed)
    assert [(each.members, each.spread) for each in load_cluster(file).tasks] == [(1, False), (3, True)]


def test_lists_give_servers_tasks_and_orders(tmp_path: Path) -> None:
    """A pod that never began has no duration."""
    found = load_cluster(written(tmp_path, LISTS))
    assert [(each.name, each.types, each.cpus, each.standby) for each in found.servers] == [
        ("x", ("T4", "T4"), 4000, 9),
        ("y", ("T4",), 8000, 9),
    ]
    assert [(each.name, each.at, each.lasts) for each in found.tasks] == [("p", 5, 20), ("q", 6, None)]
    assert found.tasks[0].needs == TaskNeeds(1, 460, 1000, 10, ("A100", "T4"))
    assert found.saturation is not None
    assert (found.saturation.load, found.saturation.arrivals, found.saturation.ties) == (1.5, (1, 0, 1), (5, 3))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("type: H200", "type: H100", "cluster.servers[1].type: unknown type of GPU 'H100'; did you mean 'H200'? allo"),
        ("types: {3: T4}", "types: {4: T4}", "cluster.servers[1].types: there is no GPU 4; allowed is 0 .. 3"),
        ("types: {3: T4}", "types: {x: T4}", "cluster.servers[1].types: key 'x'; allowed is the index of a GPU"),
        ("busy: [0, 1]", "busy: [0, 8]", "cluster.servers[0].busy[1]: there is no GPU 8; allowed is 0 .. 7"),
        ("name: n2", "name: n1", "cluster.servers[1].name: a second server 'n1'; allowed is one"),
        ("name: t2", "name: t1", "tasks[1].name: a second task 't1'; allowed is one"),
        ("count: 3", "count: 0", "cluster.servers[2].count: found 0; allowed is a whole number, 1 .. 100000"),
        ("at: 1", "at: -1", "tasks[0].at: found -1; allowed is a number, 0 .. 1000000000"),
        ("for: 100", "for: 0", "tasks[0].for: found 0; allowed is a number above 0, to 1000000000"),
        ("for: 100", "for: .inf", "tasks[0].for: found inf; allowed is a number above 0, to 1000000000"),
        ("gpus: 3", "gpus: 1.5", "tasks[0].gpus: found 1.5; allowed is 0, 0.001 .. 0.999 in steps of 0.001, or a wh"),
        ("gpus: 3", "gpus: 0.0001", "tasks[0].gpus: found 0.0001; allowed is 0, 0.001 .. 0.999 in steps of 0.001"),
        ("gpus: 3", "gpus: 9", "tasks[0]: 't1' fits on no server, also if all of it were free; allowed is what"),
        ("memory: 7", "memory: 2000000", "tasks[1]: 't2' fits on no server"),
        ("[T4, H200]", "[T5]", "tasks[1].types[0]: unknown type of GPU 'T5'; allowed: T4, H200"),
        ("task: 70", "task: hot", "cluster.power.T4.task: found 'hot'; allowed is a number, 0 .. 1000000"),
        ("idle: 10, ", "idle: 71, ", "cluster.power.T4.idle: found 71; allowed is up to 70, that of 'task'"),
        ("low: 4", "low: 11", "cluster.power.T4.low: found 11; allowed is up to 10, that of 'idle'"),
        ("low: 4", "low: 4, off: 5", "cluster.power.T4.off: found 5; allowed is up to 4, that of 'low'"),
        ("idle: 10, ", "", "cluster.power.T4: key 'idle' is missing; needed is a number, 0 .. 1000000"),
        ("standby", "stand", "cluster.servers[0]: unknown key 'stand'; did you mean 'standby'?"),
        ("tasks:", "until: 1\ntasks:", "tasks[0].at: found 1; allowed is less than 'until', 1"),
        ("tasks:", "pods: pods.csv\ntasks:", "top level: key 'tasks' beside 'pods'; allowed is exactly one of"),
        ("  servers:", "  nodes: {list: nodes.csv}\n  servers:", "cluster: key 'servers' beside 'nodes'; allowed"),
        (", type: H200", "", "cluster.servers[1]: key 'type' is missing; needed is the type of its GPUs"),
        (
            "  - {name: rack, count: 3, gpus: 2, type: T4}\ntasks:",
            "  - {name: rack, gpus: 0}\nfaults: [{server: rack, at: 1}]\ntasks:",
            "faults[0].server: 'rack' has no GPUs; allowed are those with some",
        ),
        ("name: n2", "name: '-'", "cluster.servers[1].name: found '-'; allowed is a name (a letter or digit, then let"),
        ("gpus: 2, type", "gpus: 0, busy: [0], type", "cluster.servers[2].busy[0]: there is no GPU 0; allowed is none"),
        ("tasks:", "server: {}\ntasks:", "top level: unknown key 'server'"),
        ("gpus: 3,", "gpus: 4, members: 5,", "tasks[0].members: 't1' has 5 members; allowed are 3, for which"),
        (
            "gpus: 3,",
            "gpus: 2, members: 6, spread: true,",
            "tasks[0].members: 't1' has 6 members; allowed are 5, one",
        ),
        ("gpus: 3,", "gpus: 3, members: 0,", "tasks[0].members: found 0; allowed is"),
        ("gpus: 3,", "gpus: 3, spread: true,", "tasks[0]: 'spread' without 'members'; needed are both"),
        ("at: 5", "at: 300", "faults[0].at: found 300; allowed is less than 'until', 200"),
        ("server: rack.0", "server: rack", "faults[2].server: unknown server 'rack'; did you mean"),
        ("gpu: a.2", "gpu: a.0", "faults[0]: a GPU that is taken from the start ('busy'); allowed are others"),
        ("a.2-a.3", "a.1-a.3", "faults[1].link: 'a.1-a.3' is no link of a ring of 4 GPUs, clockwise; allowed is a.0-"),
        ("until: 200\n", "", "top level: 'failing' without 'until'; needed are both"),
        ("2.5", "101", "failing.gpus: found 101; allowed is a number above 0, to 100"),
        ("policy: fgd", "policy: fdg", "expect[0].policy: unknown policy 'fdg'; did you mean 'fgd'?"),
        ("lost: 3", "allocated: 5", "expect[0]: 'allocated' is not known of a run over time; allowed: energy"),
        # What any run keeps is no expectation.
        ("fragments: 40", "fragments: 100", "expect[1].fragments: found 100; allowed is a number"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_on_one_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = GOOD if old in GOOD else FAILS
    path = written(tmp_path, text.replace(old, new, 1))
    with pytest.raises(ScenarioError) as refused:
        load_cluster(path)
    place, _, problem = str(refused.value).partition(" ")
    assert place.startswith(f"{path}:")
    assert problem.startswith(said)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "nodes",
            "sn,cpu_milli,gpu,model\n",
            "nodes.csv:1:1: no column 'memory_mib'; found are sn, cpu_milli, gpu, model",
        ),
        (
            "nodes",
            NODES + '"z\n",1,1,1,T4\n',
            "nodes.csv:5:1: sn: found 'z\\n'; allowed is a name (a letter or digit, t",
        ),
        ("nodes", NODES + "z,1,1,1,T5\n", "nodes.csv:4:1: model: unknown type of GPU 'T5'; allowed: T4, A100"),
        ("nodes", NODES + "y,1,1,1,T4\n", "nodes.csv:4:1: sn: a second node 'y'; allowed is one"),
        ("nodes", NODES + "z,1,1,65,T4\n", "nodes.csv:4:1: gpu: found '65'; allowed is a whole number, 0 .. 64"),
        ("nodes", NODES + "z,1,1\n", "nodes.csv:4:1: 3 cells; allowed are 5, as in the first line"),
        ("nodes", NODES.splitlines()[0], "nodes.csv:1:1: no rows; needed is at least one node"),
        (
            "pods",
            PODS + "r,-1,1,1,1,,0,,\n",
            "pods.csv:4:1: cpu_milli: found '-1'; allowed is a whole number, 0 .. 1000000000",
        ),
        ("pods", PODS + "r,1,1,2,500,,0,,\n", "pods.csv:4:1: gpu_milli: found 500 of 2 GPUs; allowed is 1 .. 1000, of"),
        (
            "pods",
            PODS + "r,1,1,1,500,K80,0,,\n",
            "pods.csv:4:1: gpu_spec: unknown type of GPU 'K80'; allowed: T4, A100",
        ),
        (
            "pods",
            PODS + "r,1,1,1,500,,0,3,4\n",
            "pods.csv:4:1: deletion_time: found 3, before 4, when it was scheduled",
        ),
        ("arrivals", "seed7\n2\n", "arrivals.csv:2:1: seed7: found '2'; allowed is a whole number, 0 .. 1"),
        ("arrivals", "seed8\n1\n", "arrivals.csv:1:1: no column 'seed7'; found are seed8"),
        ("ties", "node,seed7\nx,1\n", "ties.csv:1:1: no row for 'y'; needed is one for each server"),
        ("ties", "node,seed7\nz,1\n", "ties.csv:2:1: node: 'z' is no server of the cluster"),
    ],
)
def test_what_is_wrong_with_a_list_is_said_on_one_line(name: str, text: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, LISTS, **{name: text})
    with pytest.raises(ScenarioError) as refused:
        load_cluster(path)
    assert str(refused.value).startswith(f"{tmp_path}/{said}")


EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
VALIDATOR = Draft202012Validator(cluster_schema())


def test_the_schema_accepts_what_loads(tmp_path: Path) -> None:
    Draft202012Validator.check_schema(cluster_schema())
    files = [*EXAMPLES.glob("cluster*.yaml"), EXAMPLES / "openb" / "cluster.yaml", written(tmp_path, LISTS)]
    for file in (*files, written(tmp_path)):
        load_cluster(file)
        VALIDATOR.validate(parse(file.read_text(), str(file)).data)


words = st.sampled_from(["", " ", "0", "-1", ".inf", "x", "T4", "[]", "{}", "null", "servers", "pods", "nodes", "\n"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_file_is_refused_in_one_line_or_valid(data: st.DataObject, tmp_path: Path) -> None:
    text = data.draw(st.sampled_from([GOOD, LISTS, FAILS]))
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    file = written(tmp_path, text[:first] + data.draw(words) + text[min(last, first + 12) :])
    try:
        load_cluster(file)
    except ScenarioError as error:
        said = str(error).splitlines()
        assert len(said) == 1
    else:
        VALIDATOR.validate(parse(file.read_text(), str(file)).data)


cells = st.sampled_from(["", "-1", "1e400", "9" * 11, "T4|T4", '"', "a\nb", "1", "1000", "T4", "x,y"]) | st.text(
    max_size=5
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_lists_are_read_or_refused_in_one_line(data: st.DataObject, tmp_path: Path) -> None:
    name = data.draw(st.sampled_from(["nodes", "pods"]))
    rows = [line.split(",") for line in {"nodes": NODES, "pods": PODS}[name].splitlines()]
    for _ in range(data.draw(st.integers(1, 3))):
        row = rows[data.draw(st.integers(0, len(rows) - 1))]
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(cells)
    text = "\n".join(map(",".join, rows)).encode("utf-8", "replace").decode()
    file = written(tmp_path, LISTS.replace("  saturate", "  # saturate"), **{name: text})
    try:
        found = load_cluster(file)
    except ScenarioError as error:
        said = str(error).splitlines()
        assert len(said) == 1
    else:
        assert all(each.name.isprintable() for each in (*found.servers, *found.tasks))


def test_servers_may_have_names_as_other_programs_give_them_and_no_gpus(tmp_path: Path) -> None:
    text = GOOD.replace("name: n1", "name: 10.0.0.1").replace("name: t1", 'name: "17_3"')
    text = text.replace("  - {name: rack, count: 3, gpus: 2, type: T4}", "  - {name: ns/cpu-only, gpus: 0}")
    found = load_cluster(written(tmp_path, text))
    assert [(each.name, len(each.types)) for each in found.servers] == [("10.0.0.1", 8), ("n2", 4), ("ns/cpu-only", 0)]
    assert found.tasks[0].name == "17_3"
