"""A small piece of the RTL, built by Verilator with coverage, that plays random link states and writes its counts."""

import os
import subprocess
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

from ringhil.emulator.build.build import cache_dir
from ringhil.emulator.build.toolchain import find_verilator
from ringhil.emulator.engine.library import RTL

# Files are written: how long that takes says nothing about us.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

_MAIN = """
#include <cstdlib>
#include "Vlink_state.h"
#include "verilated.h"
#include "verilated_cov.h"
int main(int, char** argv) {
  VerilatedContext context;
  Vlink_state top{&context};
  unsigned seed = std::atoi(argv[1]);
  for (int i = 0; i < std::atoi(argv[2]); i++) {
    seed = seed * 1103515245u + 12345u;
    top.clk_i = 0;
    top.rst_i = i < 2;
    top.now_i = i;
    top.restore_i = 5;
    top.rx_up_i = (seed >> 16) % 8 != 0;
    top.rx_fault_i = 0;
    top.eval();
    top.clk_i = 1;
    top.eval();
  }
  context.coveragep()->write(argv[3]);
}
"""


def program(folder: Path) -> Path:
    """The executable; its arguments are a seed, the number of cycles and the file to write."""
    verilator = find_verilator(cache_dir() / "versions")
    # The installed makefile leaves this compiler switch blank; -O0: compiling is all that takes time here.
    environment = os.environ | {"VERILATOR_ROOT": str(verilator.root), "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include"}
    (folder / "main.cpp").write_text(_MAIN)
    options = ["--coverage-line", "--coverage-toggle", "--top-module", "link_state", "-CFLAGS", "--std=c++20"]
    command: list[str | Path] = [
        verilator.binary,
        "--cc",
        "--exe",
        "main.cpp",
        *options,
        "-Mdir",
        "obj",
        RTL / "link_state.sv",
    ]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    # The installed makefile asks for a `python`, which a system may not have.
    switches = ["OPT_FAST=-O0", "OPT_SLOW=-O0", "OPT_GLOBAL=-O0", f"PYTHON3={sys.executable}"]
    make = ["make", "-C", "obj", "-f", "Vlink_state.mk", *switches]
    subprocess.run(make, cwd=folder, env=environment, check=True, capture_output=True)
    return folder / "obj" / "Vlink_state"


def play(executable: Path, seed: int, cycles: int, to: Path) -> Path:
    """Run it; the file that it wrote."""
    subprocess.run([executable, str(seed), str(cycles), str(to)], check=True)
    return to
