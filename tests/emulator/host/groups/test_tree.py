"""What is written to a group acts in its members' GPU: on memory, on time, on who is served first."""

import errno
from unittest import mock

import pytest

from ringhil.emulator.host.groups import tree as groups
from ringhil.emulator.host.groups.files import FILES

from .grouped import Grouped, number
from .pretended import Gpus, Port, tree_of

PAGE = 1 << 20  # bytes
ONE = """
sharing:
  applications:
    x: {gpu: a.2, wants: 100, piece: 10, steps: 1000, host: 30, compute: 900, %s}
"""
TWO = """
sharing:
  groups: {team: {memory: 600, groups: {inner: {}}}}
  applications:
    x: {gpu: a.2, group: team, wants: 30, steps: 400, compute: 5000, %s}
    y: {gpu: a.2, group: team/inner, wants: 30, steps: 400, compute: 5000, %s}
"""


def test_memory_that_is_taken_away_is_refused_by_the_gpu() -> None:
    """It takes ten pages at a time, up to what it was told of at its start."""
    with Grouped(ONE % "memory: 900") as server:
        while (held := int(server.read("x/gpu.memory.current"))) < 200 * PAGE:
            server.to(server.run.kernel.now + 500)
        server.write("x/gpu.memory.max", "300M")
        assert server.read("x/gpu.memory.max") == f"{300 * PAGE}\n"
        server.to(server.run.kernel.now + 20_000)
        report = server.run.server.applications.reports["x"]
        assert held < report.memory * PAGE == 300 * PAGE
        assert report.failed == "out of memory at initialisation: it may have no more"
        assert server.stat("x/gpu.stat")["refused"] == 1
        assert server.read("gpu.memory.current") == "0\n"


def test_what_a_group_may_have_is_divided_among_those_in_it() -> None:
    with Grouped(TWO % ("start: 0", "start: 9000")) as server:
        server.to(8000)
        assert server.contexts()["x"]["memory.max"] == str(600 * PAGE)
        server.to(20_000)
        assert [
            (each["memory.max"], each["memory.current"]) for each in server.contexts("team/gpu.contexts").values()
        ] == [
            (str(300 * PAGE), str(180 * PAGE)),
            (str(300 * PAGE), str(90 * PAGE)),
        ]
        assert server.read("team/gpu.memory.current") == f"{270 * PAGE}\n"
        assert server.run.engine.peek(2, "memory_held") == 270
        server.write("team/gpu.memory.max", "200M")  # less than is held: nobody gets more
        assert [each["memory.max"] for each in server.contexts().values()] == [str(180 * PAGE), str(90 * PAGE)]
        server.write("team/gpu.memory.max", "max")
        assert [each["memory.max"] for each in server.contexts().values()] == ["max", "max"]


def test_the_share_of_time_follows_the_slices() -> None:
    """Both always wait: each has what its slice is of a round."""
    with Grouped(TWO % ("slice: 400", "slice: 400")) as server:
        server.to(20_000)

        def shares(cycles: int) -> tuple[float, float]:
            before = [server.stat(f"{path}/gpu.stat")["run_usec"] for path in ("team/x", "team/inner")]
            server.to(server.run.kernel.now + cycles)
            now = [server.stat(f"{path}/gpu.stat")["run_usec"] for path in ("team/x", "team/inner")]
            return (now[0] - before[0]) / cycles, (now[1] - before[1]) / cycles

        round_ = 400 + 400 + 2 * 150
        first = shares(60_000)
        assert [abs(share - 400 / round_) < 0.02 for share in first] == [True, True], first
        server.write("team/gpu.slice", "400")
        server.write("team/inner/gpu.slice", "100")
        round_ = 400 + 100 + 2 * 150
        second = shares(60_000)
        assert abs(second[0] - 400 / round_) < 0.02, second
        assert abs(second[1] - 100 / round_) < 0.02, second
        assert {name: each["slice"] for name, each in server.contexts().items()} == {"x": "400", "y": "100"}
        server.write("team/gpu.slice", "80")
        assert {name: each["slice"] for name, each in server.contexts().items()} == {"x": "80", "y": "80"}
        total = server.stat("gpu.stat")
        assert total["run_usec"] <= server.run.kernel.now
        assert (total["contexts"], total["launched"]) == (2, 2)


