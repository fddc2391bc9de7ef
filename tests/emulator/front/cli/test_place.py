"""`ringhil place`: one table, one document, files that other tools read, and one line for what is wrong."""

import csv
import hashlib
import json
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from tests.command import refusal, ringhil

from ringhil.emulator.cluster import cluster_schema, load_cluster
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.server.hashes import hashes

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
SMALL = """name: three servers
cluster:
  power: {T4: {idle: 10, task: 70}, H200: {idle: 75, task: 700}}
  servers:
    - {name: n1, gpus: 8, type: T4, standby: 25, busy: [0, 1]}
    - {name: n2, gpus: 4, type: H200, types: {3: T4}, standby: 30}
    - {name: rack, count: 3, gpus: 8, type: T4, standby: 25}
tasks:
  - {name: t1, gpus: 3, at: 0, for: 100}
  - {name: t2, gpus: 0.5, at: 10, for: 100}
"""
OWN = """from ringhil.emulator.cluster import PlacementPolicy

class Last(PlacementPolicy):
    def keys(self, servers, needs):
        return [-servers.place]

class Broken(Last):
    def keys(self, servers, needs):
        return 1 // 0

class Ending(Last):
    def keys(self, servers, needs):
        raise SystemExit(0)

class Short(Last):
    def keys(self, servers, needs):
        return [[1.0]]

class Nothing(Last):
    def keys(self, servers, needs):
        return []

class Odd:
    pass

class Wild(Last):
    def gpu(self, servers, needs):
        return servers.place * 0 + 99
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SMALL)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def document(*words: object, cwd: Path | None = None) -> dict[str, Any]:
    done = ringhil("place", *words, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_a_document_says_where_each_task_went_and_what_it_cost(folder: Path) -> None:
    found = document("small.yaml", "--fleet", "table", cwd=folder)["policies"]["pack-first"]
    task = {"server": "n2", "gpus": ["a.0", "a.1", "a.2"], "at": 0, "began": 0, "ended": 100, "tries": 1}
    task = {**task, "wasted_gpu_s": 0}
    assert found["fleet"] == "table"
    assert found["tasks"]["t1"] == task
    assert found["tasks"]["t2"] == {**task, "gpus": ["a.3"], "at": 10, "began": 10, "ended": 110}
    assert found["energy_j"] == found["predicted_j"] > 0
    assert found["unplaced"] == 0
    assert found["waiting_s"] == {"median": 0, "p99": 0}


def test_the_order_of_a_task_is_explained_with_its_power_values(folder: Path) -> None:
    """P1 to P5: who was dropped, and second and third power values."""
    (folder / "small.yaml").write_text(SMALL.replace("gpus: 3, at", "gpus: 5, at"))
    found = document("small.yaml", "--order", "t1", cwd=folder)
    assert found["task"] == "t1"
    assert found["policy"] == "pack-first"
    assert found["order"] == ["n1", "rack.0", "rack.1", "rack.2"]
    assert found["groups"] == [["n1"], ["rack.0", "rack.1", "rack.2"]]
    assert found["dropped"] == ["n2"]
    assert found["servers"]["n1"] == {"idle": 6, "first": [70] * 6, "second": 420, "third": None}
    assert found["servers"]["rack.1"] == {"idle": 8, "first": [70] * 8, "second": 560, "third": 585}
    told = ringhil("place", "small.yaml", "--order", "t1", cwd=folder).stdout
    assert "dropped: n2" in told
    assert "585 W" in told


def test_servers_are_emulated_unless_they_can_not_be(folder: Path) -> None:
    """The same placements, metered energy; a ring has two GPUs at least, and a day of counts is long."""
    words = ("small.yaml", "--policy", "pack-first", "--policy", "fgd")
    emulated, table = (document(*words, *fleet, cwd=folder) for fleet in ((), ("--fleet", "table")))
    for name, each in emulated["policies"].items():
        beside = table["policies"][name]
        had = {task: found.pop("gpu_seconds") for task, found in each["tasks"].items()}
        assert had == pytest.approx({"t1": 300, "t2": 100}, rel=0.01)
        assert (each["fleet"], beside["fleet"]) == ("emulated", "table")
        assert each["tasks"] == beside["tasks"]
        assert each["predicted_j"] == beside["energy_j"] != each["energy_j"]
        assert each["energy_j"] == pytest.approx(beside["energy_j"], rel=0.01)
    awake = document("small.yaml", "--no-sleep", cwd=folder)["policies"]["pack-first"]
    assert awake["energy_j"] == pytest.approx(emulated["policies"]["pack-first"]["awake_j"], rel=0.01)
    (folder / "one.yaml").write_text(SMALL.replace("gpus: 8, type: T4, standby: 25}", "gpus: 1, type: T4}"))
    assert document("one.yaml", cwd=folder)["policies"]["pack-first"]["fleet"] == "table"
    refused = ringhil("place", "one.yaml", "--fleet", "emulated", cwd=folder)
    assert refused.returncode == 2
    assert "rack.0: a ring of 1 GPU; allowed are 2 or more, or the table fleet" in refused.stderr
    assert ringhil("place", EXAMPLES / "cluster-full.yaml", "--fleet", "emulated").returncode == 2
    (folder / "long.yaml").write_text(f"until: 864000\n{SMALL}")
    assert document("long.yaml", cwd=folder)["policies"]["pack-first"]["fleet"] == "table"


FAULTS = "faults:\n  - {at: 30, server: n2, gpu: a.1}\n  - {at: 40, server: n1, link: a.7-a.0}\n"


@pytest.mark.parametrize("fleet", ["emulated", "table"])
def test_what_fails_is_told_with_what_it_cost(fleet: str, folder: Path) -> None:
    """A census at 60 drops the GPU: its task begins again, and 60 seconds of three GPUs are lost."""
    (folder / "small.yaml").write_text(f"until: 400\n{SMALL}{FAULTS}")
    found = document("small.yaml", "--fleet", fleet, cwd=folder)["policies"]["pack-first"]
    task = found["tasks"]["t1"]
    assert (task["server"], task["began"], task["ended"], task["tries"]) == ("n1", 60, 160, 2)
    assert (found["lost_tries"], found["wasted_gpu_s"], found["unplaced"]) == (1, 180, 0)
    assert found.get("unread_gpus") == ({"n2": 1} if fleet == "emulated" else None)
    missing = "pack-first: energy is missing: meters could not be read in the end of n2 (1 GPU)\n"
    assert (missing in ringhil("place", "small.yaml", "--fleet", fleet, cwd=folder).stdout) == (fleet == "emulated")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("n2, gpu: a.1", "n9, gpu: a.1"), "faults[0].server: unknown server 'n9'; allowed: n1, n2, rack.0"),
        (("n2, gpu: a.1", "n2, gpu: a.4"), "faults[0].gpu: n2 has no GPU 'a.4'; allowed is a.0 .. a.3"),
        (("n2, gpu: a.1", "n1, gpu: a.1"), "faults[0]: a GPU that is taken from the start ('busy')"),
        (("n2, gpu: a.1", "n2, gpu: a.1, link: a.1-a.2"), "faults[0]: 'gpu' and 'link'; allowed is one of them"),
        (("a.7-a.0", "a.7-a.6"), "faults[1].link: 'a.7-a.6' is no link of a ring of 8 GPUs"),
        (("at: 40", "at: 400"), "faults[1].at: found 400; allowed is less than 'until', 400"),
        (("until: 400", "failing: {gpus: 1}"), "'failing' without 'until'; needed are both"),
        (("tasks:", "  saturate: {}\ntasks:"), "'faults' beside 'saturate'; allowed is one of them"),
    ],
)
def test_a_fault_that_can_not_be_is_refused(wrong: tuple[str, str], said: str, folder: Path) -> None:
    (folder / "small.yaml").write_text(f"until: 400\n{SMALL}{FAULTS}".replace(*wrong, 1))
    assert said in refusal("place", "small.yaml", cwd=folder)


def test_all_policies_are_compared_to_the_same_end(folder: Path) -> None:
    words = [word for name in POLICIES for word in ("--policy", name)]
    found = document(EXAMPLES / "cluster.yaml", *words, "--fleet", "table")["policies"]
    assert list(found) == list(POLICIES)
    assert {each["until"] for each in found.values()} == {1200}
    shown = ringhil("place", "small.yaml", *words, cwd=folder)
    assert "fleet: emulated" in shown.stdout
    assert all(f"\n{name} " in shown.stdout for name in POLICIES)
    assert {each["until"] for each in document("small.yaml", *words, cwd=folder)["policies"].values()} == {110}


def test_curves_and_placements_are_written_as_csv(folder: Path) -> None:
    assert ringhil("place", "small.yaml", "--csv", "out", "--policy", "fgd", cwd=folder).returncode == 0
    rows = {name: list(csv.DictReader((folder / "out" / f"{name}.csv").open())) for name in ("curves", "placements")}
    assert [row["at"] for row in rows["curves"]] == ["0", "10", "100", "110"]
    assert {row["policy"] for row in rows["curves"]} == {"fgd"}
    assert rows["placements"][0]["gpus"].split()[0].startswith("a.")


def test_a_cluster_is_filled_and_its_curve_written(folder: Path) -> None:
    words = ("place", EXAMPLES / "cluster-full.yaml", "--policy", "fgd", "--policy", "random")
    done = ringhil(*words, "--csv", "out", "--seed", 7, cwd=folder)
    assert done.returncode == 0
    rows = list(csv.DictReader((folder / "out" / "curves.csv").open()))
    assert list(rows[0]) == ["policy", "seed", "percent", "allocated", "fragmentation", "watts"]
    assert {(row["policy"], row["seed"]) for row in rows} == {("fgd", "7"), ("random", "7")}
    last = {row["policy"]: row for row in rows}
    assert all(int(row["percent"]) >= 120 for row in last.values())
    assert float(last["fgd"]["allocated"]) > float(last["random"]["allocated"]) > 80
    again = document(*words[1:], "--seed", 7)["policies"]
    assert {name: f"{each['allocated']:.2f}" for name, each in again.items()} == {
        name: row["allocated"] for name, row in last.items()
    }


def test_several_seeds_give_means_with_intervals_where_they_differ(folder: Path) -> None:
    """Mean and interval by hand; a policy that draws no lots has none, and a single seed's document is as ever."""
    words = ("small.yaml", "--policy", "random", "--policy", "fgd", "--seed", 5, "--seeds", 4, "--fleet", "table")
    (folder / "small.yaml").write_text(SMALL.replace("gpus: 3, at", "gpus: 2, at"))
    found = document(*words, cwd=folder)
    assert found["seeds"] == [5, 6, 7, 8]
    alone = [
        document("small.yaml", "--policy", "random", "--seed", seed, "--fleet", "table", cwd=folder)
        for seed in found["seeds"]
    ]
    runs = [each["policies"]["random"] for each in alone]
    assert [run["seed"] for run in found["policies"]["random"]["runs"]] == [5, 6, 7, 8]
    assert [run["energy_j"] for run in found["policies"]["random"]["runs"]] == [run["energy_j"] for run in runs]
    energies = [run["energy_j"] for run in runs]
    spread = found["policies"]["random"]["figures"]["energy_j"]
    assert spread["mean"] == pytest.approx(fmean(energies))
    assert spread["half"] == pytest.approx(3.182 * stdev(energies) / 2, rel=1e-3)
    assert found["policies"]["random"]["same"] is False
    assert found["policies"]["fgd"]["same"] is True
    assert found["policies"]["fgd"]["figures"]["energy_j"]["half"] is None
    shown = ringhil("place", *words, "--csv", "out", cwd=folder).stdout
    assert "The same for every seed: fgd." in shown
    assert f"{spread['mean'] / 3.6e6:.3f} ± {spread['half'] / 3.6e6:.3f} kWh" in shown
    for name in ("curves", "placements"):
        rows = list(csv.DictReader((folder / "out" / f"{name}.csv").open()))
        assert {(row["policy"], row["seed"]) for row in rows} == {
            (p, str(n)) for p in ("random", "fgd") for n in range(5, 9)
        }


