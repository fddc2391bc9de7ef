"""Runs a built bench's cocotb tests in a process of its own, and runs a failing one again for its waves."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.children import Child
from ringhil.emulator.testbench import standing
from ringhil.emulator.testbench.build import Bench
from ringhil.emulator.testbench.results import TestResult, assertion, ended, killed, results, too_long

PATIENCE = 600  # seconds that one simulation may take
_PYTHON = {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONHASHSEED": "0"}  # of the simulation: the same everywhere
_SEPARATORS = ";,"  # between and within the entries of GPI_USERS
WAVES = "dump.vcd"
_ANSWER = 5.0  # seconds for a simulation to say where it stands
_LOOK = 0.05  # seconds
_running: set[Child] = set()
# No design sends these to its simulator; SIGKILL is also what a system without memory sends.
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True)
class BenchRun:
    """What came of the cocotb tests of one run.

    All tests of one run: `results`, the results file `xml`, the simulator's output `log`, and `waves` (VCD) if they
    were taken.
    """

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
    going: Path | None = None,
    hand: Sequence[int] = (),
    largest: int | None = None,
) -> BenchRun:
    """Run the cocotb tests in `modules` (or only those named in `tests`); files go into `folder`.

    `settings` become environment variables of the simulation, which gets no others from outside than every program
    that we start (`child_environment`): what is set there for cocotb has no say here unless it is given again. `paths`
    are searched for the modules first; `waves` needs a bench built with waves; `hand` are file descriptors that the
    simulation gets, by the same numbers, and that are closed here; `largest` bytes of waves end it. Raises BuildError
    when the simulator can't be started, and EndedError when it ends without results: a module can't be imported, an
    assertion inside the RTL failed, it crashed, or took longer than `patience` seconds; where it writes to the file
    `going`, since it last did. KilledError is one of them, of a simulator that somebody outside has ended.
    """
    import cocotb_tools.config  # slow to import, and only needed here
    import find_libpython

    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    xml, log, stands, shown = (folder / n for n in ("results.xml", "simulation.log", "standing.json", WAVES))
    for old in (xml, stands, shown):
        old.unlink(missing_ok=True)
    environment = child_environment(_PYTHON | dict(settings or {})) | {
        "COCOTB_TOPLEVEL": bench.top,
        "COCOTB_TEST_MODULES": ",".join([standing.__name__, *modules]),
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_RESULTS_FILE": str(xml),
        "COCOTB_ANSI_OUTPUT": "0",
        "TOPLEVEL_LANG": "verilog",
        standing.FILE: str(stands),
        standing.FOLDERS: os.pathsep.join(map(str, paths)),
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
    code = _execute(command, environment, folder, log, _Limits(patience, going, folder / WAVES, largest), hand)
    if code is None:
        raise too_long(log, stands, seed, f"{'came no further for' if going else 'took longer than'} {patience:g} s")
    if -code in _FROM_OUTSIDE:
        raise killed(log, -code, seed, bench.simulator)
    stopped = assertion(log, seed)
    if stopped is None and not xml.is_file():
        stopped = ended(log, modules, paths, seed, bench.simulator)
    if stopped is not None:
        raise stopped
    return BenchRun(results(xml, seed, paths), xml, log, shown if waves and shown.is_file() else None)


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


@dataclass(frozen=True)
class _Limits:
    """Seconds without an end, and without the file `going` having grown; bytes of waves."""

    patience: float
    going: Path | None
    waves: Path
    largest: int | None

    def kept(self, process: Child) -> bool:
        """Whether the process ended within them."""
        until, size = time.monotonic() + self.patience, -1
        while True:
            left = max(0.0, until - time.monotonic())
            try:
                process.wait(left if self.largest is None and self.going is None else min(left, _LOOK))
            except subprocess.TimeoutExpired:
                if self.largest is not None and _size(self.waves) > self.largest:
                    return False
                if self.going is not None and _size(self.going) != size:
                    until, size = time.monotonic() + self.patience, _size(self.going)
                if time.monotonic() >= until:
                    return False
                continue
            return True


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0


def _execute(
    command: list[str], environment: dict[str, str], folder: Path, log: Path, limits: _Limits, hand: Sequence[int]
) -> int | None:
    """Its exit code, or a signal's number below 0; None: it took too long, was asked where it stands, and ended."""
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
        _running.add(process)
        try:
            if limits.kept(process):
                return process.wait()
            process.send_signal(standing.SIGNAL)  # it answers, and ends as it would have: waves are whole then
            with suppress(subprocess.TimeoutExpired):
                process.wait(_ANSWER)
            return None
        finally:
            process.end()
            _running.discard(process)


def stop_benches() -> None:
    """End whatever simulation runs, in whichever thread it was started: there it counts as killed."""
    for process in tuple(_running):
        process.kill_all()