def test_a_process_that_moves_has_what_its_new_group_has_and_leaves_what_it_used() -> None:
    with Grouped(TWO % ("slice: 400", "slice: 400")) as server:
        server.to(20_000)
        server.mkdir("fast")
        server.write("fast/gpu.slice", "2000")
        server.write("fast/gpu.priority", "9")
        before = server.stat("team/x/gpu.stat")
        pid = server.pid("team/x")
        server.write("fast/cgroup.procs", pid)
        assert (server.pid("fast"), server.read("team/x/cgroup.procs")) == (pid, "")
        moved = server.contexts("fast/gpu.contexts")["x"]
        assert (moved["slice"], moved["priority"], moved["memory.max"]) == ("2000", "9", "max")
        left = server.stat("team/x/gpu.stat")
        assert left["run_usec"] >= before["run_usec"]
        server.to(40_000)
        assert server.stat("team/x/gpu.stat")["run_usec"] == left["run_usec"]
        assert server.stat("fast/gpu.stat")["run_usec"] > 10_000
        server.rmdir("team/x")  # what was used there is remembered
        assert server.stat("team/gpu.stat")["run_usec"] >= left["run_usec"]


def test_what_was_computed_before_a_gpu_died_is_known_though_nobody_had_asked() -> None:
    """An application knows of its launches that are over; and so does its group, and those around it."""
    with Grouped(TWO % ("slice: 400", "slice: 400") + "timeline: [{at: 20000, fault: dead, gpu: a.2}]") as server:
        server.to(60_000)
        tasks = server.run.scenario.sharing
        assert tasks is not None
        compute = {each.name: each.compute for each in tasks.applications}
        reports = server.run.server.applications.reports
        done = {name: reports[name].steps * compute[name] for name in ("x", "y")}
        assert min(done.values()) > 0
        for path in ("team/x", "team/inner/y"):
            assert server.stat(f"{path}/gpu.stat")["run_usec"] >= done[path[-1]]
        assert server.stat("gpu.stat")["run_usec"] >= sum(done.values())


def test_a_lost_gpu_takes_its_contexts_with_it() -> None:
    with Grouped(TWO % ("slice: 400", "slice: 400") + "timeline: [{at: 20000, fault: dead, gpu: a.2}]") as server:
        server.to(19_000)
        before = {path: server.stat(path) for path in ("team/x/gpu.stat", "gpu.stat")}
        assert server.stat("team/gpu.stat")["contexts"] == 2
        server.to(20_500)
        server.write("team/gpu.slice", "80")  # it answers no more: this waits until the card has been counted
        assert server.stat("team/gpu.stat")["contexts"] == 0
        server.to(60_000)
        assert server.read("team/x/cgroup.procs") == ""
        for path, was in before.items():  # what it had said that was used stays used
            assert server.stat(path)["run_usec"] >= was["run_usec"] > 0
            assert server.stat(path)["switches"] >= was["switches"] > 0
        server.rmdir("team/x")


def test_what_is_wrong_has_its_number_and_changes_nothing() -> None:
    with Grouped(TWO % ("slice: 400", "start: 500000")) as server:
        server.to(8000)
        pid = server.pid("team/x")

        def seen() -> dict[str, str]:
            given = ("gpu.memory.max", "gpu.slice", "gpu.priority", "cgroup.procs")
            groups = ("team", "team/x", "team/inner", "team/inner/y")
            return {f"{group}/{name}": server.read(f"{group}/{name}") for group in groups for name in given} | {
                "contexts": server.read("gpu.contexts"),
                "names": str(server.names("team")),
            }

        before = seen()
        wrong = {
            errno.EINVAL: {
                "gpu.memory.max": ["", "much", "1.5G", "1 2", "0x10", "6GB", "default", "٣"],
                "gpu.slice": ["", "max", "1e3", "--1", "1 2"],
                "gpu.priority": ["high", "max", "1.0", ""],
                "cgroup.procs": ["", "x", "1 2"],
            },
            errno.ERANGE: {
                "gpu.memory.max": ["-1", "-1G", "99999999999999999E", f"{1 << 52}"],
                "gpu.slice": ["0", "15", "-20", "99999999999"],
                "gpu.priority": ["-1", "256"],
            },
            errno.ESRCH: {"cgroup.procs": ["1", "0", "-1", "99999999"]},
            errno.EACCES: {"gpu.stat": ["0"], "gpu.memory.current": ["0"], "gpu.contexts": ["1"]},
            errno.ENOENT: {"gpu.none": ["1"], "none/gpu.slice": ["1"]},
            errno.ENOTDIR: {"gpu.slice/gpu.slice": ["1"]},
            errno.EISDIR: {"": ["1"]},
        }
        for wanted, files in wrong.items():
            for name, texts in files.items():
                for text in texts:
                    assert number(server.write, f"team/x/{name}", text) == wanted, (name, text)
        assert number(server.write, "gpu.slice", "100") == errno.ENOENT  # the root has none
        assert number(server.write, "team/cgroup.procs", pid) == errno.EBUSY
        assert number(server.write, "team/x/gpu.slice", "1" * 5000) == errno.EINVAL
        assert seen() == before