def test_arrivals_that_are_drawn_differ_from_seed_to_seed(folder: Path) -> None:
    """Then no policy is the same for all."""
    (folder / "full.yaml").write_text(SMALL.replace("tasks:", "  saturate: {load: 1.2}\ntasks:"))
    found = document("full.yaml", "--policy", "best-fit", "--seeds", 3, cwd=folder)
    assert found["policies"]["best-fit"]["same"] is False
    assert found["policies"]["best-fit"]["figures"]["watts"]["half"] > 0


def test_lists_become_a_cluster_file(folder: Path) -> None:
    heads = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,scheduled_time"
    (folder / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nnode-0,64000,262144,2,P100\n")
    (folder / "pods.csv").write_text(f"{heads}\npod-0,12000,16384,1,460,,0,30,10\npod-1,1000,1,1,1000,,5,,\n")
    done = ringhil("place", "--import", "openb", "nodes.csv", "pods.csv", "-o", "in/made.yaml", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    tasks = document("in/made.yaml", cwd=folder)["policies"]["pack-first"]["tasks"]
    assert list(tasks) == ["pod-0"]
    assert (tasks["pod-0"]["server"], tasks["pod-0"]["ended"]) == ("node-0", 20)


SACCT = """JobID|Submit|Start|Elapsed|ReqTRES|AllocTRES|NodeList
7|2024-05-01T08:00:00|2024-05-01T08:00:10|00:01:40|gres/gpu=2|cpu=8,gres/gpu:a100=2,mem=4G|g1
7.batch|2024-05-01T08:00:10|2024-05-01T08:00:10|00:01:40||cpu=8|g1
"""


def test_what_sacct_prints_becomes_a_cluster_file(folder: Path) -> None:
    """What is left out is one line; the list of tasks stands beside the file, whose comment says what to correct."""
    (folder / "dump").write_text(SACCT)
    done = ringhil("place", "--import", "sacct", "dump", "-o", "made.yaml", "--json", cwd=folder)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "schema": "place-import/1",
        "servers": 1,
        "gpus": 2,
        "tasks": 1,
        "left_out": {"steps": 1},
    }
    assert done.stderr == "dump: left out 1 of 2 entries (steps: 1)\n"
    assert "# sacct knows no servers" in (folder / "made.yaml").read_text()
    task = document("made.yaml", cwd=folder)["policies"]["pack-first"]["tasks"]["7"]
    assert (task["server"], task["ended"]) == ("g1", 100)


@pytest.mark.parametrize("there", ["made.yaml", "made.pods.csv"])
def test_an_import_leaves_alone_what_is_there(there: str, folder: Path) -> None:
    """It may have been corrected by hand."""
    (folder / "dump").write_text(SACCT)
    (folder / there).write_text("corrected\n")
    before = {each: each.read_bytes() for each in folder.iterdir() if each.is_file()}
    said = refusal("place", "--import", "sacct", "dump", "-o", "made.yaml", cwd=folder)
    assert said == f"ringhil place: -o: {there} is there already; name another file, or remove it"
    assert {each: each.read_bytes() for each in folder.iterdir() if each.is_file()} == before


def test_nodes_for_kwok_are_read_back_by_the_import(folder: Path) -> None:
    """A list without pods is a cluster whose tasks are to be written."""
    for words in (
        ["small.yaml", "--export", "kwok", "n.json"],
        ["--import", "kubernetes", "n.json", "-o", "made.yaml"],
    ):
        done = ringhil("place", *words, cwd=folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found, given = load_cluster(folder / "made.yaml"), load_cluster(folder / "small.yaml")
    assert found.servers == given.servers
    assert [task.name for task in found.tasks] == ["example"]


def test_a_day_of_a_real_cluster_is_an_example() -> None:
    found = document(
        EXAMPLES / "openb" / "cluster.yaml", "--fleet", "table", "--policy", "fgd", "--policy", "pack-first"
    )["policies"]
    assert {each["until"] for each in found.values()} == {86400}
    assert {len(each["tasks"]) for each in found.values()} == {227}


@pytest.mark.parametrize("word", ["run", "share"])
def test_other_commands_say_who_plays_clusters(word: str, folder: Path) -> None:
    done = ringhil(word, "small.yaml", cwd=folder)
    assert done.returncode == 2
    said = "small.yaml:2:1: top level: key 'cluster': that is a file of a cluster; ringhil place plays it"
    assert said in done.stdout + done.stderr


def test_a_fault_elsewhere_costs_a_server_without_gpus_nothing(folder: Path) -> None:
    """No census counts it, so that none can drop it."""
    text = SMALL.replace("{name: n1, gpus: 8, type: T4, standby: 25, busy: [0, 1]}", "{name: n1, gpus: 0}")
    text = text.replace("{name: t1, gpus: 3,", "{name: t1, gpus: 0,") + "faults: [{server: n2, gpu: a.3, at: 1}]\n"
    (folder / "cpus.yaml").write_text(text)
    found = document("cpus.yaml", cwd=folder)["policies"]["pack-first"]
    assert {name: (each["server"], each["tries"]) for name, each in found["tasks"].items()} == {
        "t1": ("n1", 1),
        "t2": ("n2", 1),
    }


def test_the_schema_of_cluster_files_is_printed() -> None:
    assert json.loads(ringhil("schema", "cluster").stdout) == cluster_schema()


def test_the_document_says_which_file_it_was_and_which_hardware(folder: Path) -> None:
    """No RTL and no firmware where none was played."""
    file = f"sha256:{hashlib.sha256(SMALL.encode()).hexdigest()}"
    assert document("small.yaml", "--fleet", "table", cwd=folder)["hashes"] == {"cluster": file}
    assert document("small.yaml", "--fleet", "emulated", cwd=folder)["hashes"] == {
        "cluster": file,
        **hashes(None, cells_library().rtl),
    }


def test_a_policy_of_ones_own_is_loaded_by_module_and_class(folder: Path) -> None:
    """What it prints goes to standard error."""
    text = OWN.replace("        return [-servers.place]", "        print('asked')\n        return [-servers.place]")
    (folder / "own.py").write_text(f"print('loaded')\n{text}")
    found = document("small.yaml", "--policy", "own:Last", cwd=folder)["policies"]["own:Last"]
    assert {each["server"] for each in found["tasks"].values()} == {"rack.2"}


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.yaml"], "missing.yaml: cannot be read: No such file or directory"),
        (["small.yaml", "--policy", "fgdd"], "--policy: found 'fgdd'; allowed is MODULE:CLASS or one of pack-first, "),
        (["small.yaml", "--policy", "nope:X"], "--policy nope:X: nope can't be loaded: ModuleNotFoundError: No module"),
        (["small.yaml", "--policy", "own:None"], "--policy own:None: own has no None"),
        (["small.yaml", "--policy", "own:Odd"], "--policy own:Odd: Odd doesn't derive from ringhil.emulator.cluster.P"),
        (["small.yaml", "--policy", "own:Broken"], "--policy own:Broken: keys: ZeroDivisionError: integer division"),
        (["small.yaml", "--policy", "own:Ending"], "--policy own:Ending: keys: SystemExit: 0"),
        (["small.yaml", "--policy", "own:Short"], "--policy own:Short: keys: found an array of shape (1,) and type fl"),
        (["small.yaml", "--policy", "own:Wild"], "--policy own:Wild: gpu: found no index of a GPU; allowed is one for"),
        (["small.yaml", "--order", "t9"], "small.yaml: --order: there is no task 't9'; allowed are those of 'tasks'"),
        (["small.yaml", "--order", "t1", "--seeds", "2"], "--order with 2 seeds; allowed is one"),
        (
            ["small.yaml", "--seed", "4294967295", "--seeds", "2"],
            "--seeds: the last one would be 4,294,967,296; allowed",
        ),
        (["small.yaml", "--seeds", "0"], "Invalid value for '--seeds': found '0'; allowed is a whole number from 1 to"),
        (["small.yaml", "--html", "."], ".: cannot be written; name a file in a folder that can be written to"),
        (
            ["small.yaml", "--html", "small.yaml"],
            "--html small.yaml: that would take the place of what is read or",
        ),
        (["small.yaml", "--html", "-", "--json"], "--html - and --json both write to standard output"),
        (["full.yaml", "--order", "t1"], "--order is for runs over time; this file has 'saturate'"),
        (["small.yaml", "small.yaml"], "found 2 files; allowed is one cluster file"),
        (["small.yaml", "--import", "openb"], "--import and -o go together: --import openb NODES.csv PODS.csv -o CLU"),
        (["small.yaml", "small.yaml", "--import", "sacct", "-o", "x"], "--import sacct: found 2 files; allowed: one"),
        (["small.yaml", "--import", "sacct", "-o", "small.yaml"], "-o small.yaml: that would take the place of what"),
        (["small.yaml", "--import", "sacct", "-o", "x"], "small.yaml:1:1: no column 'JobID'; found are name: three se"),
        (["small.yaml", "--import", "kubernetes", "-o", "x"], "small.yaml:1:2: invalid JSON: expected ident"),
        (
            ["small.yaml", "--import", "sacct", "-o", "/dev/stdout"],
            "-o /dev/stdout: found a stream; a list of tasks st",
        ),
        (["dump", "--import", "sacct", "-o", "."], ".: cannot be written"),
        (["small.yaml", "--export", "kwok", "small.yaml"], "--export small.yaml: that would take the place of what is"),
        (["small.yaml", "--fleet", "none"], "Invalid value for '--fleet': 'none' is not one of 'emulated', 'table'."),
        (["small.yaml", "--csv", "own.py"], "own.py"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(words: list[str], said: str, folder: Path) -> None:
    (folder / "dump").write_text(SACCT)
    (folder / "full.yaml").write_text(SMALL.replace("tasks:", "  saturate: {}\ntasks:"))
    line = refusal("place", *words, cwd=folder)
    assert line.removeprefix("ringhil: ").removeprefix("ringhil place: ").startswith(said)


# ------------------------------------------------------------------------------------ nothing passed over in silence

PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,scheduled_time
p0,1000,100,1,1000,,0,100,10
p1,1000,100,1,1000,,500,600,510
p2,1000,100,1,1000,,5,,
"""


def test_a_run_in_which_no_task_found_a_server_is_none(folder: Path) -> None:
    """All servers are taken: whatever is said of the policies says nothing of them."""
    full = SMALL[: SMALL.index("    - {name: n2")].replace("busy: [0, 1]", "busy: [0, 1, 2, 3, 4, 5, 6, 7]")
    tasks = SMALL[SMALL.index("tasks:") :]
    for name, more in (("run", ""), ("saturation", "  saturate: {}\n")):
        (folder / f"{name}.yaml").write_text(full + more + tasks)
        done = ringhil("place", f"{name}.yaml", "--fleet", "table", cwd=folder)
        assert done.returncode == 2
        assert done.stderr == "ringhil: no task found a server by any policy: nothing was played\n"


def test_tasks_that_never_come_are_counted(folder: Path) -> None:
    (folder / "pods.csv").write_text(PODS)
    listed = SMALL[: SMALL.index("tasks:")] + "pods: pods.csv\n"
    (folder / "x.yaml").write_text(f"until: 50\n{listed}")
    assert document("x.yaml", "--fleet", "table", cwd=folder)["passed_over"] == {"without_end": 1, "after_until": 1}
    told = ringhil("place", "x.yaml", "--fleet", "table", cwd=folder).stdout
    assert "3 tasks, 1 of them left out, without a start or an end, 1 of them never come, after 'until'" in " ".join(
        told.split()
    )
    (folder / "pods.csv").write_text(PODS.replace("p0,1000,100,1,1000,,0,100", "p0,1000,100,1,1000,,50,100"))
    assert "no task of the list comes before 'until'" in refusal("place", "x.yaml", cwd=folder)


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("small.yaml", "--order", "t1", "--csv", "out"), "--csv has no meaning with --order"),
        (("small.yaml", "--order", "t1", "--fleet", "emulated"), "--fleet emulated has no meaning with --order"),
        (("small.yaml", "--order", "t1", "--load", "2"), "--load has no meaning with --order"),
        (("small.yaml", "--order", "t1", "--emulate", "1..2"), "--emulate has no meaning with --order"),
        (("small.yaml", "--emulate", "1..2", "--fleet", "emulated"), "--fleet emulated has no meaning with --emulate"),
        (("small.yaml", "--emulate", "5..5"), "--emulate': found '5..5'; allowed is FROM..TO in seconds with FROM bef"),
        (("small.yaml", "--emulate", "8h..9h"), "--emulate': found '8h..9h'; allowed is FROM..TO in seconds"),
        (("small.yaml", "--emulate", "1..111"), "--emulate 1..111: found 111 s; allowed is up to 110, where a run end"),
        (("full.yaml", "--emulate", "1..2"), "--emulate is for runs over time; this file has 'saturate'"),
        (("small.yaml", "--load", "nan"), "--load': found 'nan'; allowed is a load from 0.01 to 100"),
        (("small.yaml", "--load", "0"), "--load': found '0'; allowed is a load from 0.01 to 100"),
        (("drawn.yaml", "--load", "2"), "--load has no meaning with the 'arrivals' of this file"),
        (("n", "p", "--import", "openb", "-o", "x", "--policy", "fgd"), "--policy has no meaning with --import"),
        (("n", "p", "--import", "openb", "-o", "x", "--seed", "0"), "--seed has no meaning with --import"),
        (("n", "p", "--import", "openb", "-o", "x", "--csv", "d"), "--csv has no meaning with --import"),
        (("small.yaml", "--export", "kwok", "x", "--json"), "--json has no meaning with --export"),
        (("full.yaml", "--no-sleep"), "--no-sleep is for runs over time"),
        (("until.yaml",), "until.yaml:1:1: top level: 'until' beside 'saturate'"),
        (("small.yaml", "--policy", "own:Nothing"), "--policy own:Nothing: keys: found no key, which orders nothing"),
    ],
)
def test_what_would_be_passed_over_is_refused(folder: Path, words: tuple[str, ...], says: str) -> None:
    full = SMALL.replace("tasks:", "  saturate: {}\ntasks:")
    (folder / "full.yaml").write_text(full)
    (folder / "drawn.yaml").write_text(full.replace("{}", "{arrivals: a.csv, column: seed1}"))
    (folder / "a.csv").write_text("seed1\n0\n")
    (folder / "until.yaml").write_text(f"until: 90\n{full}")
    assert says in refusal("place", *words, cwd=folder)


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("kind", ["table", "emulated", "saturate"])
def test_a_sweep_is_the_same_in_any_number_of_processes(folder: Path, kind: str) -> None:
    (folder / "x.yaml").write_text(SMALL.replace("tasks:", "  saturate: {}\ntasks:") if kind == "saturate" else SMALL)
    words = ("place", "x.yaml", "--policy", "random", "--policy", "fgd", "--load", 1, "--load", 0.5, "--seeds", 2)
    words = (*words, *(() if kind == "saturate" else ("--fleet", kind)), "--json", "--csv")
    one, three = (ringhil(*words, f"{jobs}", "-j", jobs, cwd=folder) for jobs in (1, 3))
    assert (three.returncode, three.stdout) == (0, one.stdout)
    for name in ("curves.csv", "placements.csv"):
        assert (folder / "3" / name).read_bytes() == (folder / "1" / name).read_bytes()
    found = json.loads(one.stdout)
    assert [(at["load"], [*at["policies"]]) for at in found["loads"]] == [
        (1, ["random", "fgd"]),
        (0.5, ["random", "fgd"]),
    ]
    listed = [*csv.DictReader((folder / "1" / "placements.csv").open())]
    assert [*dict.fromkeys((row["load"], row["policy"]) for row in listed)] == [
        (load, policy) for load in ("1", "0.5") for policy in ("random", "fgd")
    ]


def test_a_load_divides_all_moments_and_no_duration(folder: Path) -> None:
    """The same as the file with such moments."""
    faults = "faults: [{at: 24, server: n2, for: 60}]\n"
    text = f"until: 240\n{SMALL}{faults}"
    (folder / "x.yaml").write_text(text)
    twice = text.replace("at: 10", "at: 5").replace("at: 24", "at: 12").replace("until: 240", "until: 120")
    (folder / "twice.yaml").write_text(twice)
    found = document("x.yaml", "--load", 2, "--fleet", "table", cwd=folder)
    other = document("twice.yaml", "--fleet", "table", cwd=folder)
    assert found.pop("load") == 2
    assert found.pop("hashes") != other.pop("hashes")
    assert found == other
    assert (
        "seed 0, load 2, fleet: table" in ringhil("place", "x.yaml", "--load", 2, "--fleet", "table", cwd=folder).stdout
    )


def test_windows_are_emulated_beside_a_table(folder: Path) -> None:
    """Text, page and document say the same; all else is the table's. A fault that only hardware sees is named."""
    (folder / "small.yaml").write_text(f"until: 300\n{SMALL}faults: [{{at: 31, server: n2, gpu: a.0}}]\n")
    words = ("place", "small.yaml", "--emulate", "20..200", "--emulate", "5.5..25", "--html", "page.html")
    found = json.loads(ringhil(*words, "--json", cwd=folder).stdout)
    wide, short = found.pop("windows")
    table = document("small.yaml", "--fleet", "table", cwd=folder)
    assert found.pop("hashes").items() > table.pop("hashes").items()
    assert found == table
    assert (short["from"], short["to"], short["first"]) == (5.5, 25, None)
    assert short["metered_j"] == pytest.approx(short["table_j"], rel=0.01)
    assert short["differ"] == {"counts": 0, "placements": 0, "ends": 0}
    first = "at 60 s n2 a.0 is counted, not in the table"
    assert (wide["policy"], wide["seed"], wide["first"]) == ("pack-first", 0, first)
    assert min(wide["differ"].values()) >= 1
    assert (wide["failing_servers"], short["failing_servers"]) == (1, 0)
    told = ringhil(*words, cwd=folder).stdout
    line = next(line for line in told.splitlines() if line.startswith("pack-first, seed 0, 20..200 s "))
    energy = [f"{wide[key] / 3.6e6:.3f} kWh" for key in ("metered_j", "table_j")]
    cells = [*energy, f"{100 * wide['error']:+.2f} %", f"{wide['tasks']}", *map(str, wide["differ"].values())]
    assert line.split()[5:] == " ".join(cells).split()
    assert f"pack-first, seed 0, 20..200 s: first {first}" in told
    page = (folder / "page.html").read_text()
    assert all(cell in page for cell in cells)
    assert f"pack-first, seed 0, 20..200 s: first {first}" in page
