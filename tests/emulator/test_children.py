"""Whoever is killed leaves no process: whatever starts one, and whatever that has started; nor a temporary folder."""

import os
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from ringhil.emulator.children import Child
from ringhil.emulator.debug.processes import beginning

EMULATOR = Path(__file__).resolve().parents[2] / "emulator"
TREE = "sleep 9{tag} & sleep 9{tag}; true"
STARTERS = {
    "compilers": "from ringhil.emulator.build.processes import run; run([['sh', '-c', {tree!r}]], env={{}})",
    "tools of proofs": (
        "from ringhil.emulator.proofs.tools import run_tool; from pathlib import Path\n"
        "run_tool(['sh', '-c', {tree!r}], Path('.'), 60)"
    ),
    "simulators": (
        "from ringhil.emulator.testbench.build import Bench; from ringhil.emulator.testbench.runner import run_bench\n"
        "from pathlib import Path\n"
        "Path('top').write_text('#!/bin/sh\\n' + {tree!r}); Path('top').chmod(0o755)\n"
        "run_bench(Bench('verilator', 'top', Path('.').absolute(), '', False), ['x'], Path('out').absolute())"
    ),
    "a compiler of a command": (
        "import os; from pathlib import Path; from ringhil.emulator.front.cli import main\n"
        "Path('cxx').write_text('#!/bin/sh\\n[ \"$1\" = --version ] && echo g++ 1 && exit\\n' + {tree!r})\n"
        "Path('cxx').chmod(0o755); os.environ['CXX'] = './cxx'; os.environ['RINGHIL_CACHE'] = 'cache'\n"
        "main(['firmware', 'check', './x.so'])"
    ),
}
OWN_FOLDERS = {"children.py", "campaign/dask/on_worker.py"}  # the second: its process watches its parent
OWN_WAY = {
    "children.py": "it is the one place",
    "loop/apart.py": "the process watches its line",
    "campaign/dask/on_worker.py": "the process watches its parent",
    "groups/mount.py": "a program that unmounts, and has to when we are gone",
}


def running(tag: str) -> list[int]:
    """Processes that are part of the tree; one that has ended has no words any more."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if words[:2] == [b"sleep", f"9{tag}".encode()]:
                found.append(int(process.name))
    return found


def left(tag: str) -> list[int]:
    """What is still running after a moment: a killed process ends when its turn comes."""
    end = time.monotonic() + 2
    while running(tag) and time.monotonic() < end:
        time.sleep(0.02)
    return running(tag)


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("starter", STARTERS)
def test_nothing_of_a_tree_outlives_a_parent_that_is_killed(starter: str, tmp_path: Path) -> None:
    tag = f"{os.getpid()}"
    code = STARTERS[starter].format(tree=TREE.format(tag=tag))
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        while len(running(tag)) < 2:
            assert parent.poll() is None
            time.sleep(0.02)
        time.sleep(0.2)  # it has come back from starting it
    finally:
        parent.kill()
        parent.wait()
    assert left(tag) == []


def test_nor_does_anything_outlive_one_that_ends_by_itself(tmp_path: Path) -> None:
    tag = f"8{os.getpid()}"
    code = "import sys; from ringhil.emulator.children import Child; Child(['sh', '-c', sys.argv[1]])"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, TREE.format(tag=tag)], check=True)
    assert left(tag) == []


def test_what_a_fork_has_started_ends_with_the_fork(tmp_path: Path) -> None:
    tag = f"7{os.getpid()}"
    with Child(["true"]) as before:
        before.wait()
    pid = os.fork()
    if pid == 0:
        Child(["sh", "-c", TREE.format(tag=tag)])
        signal.pause()
    while len(running(tag)) < 2:
        time.sleep(0.02)
    time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert left(tag) == []


def test_processes_are_started_in_one_place() -> None:
    """Or by who is named here, for a reason."""
    starts = re.compile(
        r"\b(subprocess\.(Popen|run|call|check_call|check_output)|os\.(posix_spawn\w*|spawn\w*|popen|system))\("
    )
    texts = {str(file.relative_to(EMULATOR)): file.read_text() for file in EMULATOR.rglob("*.py")}
    assert {name for name, text in texts.items() if starts.search(text)} == set(OWN_WAY)


def test_a_check_that_is_killed_leaves_no_folder(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    environment = {**os.environ, "TMPDIR": str(made)}
    code = "from ringhil.emulator.front.cli import main; main(['rtl', 'check'])"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as check:
        while not list(made.glob("ringhil-check-*/*")):
            assert check.poll() is None
            time.sleep(0.02)
        check.kill()
    end = time.monotonic() + 5
    while list(made.iterdir()) and time.monotonic() < end:
        time.sleep(0.02)
    assert list(made.iterdir()) == []


def test_temporary_folders_are_made_in_one_place() -> None:
    """Which removes them in any case; or by who is named above, for a reason. An unnamed TemporaryFile is fine."""
    makes = re.compile(r"\b(TemporaryDirectory|mkdtemp|mkstemp|NamedTemporaryFile)\(")
    texts = {str(file.relative_to(EMULATOR)): file.read_text() for file in EMULATOR.rglob("*.py")}
    assert {name for name, text in texts.items() if makes.search(text)} == OWN_FOLDERS


class Busy:
    """A run that never comes to where it is wanted."""

    def go(self, cycle: int) -> None:
        """Returns for cycle 0 alone."""
        while cycle:
            pass

    def ask(self, what: str) -> int:
        """Its process."""
        return os.getpid()


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("how", ["go", "travel"])
def test_a_moment_that_is_on_its_way_ends_with_who_wanted_it(how: str) -> None:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        moment = beginning(Busy)
        os.write(writing, b"begun")
        moment.go(1) if how == "go" else moment.travel([0, 1, 2])
    os.close(writing)
    assert os.read(reading, 5) == b"begun"
    time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert select.select([reading], [], [], 2)[0], "somebody goes on"  # whoever does holds it open
    assert os.read(reading, 1) == b""
    os.close(reading)
