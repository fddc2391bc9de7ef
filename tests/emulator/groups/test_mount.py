"""The group tree as files: what a person with a shell does, while the server runs."""

import os
import select
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.emulator.serial.served import Served

from ringhil.emulator.groups.mount import GroupMountError, check_mount

MIB = 1 << 20
SERVER = """
server:
  cards: {a: {gpus: 4, host_links: [0, 1]}}
  settings: {device_memory: 23552}
sharing:
  groups: {team: {memory: 12000}}
  applications:
    test1: {gpu: a.2, group: team, steps: 4000000000, host: 1600, compute: 1740}
    test2: {gpu: a.2, group: team, steps: 4000000000, host: 1600, compute: 1740}
"""
UNTIL_THEY_HAVE_THEIR_MEMORY = """
until [ "$(cat team/gpu.memory.current)" = 11324620800 ]; do sleep 0.02; done
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty one, where groups can be mounted."""
    found = tmp_path / "groups"
    found.mkdir()
    try:
        check_mount(found)
    except GroupMountError as error:
        pytest.skip(str(error))
    return found


def shell(folder: Path, script: str) -> tuple[list[str], str]:
    """Lines and errors of a script in a folder; `!` prints the code of what has failed."""
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def test_a_file_is_open_as_its_mode_says_and_read_anew_from_its_start(folder: Path, tmp_path: Path) -> None:
    """Also for root, whom no mode keeps out."""
    with Served(tmp_path, SERVER, "--clock", "100000", "--groups", str(folder)):
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (folder / "team").iterdir() if file.is_file()}
        written = {"cgroup.procs", "gpu.memory.max", "gpu.slice", "gpu.priority"}
        assert modes == {name: 0o644 if name in written else 0o444 for name in modes}
        assert set(modes) > written
        for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
            with pytest.raises(PermissionError):
                os.open(folder / "gpu.stat", flags)
        with pytest.raises(PermissionError):
            os.truncate(folder / "gpu.stat", 0)
        limit = folder / "team" / "gpu.memory.max"
        with limit.open("rb", buffering=0) as file:
            before = file.read(100)
            limit.write_text("7G")
            assert before != str(7 << 30).encode() + b"\n"
            file.seek(0)
            assert file.read(100) == str(7 << 30).encode() + b"\n"


def test_who_reads_in_parts_reads_what_the_file_said_at_its_start(folder: Path, tmp_path: Path) -> None:
    """Whoever else opens and closes it."""
    with Served(tmp_path, SERVER, "--clock", "100000", "--groups", str(folder)):
        limit = folder / "team" / "gpu.memory.max"
        with limit.open("rb", buffering=0) as file:
            begin = file.read(4)
            limit.write_text("7G")
            assert limit.read_text() == f"{7 << 30}\n"
            assert begin + file.read(100) == f"{12000 * MIB}\n".encode()


def test_the_server_stays_where_it_was_begun(folder: Path, tmp_path: Path) -> None:
    with Served(tmp_path, SERVER, "--clock", "100000", "--groups", str(folder)) as server:
        assert Path(f"/proc/{server.process.pid}/cwd").readlink() == Path.cwd()


