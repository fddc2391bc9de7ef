"""What the tests of the RTL need of Verilator and Icarus."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from ringhil.emulator.build.build import cache_dir
from ringhil.emulator.build.toolchain import Verilator, find_verilator
from ringhil.emulator.engine.library import rtl_files

needs_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus Verilog isn't installed: apt-get install iverilog"
)


def verilator() -> Verilator:
    return find_verilator(cache_dir() / "versions")


def environment() -> dict[str, str]:
    """With the installed Verilator as the first one on PATH, for tools that call it by name."""
    root = verilator().root
    return os.environ | {
        "VERILATOR_ROOT": str(root),
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}",
        # The installed makefile leaves this compiler switch blank.
        "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include",
    }


def complaints(command: Sequence[str | Path]) -> str:
    """Run a tool; what it says, with its exit code if that isn't 0."""
    done = subprocess.run(
        [*command, *rtl_files()], env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    code = f"exit {done.returncode}\n" if done.returncode else ""
    return code + done.stdout + done.stderr
