"""Runs a built bench's cocotb tests in a process of its own, and runs a failing one again for its waves."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.children import Child
from ringhil.emulator.documents import one_line
from ringhil.emulator.testbench.build import Bench

PATIENCE = 600  # seconds that one simulation may take
_PYTHON = {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONHASHSEED": "0"}  # of the simulation: the same everywhere
_SEPARATORS = ";,"  # between and within the entries of GPI_USERS
_TAIL = 4000  # characters of a simulator's output that are kept for a message
# What Verilator and Icarus say of an assertion inside the RTL that fails.
_ASSERTION = (
    re.compile(r"^\[(?P<time>\d+)\] %Fatal: (?P<place>\S+): Assertion failed in (?P<where>\S+): (?P<rule>.*)$", re.M),
    re.compile(r"^FATAL: (?P<place>\S+): (?P<rule>.*)\n +Time: (?P<time>\d+) +Scope: (?P<where>\S+)$", re.M),
)


@dataclass(frozen=True)
class TestResult:
    """One cocotb test, `name`: `failure` is None or what it said; `seed` replays it; `skipped`: it wasn't run."""

    __test__ = False  # not a test of pytest's

    name: str
    failure: str | None
    seed: int
    skipped: bool = False


@dataclass(frozen=True)
class BenchRun:
    """All tests of one run: `results`, the results file `xml`, the simulator's output `log`, and `waves` (VCD) if they
    were taken."""

    results: tuple[TestResult, ...]
    xml: Path
    log: Path
    waves: Path | None

    @property
    def failed(self) -> tuple[TestResult, ...]:
        """Those of the results that are failures."""
        return tuple(r for r in self.results if r.failure is not None)


def run_bench(
    bench: Bench,
    modules: Sequence[str],
    folder: Path,
    *,
    seed: int = 1,
    tests: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    waves: bool = False,
    paths: Sequence[Path] = (),
    patience: float = PATIENCE,
    hand: Sequence[int] = (),
) -> BenchRun:
    """Run the cocotb tests in `modules` (or only those named in `tests`); files go into `folder`.

    `settings` become environment variables of the simulation, which gets no others from outside than every program
    that we start (`child_environment`): what is set there for cocotb has no say here unless it is given again. `paths`
    are searched for the modules first; `waves` needs a bench built with waves; `hand` are file descriptors that the
    simulation gets, by the same numbers, and that are closed here. Raises BuildError when the simulator can't be
    started or ends without results: an assertion inside the RTL failed, it crashed, or took longer than `patience`
    seconds.
    """
    import cocotb_tools.config  # slow to import, and only needed here
    import find_libpython

    folder.mkdir(parents=True, exist_ok=True)
    xml, log = folder / "results.xml", folder / "simulation.log"
    xml.unlink(missing_ok=True)
    environment = child_environment(_PYTHON | dict(settings or {})) | {
        "COCOTB_TOPLEVEL": bench.top,
        "COCOTB_TEST_MODULES": ",".join(modules),
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_RESULTS_FILE": str(xml),
        "COCOTB_ANSI_OUTPUT": "0",
        "TOPLEVEL_LANG": "verilog",
        "PYTHONPATH": os.pathsep.join([*map(str, paths), *(p for p in sys.path if p)]),
        "PYGPI_PYTHON_BIN": sys.executable,
        "PATH": os.environ.get("PATH", "") + os.pathsep + str(cocotb_tools.config.libs_dir),
        "GPI_USERS": _users(find_libpython.find_libpython(), cocotb_tools.config.pygpi_entry_point()),
    }
    if tests:
        environment["COCOTB_TEST_FILTER"] = r"\.(" + "|".join(map(re.escape, tests)) + ")$"
    if bench.simulator == "verilator":
        environment["COCOTB_TRUST_INERTIAL_WRITES"] = "1"
        command = [str(bench.directory / bench.top), *(["--trace"] if waves else [])]
    else:
        command = ["vvp", "-m", cocotb_tools.config.lib_entry("vpi", "icarus"), str(bench.directory / "sim.vvp")]
        command += [] if waves else ["-none"]
    _execute(command, environment, folder, log, patience, hand)
    said = log.read_text(errors="replace")
    failed = next((found for pattern in _ASSERTION if (found := pattern.search(said))), None)
    if failed is not None:
        # A cycle is a nanosecond.
        place = f"{failed['place']}, {failed['where']}, cycle {failed['time']} of the simulation"
        text = f"assertion failed: {failed['rule']} ({place})"
        raise BuildError(text, said[-_TAIL:])
    if not xml.is_file():
        raise BuildError(f"{bench.simulator} ended without results; {_last_words(log)}", said[-_TAIL:])
    shown = folder / "dump.vcd"
    return BenchRun(_results(xml, seed), xml, log, shown if waves and shown.is_file() else None)


def _users(python: str | None, entry_point: str) -> str:
    """The libraries that cocotb loads into the simulator. Raises BuildError."""
    if python is None:
        raise BuildError(
            f"{sys.executable}: this Python has no shared library (libpython), which cocotb loads into a simulation; "
            "use one that has, such as your system's, or build it with --enable-shared"
        )
    for path in (python, entry_point.rpartition(",")[0] or entry_point):
        if set(path) & set(_SEPARATORS):
            raise BuildError(f"{path}: cocotb can't be told of a path with any of {_SEPARATORS}; move it elsewhere")
    return f"{python};{entry_point}"


def _execute(
    command: list[str], environment: dict[str, str], folder: Path, log: Path, patience: float, hand: Sequence[int]
) -> None:
    with log.open("wb") as output:
        try:
            process = Child(
                command,
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=hand,
            )
        except OSError as error:
            raise BuildError(f"{command[0]}: can't be started: {error.strerror}") from error
        finally:
            for descriptor in hand:
                os.close(descriptor)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            raise BuildError(f"the simulation took longer than {patience:g} s; {_last_words(log)}") from None
        finally:
            process.end()


def _last_words(log: Path) -> str:
    """Of a simulation: its log may lie in a folder that is gone when somebody reads of it."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return f"it said last: {one_line(lines[-1])}" if lines else "it said nothing"


def _results(xml: Path, seed: int) -> tuple[TestResult, ...]:
    results = []
    try:
        root = ElementTree.parse(xml).getroot()
    except ElementTree.ParseError as error:
        raise BuildError(f"the results of the simulation break off ({error}); is there room on the disk?") from None
    for case in root.iter("testcase"):
        failure = case.find("failure")
        if failure is None:
            failure = case.find("error")
        said = None
        if failure is not None:
            said = failure.get("error_msg") or failure.get("message") or (failure.text or "").strip() or "failed"
        results.append(TestResult(case.get("name", "?"), said, seed, case.find("skipped") is not None))
    return tuple(results)