def test_a_session_with_cat_and_echo(folder: Path, tmp_path: Path) -> None:
    record = tmp_path / "session.rec"
    with Served(tmp_path, SERVER, "--clock", "100000", "--groups", str(folder), "--record", str(record)) as server:
        shell(folder, UNTIL_THEY_HAVE_THEIR_MEMORY)
        lines, errors = shell(
            folder,
            """
            ls -F . team
            cat team/gpu.memory.max team/gpu.slice team/gpu.priority team/test1/cgroup.procs
            mkdir small
            echo 6G > small/gpu.memory.max
            echo 200 > small/gpu.slice
            cat team/test1/cgroup.procs > small/cgroup.procs
            cat small/cgroup.procs small/gpu.memory.max small/gpu.memory.current small/gpu.slice
            cut -d' ' -f2,4- small/gpu.contexts
            grep -c . small/gpu.stat
            rmdir team/test1
            ls -d team/*/
            """,
        )
        assert errors == ""
        assert lines[:2] == [".:", "cgroup.procs"]
        assert [line for line in lines if line.endswith("/")] == ["team/", "test1/", "test2/", "team/test2/"]
        pid = "4194305"
        at = lines.index(str(12000 * MIB))
        assert lines[at : at + 4] == [str(12000 * MIB), "default", "default", pid]
        assert lines[at + 4 : at + 8] == [pid, str(6 << 30), str(5400 * MIB), "200"]
        memory = f"memory.current={5400 * MIB} memory.max={6 << 30}"
        assert lines[at + 8] == f"name=test1 context=1 {memory} slice=200 priority=0"
        assert lines[at + 9] == "5"
        _, errors = shell(
            folder,
            """
            echo 0 > small/gpu.slice
            echo much > small/gpu.memory.max
            echo 77 > small/cgroup.procs
            echo 1 > small/gpu.stat
            echo 1 > small/gpu.none
            printf '1\\377' > small/gpu.priority
            mkdir small/in small 'a b' $'\\377'
            rmdir small team
            rm small/gpu.stat
            [ "$(cat small/gpu.slice small/gpu.memory.max)" = "200
6442450944" ]
            """,
        )
        assert [line.rpartition(": ")[2] for line in errors.splitlines()] == [
            "Numerical result out of range",
            "Invalid argument",
            "No such process",
            "Permission denied",
            "Permission denied",
            "Invalid argument",
            "Device or resource busy",
            "File exists",
            "Invalid argument",
            "Invalid argument",
            "Device or resource busy",
            "Directory not empty",
            "Operation not permitted",
        ]
        with subprocess.Popen(["sleep", "60"], cwd=folder / "small") as inside:  # it is unmounted all the same
            assert server.end(signal.SIGTERM) == (0, "")
            inside.kill()
    assert list(folder.iterdir()) == []
    done = ringhil("replay", record)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith("identical: ")


def test_when_somebody_unmounts_it_the_server_says_so_and_goes_on(folder: Path, tmp_path: Path) -> None:
    with Served(tmp_path, SERVER, "--clock", "100000", "--groups", str(folder)) as server:
        command = ["umount"] if os.geteuid() == 0 else ["fusermount3", "-u"]
        subprocess.run([*command, folder], check=True)
        assert server.process.stderr is not None
        assert select.select([server.process.stderr], [], [], 30)[0], "it says nothing"
        words = f"ringhil: {folder}: was unmounted; the groups are no files any more\n"
        assert server.process.stderr.readline() == words
        assert server.process.poll() is None
        assert server.end(signal.SIGTERM) == (0, "")


def test_a_directory_must_be_empty_and_there(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "server.yaml").write_text(SERVER)
    serve = ("serve", tmp_path / "server.yaml", "--record", tmp_path / "f.rec", "--groups")
    none = tmp_path / "none"
    words = "allowed is an empty directory"
    assert refusal(*serve, none) == f"ringhil: --groups: {none}: No such file or directory; {words}"
    assert refusal(*serve, tmp_path).startswith(f"ringhil: --groups: {tmp_path}: found ")
    assert not (tmp_path / "f.rec").exists()


def test_without_the_device_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = tmp_path / "fuse"
    monkeypatch.setattr("ringhil.emulator.groups.mount._DEVICE", device)
    (tmp_path / "empty").mkdir()
    with pytest.raises(GroupMountError) as caught:
        check_mount(tmp_path / "empty")
    assert str(caught.value) == f"{device}: cannot be opened: No such file or directory; groups as files need it"


def test_without_the_library_the_line_says_how_to_install_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mfusepy", None)
    with pytest.raises(GroupMountError, match=r"there is no mfusepy; install it: pip install 'ringhil\[groups\]'"):
        check_mount(folder)