def test_groups_have_few_names_and_few_levels() -> None:
    with Grouped(TWO % ("slice: 400", "start: 500000")) as server:
        assert number(server.mkdir, "/team/x") == errno.EEXIST
        assert number(server.mkdir, "team/gpu.slice") == errno.EEXIST
        assert number(server.mkdir, "team/gpu.speed") == errno.EINVAL
        assert number(server.mkdir, "team/a b") == errno.EINVAL
        assert number(server.mkdir, "team/.hidden") == errno.EINVAL
        assert number(server.mkdir, "team/" + "n" * 256) == errno.ENAMETOOLONG
        assert number(server.mkdir, "none/new") == errno.ENOENT
        assert number(server.mkdir, "team/x/new") == errno.EBUSY  # a process is in it
        assert number(server.mkdir, "/") == errno.EEXIST
        assert number(server.mkdir, "g" + "/g" * 7) == errno.ENOENT
        deep = ["/".join("g" * n) for n in range(1, 10)]
        assert [number(server.mkdir, path) for path in deep] == [None] * 8 + [errno.ENOSPC]
        assert number(server.rmdir, "g") == errno.ENOTEMPTY
        assert number(server.rmdir, "team/x") == errno.EBUSY
        assert number(server.rmdir, "/") == errno.ENOTEMPTY
        assert number(server.rmdir, "gpu.stat") == errno.ENOTDIR
        assert [number(server.rmdir, path) for path in reversed(deep)] == [errno.ENOENT] + [None] * 8


def test_a_directory_lists_what_can_be_looked_up_in_it() -> None:
    with Grouped(TWO % ("slice: 400", "start: 500000")) as server:
        for path in ("", "team", "team/x"):
            listed = server.names(path)
            found = [name for name in FILES if number(server.read, f"{path}/{name}") is None]
            assert [name for name in listed if name in FILES] == found
            assert ("gpu.memory.max" in listed) == bool(path)
        assert {"x", "inner"} <= {*server.names("team")}


def test_there_are_not_too_many_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    with Grouped(TWO % ("slice: 400", "start: 500000")) as server:
        there = sum(1 for _ in server.run.server.process_groups.root.inwards()) - 1
        monkeypatch.setattr(groups, "MOST_GROUPS", there + 2)
        assert [number(server.mkdir, f"new{n}") for n in range(3)] == [None, None, errno.ENOSPC]
        assert number(server.rmdir, "new0") is None
        assert number(server.mkdir, "new3") is None


def test_no_process_of_a_file_has_the_number_of_one_of_the_system() -> None:
    """Linux has 2^22 at most."""
    tree = tree_of(Gpus(), Port())
    tree.mkdir("x")
    assert [tree.join(name, "x").pid for name in "abc"] == [4194305, 4194306, 4194307]


def test_a_process_of_the_system_may_be_moved_where_such_are_let_in() -> None:
    """Elsewhere nobody has that number."""
    with Grouped(TWO % ("slice: 400", "start: 500000")) as server:
        tree, inner = server.run.server.process_groups, server.run.server.process_groups.group("team/inner/y")
        assert number(tree.move, "4711", inner) == errno.ESRCH
        tree.host_processes = mock.Mock()
        tree.move("4711", inner)
        tree.host_processes.admit.assert_called_once_with(4711, inner)


def test_an_application_that_says_nothing_has_what_its_group_has() -> None:
    text = """
sharing:
  cycle: 500
  groups: {team: {priority: 5, slice: 300}}
  applications:
    x: {gpu: a.2, group: team, wants: 30, steps: 4, host: 700, compute: 5000}
    y: {gpu: a.2, group: team, wants: 30, steps: 4, host: 700, compute: 5000, priority: 2, slice: 200}
"""
    with Grouped(text) as server:
        server.to(20_000)
        contexts = server.contexts()
        assert [(contexts[name]["priority"], contexts[name]["slice"]) for name in "xy"] == [("5", "150"), ("2", "100")]
        server.to(80_000)
        # 4 steps of 5,000 cycles, half a microsecond each.
        assert [server.stat(f"team/{name}/gpu.stat")["run_usec"] for name in "xy"] == [10_000, 10_000]
