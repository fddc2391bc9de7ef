"""Lint of somebody's RTL: what doesn't compile is an error, what Verilator warns of breaks the rule `rtl.lint`."""

import re
from collections.abc import Sequence
from pathlib import Path

from ringhil.emulator.build.diagnostics import verilator_complaint
from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import run
from ringhil.emulator.build.toolchain import Verilator

LINT = "rtl.lint"
DEMANDS = "clean under `verilator --lint-only -Wall`"
_WARNING = re.compile(r"^%Warning-(\w+): (.+)$", re.MULTILINE)
_LOOP = "UNOPTFLAT"
_STEP = re.compile(r"^ +(\S+:\d+:\d+): +Example path: (\S+)$", re.MULTILINE)
# Each signal keeps its module and its place; so Verilator may take for a loop what is none, and is asked for one only
# where it has found one without them.
_PLAIN = ("-fno-inline", "-fno-dfg")


def warnings(files: Sequence[Path], top: str, verilator: Verilator) -> list[str]:
    """What Verilator warns of, one line each: `CODE: place: text`.

    Raises BuildError, with one line, when it doesn't compile or has a combinational loop: then nothing can be run.
    """
    output = _linted(files, top, verilator)
    found = [f"{code}: {text}" for code, text in _WARNING.findall(output)]
    for line in found:
        if line.startswith(_LOOP):
            loop = _loop(_linted(files, top, verilator, *_PLAIN)) or line.partition(": ")[2]
            raise BuildError(f"combinational loop: {loop}; every output must be registered", output)
    return found


def _loop(output: str) -> str:
    """Where the first loop is, and the signals on it; "" if there is none."""
    begin = output.find(f"%Warning-{_LOOP}")
    end = output.find("\n%", begin + 1)
    steps = _STEP.findall(output[begin : end if end > 0 else None]) if begin >= 0 else []
    signals = [(place, name) for place, name in steps if "." in name]
    if not signals:
        return ""
    scope = signals[0][1].rpartition(".")[0]
    names = " -> ".join(name.removeprefix(f"{scope}.") for _, name in signals)
    return f"{signals[0][0]}: {names} in {scope}"


def _linted(files: Sequence[Path], top: str, verilator: Verilator, *options: str) -> str:
    """What Verilator says. Raises BuildError when it doesn't compile."""
    environment = child_environment({"VERILATOR_ROOT": str(verilator.root)})
    command = [str(verilator.binary), "--lint-only", "--quiet", "-Wall", "-Wno-fatal", "-Wno-DECLFILENAME"]
    command += ["--no-timing", "--top-module", top, *options, *(str(f.absolute()) for f in files)]
    (finished,) = run([command], env=environment)
    if finished.returncode != 0:
        raise BuildError(verilator_complaint(finished.output) or "Verilator failed", finished.output)
    return finished.output
