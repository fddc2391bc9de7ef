"""Groups of a server, for programs that ask NVML: each process is told what its group is given, as it is now."""

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.groups.live import LiveGroups
from ringhil.emulator.groups.mount import GroupMountError, check_mount
from ringhil.emulator.judge.run import Run
from ringhil.emulator.nvml.peer import PeerProcess, began
from ringhil.emulator.nvml.views import views_of
from ringhil.emulator.scenario import loads
from ringhil.emulator.server import LiveServer

from .served import TEXT, Monitored

TOLD = """
import json, os, pynvml as n, sys
n.nvmlInit()
def told():
    gpus = [n.nvmlDeviceGetHandleByIndex(i) for i in range(n.nvmlDeviceGetCount())]
    memory = [n.nvmlDeviceGetMemoryInfo(gpu) for gpu in gpus]
    there = [each.pid for gpu in gpus for each in n.nvmlDeviceGetComputeRunningProcesses(gpu)]
    return [[each.total >> 20 for each in memory], [each.used >> 20 for each in memory], there]
print(json.dumps(told()), flush=True)
"""
MANY = [22528] * 6


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("groups")
    try:
        check_mount(found)
    except GroupMountError as error:
        pytest.skip(str(error))
    return found


@pytest.fixture(scope="module")
def both(groups: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    folder = tmp_path_factory.mktemp("both")
    with Monitored(folder, TEXT, "--clock", "200000", "--groups", str(groups)) as served:
        yield served
        assert served.end(signal.SIGTERM) == (0, "")


def shell(both: Monitored, groups: Path, script: str, name: str | None = None) -> list[str]:
    """`$P` prints what it is told."""
    command = both.command("bash", "-ec", f'P() {{ "$PYTHON" -c "$TOLD"; }}\n{script}', name=name)
    done = subprocess.run(
        command,
        cwd=groups,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "TOLD": TOLD, "PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.rest
def test_a_process_in_a_group_is_told_what_the_group_is_given(both: Monitored, groups: Path) -> None:
    """S2's example: 22 GB, of which it was given 6; and its children are told the same, in whatever environment."""
    lines = shell(
        both,
        groups,
        """
P | python3 -c 'import json, sys; print(json.load(sys.stdin)[0])'
mkdir mine
echo 6G > mine/gpu.memory.max
echo $$ > mine/cgroup.procs
P
env -i LD_LIBRARY_PATH="$LD_LIBRARY_PATH" RINGHIL_NVML="$RINGHIL_NVML" setsid -w "$PYTHON" -c "$TOLD"
grep -cx $$ mine/cgroup.procs
rmdir mine 2>&1 || true
echo 3G > mine/gpu.memory.max
P
echo $$ > cgroup.procs
P | python3 -c 'import json, sys; print(json.load(sys.stdin)[0])'
rmdir mine
""",
    )
    assert lines[0] == str(MANY)
    assert lines[1] == lines[2] == str([[6144] * 6, [0] * 6, []])
    assert lines[3] == "1"
    assert lines[4].endswith("Device or resource busy")
    assert lines[5:] == [str([[3072] * 6, [0] * 6, []]), str(MANY)]


def test_groups_in_groups_have_the_least_limit_and_processes_at_the_end_only(both: Monitored, groups: Path) -> None:
    """As in cgroup v2: a group has groups in it or processes, never both."""
    lines = shell(
        both,
        groups,
        """
mkdir out out/in
echo 2G > out/gpu.memory.max
(echo $$ > out/cgroup.procs) 2>&1 || true
echo $$ > out/in/cgroup.procs
P
mkdir out/in/more 2>&1 || true
echo 1G > out/in/gpu.memory.max
P
echo $$ > cgroup.procs
grep -c $$ cgroup.procs || true
rmdir out/in out
""",
    )
    assert lines[0].endswith("Device or resource busy")
    assert lines[2].endswith("Device or resource busy")
    assert [lines[1], lines[3]] == [str([[mib] * 6, [0] * 6, []]) for mib in (2048, 1024)]
    assert lines[4:] == ["0"], "the root has all that is in no group, and names none of it"


def test_a_group_is_told_neither_what_others_take_nor_who_else_is_there(both: Monitored, groups: Path) -> None:
    other = (groups / "two" / "cgroup.procs").read_text().strip()
    told = """
import json, os, pynvml as n, sys
n.nvmlInit()
def asked(call, *arguments):
    try:
        return call(*arguments)
    except n.NVMLError as error:
        return error.value
gpu = n.nvmlDeviceGetHandleByIndex(4)
calls = n.nvmlDeviceGetPowerUsage, n.nvmlDeviceGetTotalEnergyConsumption, n.nvmlDeviceGetPerformanceState
print(json.dumps([*(asked(call, gpu) for call in calls), asked(n.nvmlSystemGetProcessName, int(sys.argv[1]))]))
"""
    script = f"""
ask() {{ "$PYTHON" -c {shlex.quote(told)} {other}; }}
ask
mkdir mine
echo $$ > mine/cgroup.procs
ask
"""
    outside, inside = map(json.loads, shell(both, groups, script))
    (groups / "mine").rmdir()
    assert outside[0] > 9_000, "its meter is there"  # mW, of 90 W and more at a fifth of the speed
    assert outside[3] == "two"
    assert inside == [0, 0, 3, 6], "nothing of its own, not supported, and not found"


def test_an_applications_group_is_told_of_its_application_alone(both: Monitored, groups: Path) -> None:
    (pid,) = (groups / "one" / "cgroup.procs").read_text().split()
    (told,) = shell(both, groups, "echo $$ > one/cgroup.procs\nP")
    assert told == str([[6144] * 6, [0, 0, 0, 0, 6144 * 9 // 10, 0], [int(pid)]])


def test_an_application_is_told_of_a_limit_as_it_is_now(both: Monitored, groups: Path) -> None:
    """Of what it had before it holds more."""
    lines = shell(both, groups, "P\necho 2G > two/gpu.memory.max\nP\necho 4G > two/gpu.memory.max\nP", name="two")
    found = [line.partition("], [")[0] for line in lines]
    assert found == ["[[4096", "[[2048", "[[4096"]


def test_who_has_ended_is_in_no_group(both: Monitored, groups: Path) -> None:
    shell(both, groups, "mkdir gone\necho $$ > gone/cgroup.procs")
    assert (groups / "gone" / "cgroup.procs").read_text() == ""
    (groups / "gone").rmdir()


def test_a_process_that_is_not_there_is_refused(both: Monitored, groups: Path) -> None:
    done = subprocess.Popen(["true"])
    done.wait()
    with pytest.raises(OSError, match=os.strerror(errno.ESRCH)):
        (groups / "one" / "cgroup.procs").write_text(str(done.pid))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run something as somebody else")
def test_a_server_moves_processes_of_its_own_user_only(monkeypatch: pytest.MonkeyPatch) -> None:
    server = LiveServer(loads(TEXT), cells_library())
    views, group = views_of(server), server.process_groups.mkdir("some")
    with subprocess.Popen(["sleep", "60"], user=65534) as theirs:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        with pytest.raises(OSError, match=os.strerror(errno.EPERM)):
            views.admit(theirs.pid, group)
        assert views.within(group) == []
        monkeypatch.setattr(os, "geteuid", lambda: 65534)
        views.admit(theirs.pid, group)
        assert views.within(group) == [theirs.pid]
        theirs.kill()
    server.close_work()
    server.engine.close()


def test_without_monitoring_only_applications_are_in_groups() -> None:
    """It would make no difference to anybody."""
    run = Run(loads(TEXT), cells_library())
    run.start()
    with pytest.raises(OSError, match=os.strerror(errno.ESRCH)):
        LiveGroups(run).write("one/cgroup.procs", str(os.getpid()))
    run.close()


def test_children_come_along_with_whoever_comes_to_a_group() -> None:
    """Also one that was there before; but not one that has come to a group itself."""
    server = LiveServer(loads(TEXT), cells_library())
    tree, views = server.process_groups, views_of(server)
    one, other = tree.mkdir("mine"), tree.mkdir("other")
    one.memory, other.memory = 7, 9
    with subprocess.Popen(["sleep", "60"]) as child, subprocess.Popen(["sleep", "60"]) as elsewhere:
        peers = [PeerProcess(pid, os.getuid(), began(pid) or 0) for pid in (os.getpid(), child.pid, elsewhere.pid)]
        assert [views.view_of(peer).memory for peer in peers] == [None] * 3
        views.admit(elsewhere.pid, other)
        views.admit(os.getpid(), one)
        assert [views.view_of(peer).memory for peer in peers] == [7, 7, 9]
        child.kill()
        elsewhere.kill()
    server.engine.close()


def test_a_group_that_may_have_nothing_is_told_of_no_machines_memory(both: Monitored, groups: Path) -> None:
    """Of a page that is taken, by either version of the question."""
    code = """
n.nvmlInit()
gpu = n.nvmlDeviceGetHandleByIndex(4)
one, two = n.nvmlDeviceGetMemoryInfo(gpu), n.nvmlDeviceGetMemoryInfo(gpu, version=n.nvmlMemory_v2)
both = one.total, one.free, one.used, two.total, two.free, two.used, two.reserved
print(json.dumps([each >> 20 for each in both]))
"""
    script = "mkdir none\necho 0 > none/gpu.memory.max\necho $$ > none/cgroup.procs\n"
    start = "import json, pynvml as n\n"
    (told,) = shell(both, groups, f'{script}"$PYTHON" -c {shlex.quote(start + code)}')
    (groups / "none").rmdir()
    assert json.loads(told) == [1, 0, 1, 1, 0, 0, 1]
