"""The names of the cocotb tests of a module: `python -m ringhil.emulator.testbench.listing MODULE` prints them as JSON.

The module is imported in a process of its own, as in a simulation, but without one.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.children import Child
from ringhil.emulator.testbench.results import not_imported

_PATIENCE = 60.0  # seconds


def listed(module: str, folders: Sequence[Path]) -> list[tuple[str, bool]]:
    """Each with whether it is to be skipped, in the order in which they are run; `folders` are searched for the module
    first. Raises BuildError when it can't be imported, or has none."""
    path = os.pathsep.join([*map(str, folders), *(p for p in sys.path if p)])
    command = [sys.executable, "-m", __name__, module]
    process = Child(
        command,
        env=child_environment({"PYTHONPATH": path, "PYTHONUTF8": "1"}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        output, errors = process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        raise BuildError(f"{module}: to import it takes longer than {_PATIENCE:g} s") from None
    finally:
        process.end()
    if process.returncode != 0:
        raise BuildError(f"{module}: {not_imported(errors.decode(errors='replace'), [module], folders)}")
    found = [(str(name), bool(skip)) for name, skip in json.loads(output.splitlines()[-1])]
    if not found:
        raise BuildError(f"{module}: no cocotb tests: mark them with @cocotb.test()")
    return found


def _tests(module: str) -> list[tuple[str, bool]]:
    from cocotb.regression import Test, TestGenerator

    found: list[Test] = []
    for thing in vars(import_module(module)).values():
        if isinstance(thing, TestGenerator):
            found += thing.generate_tests()
        elif isinstance(thing, Test):
            found.append(thing)
    return [(test.name, bool(test.skip)) for test in sorted(found, key=lambda test: test.stage)]


if __name__ == "__main__":
    print(json.dumps(_tests(sys.argv[1])))
