"""Lint of somebody's RTL: what doesn't compile is an error, what Verilator warns of breaks the rule `rtl.lint`."""

import re
from collections.abc import Sequence
from pathlib import Path

from ringhil.emulator.build.diagnostics import verilator_complaint
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import run
from ringhil.emulator.build.toolchain import Verilator, plain_environment

LINT = "rtl.lint"
DEMANDS = "clean under `verilator --lint-only -Wall`"
_WARNING = re.compile(r"^%Warning-(\w+): (.+)$", re.MULTILINE)
_LOOP = "UNOPTFLAT"


def warnings(files: Sequence[Path], top: str, verilator: Verilator) -> list[str]:
    """What Verilator warns of, one line each: `CODE: place: text`.

    Raises BuildError, with one line, when it doesn't compile or has a combinational loop: then nothing can be run.
    """
    environment = plain_environment() | {"VERILATOR_ROOT": str(verilator.root)}
    command = [str(verilator.binary), "--lint-only", "--quiet", "-Wall", "-Wno-fatal", "-Wno-DECLFILENAME"]
    command += ["--no-timing", "--top-module", top, *(str(f.absolute()) for f in files)]
    (finished,) = run([command], env=environment)
    if finished.returncode != 0:
        raise BuildError(verilator_complaint(finished.output) or "Verilator failed", finished.output)
    found = [f"{code}: {text}" for code, text in _WARNING.findall(finished.output)]
    for line in found:
        if line.startswith(_LOOP):
            place = line.partition(": ")[2]
            raise BuildError(f"combinational loop: {place}; every output must be registered", finished.output)
    return found
