"""A model's own edge does what Verilator's evaluation does, whatever the RTL, the inputs and the usual values."""

import ctypes
import subprocess
from pathlib import Path

import pytest

from ringhil.emulator.build.build import BuildRequest, build
from ringhil.emulator.build.edge import member, write_edge
from ringhil.emulator.build.emitted_code import members
from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.request import Edge, Usual
from ringhil.emulator.build.toolchain import find_verilator
from ringhil.emulator.engine.library import rtl_files
from ringhil.emulator.engine.usual import CALM, FAIR

from .random_rtl import MODULE, PARTS, REGISTERS, design

CYCLES = 5000
NO_EDGE = (10,)  # of the seeds: there Verilator clears an array in a loop, which isn't known
DRIVER = """\
#include <cstdint>
#include "Vdut.h"
#include "Vdut___024root.h"
#define EXPORT extern "C" __attribute__((visibility("default")))

static uint64_t random_of(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static void edge(Vdut& m) {
#if MODEL_EDGE
  Vdut___024root___edge(*m.rootp);
#else
  m.clk_i = 0;
  m.eval();
  m.clk_i = 1;
  m.eval();
#endif
}

static void look(Vdut& m) {
#if MODEL_EDGE
  Vdut___024root___look(*m.rootp);
#else
  m.eval();
#endif
}

EXPORT int has_edge() { return MODEL_EDGE; }

// A hash of the outputs in every cycle; inputs rest for some cycles now and then.
EXPORT uint64_t play(uint64_t state, int cycles) {
  VerilatedContext context;
  Vdut m{&context};
  uint64_t hash = 14695981039346656037ull;
  const auto add = [&](uint64_t value) { hash = (hash ^ value) * 1099511628211ull; };
  m.rst_i = 1;
  m.eval();
  for (int i = 0; i < cycles; ++i) {
    m.rst_i = i < 3 || random_of(state) % 256 == 0;
    if (random_of(state) % 4 != 0) {
      m.a_i = random_of(state) & random_of(state);
      m.b_i = random_of(state) % 8 ? 0 : random_of(state);
      m.c_i = random_of(state);
      m.d_i = random_of(state) % 4 == 0;
    }
    edge(m);
    add(m.x_o);
    add(m.y_o);
    if (i % 3 == 0) {
      m.c_i = random_of(state);
      look(m);
      add(m.late_o);
    }
  }
  return hash;
}
"""


def played(folder: Path, rtl: str, edge: Edge | None) -> tuple[bool, list[int]]:
    """Whether the design has an edge of its own, and hashes of what it puts out."""
    (folder / "zoo.sv").write_text(rtl)
    (folder / "driver.cpp").write_text(DRIVER)
    request = BuildRequest(
        top="zoo",
        rtl=(folder / "zoo.sv",),
        cpp=(folder / "driver.cpp",),
        options=("-Wno-lint", "-Wno-style"),
        optimise="-O1" if edge is None else "-O2",
        edge=edge,
    )
    library = ctypes.CDLL(str(build(request).path))
    library.play.restype, library.play.argtypes = ctypes.c_uint64, [ctypes.c_uint64, ctypes.c_int]
    return bool(library.has_edge()), [library.play(seed, CYCLES) for seed in (1, 2, 3)]


def edge_of(seed: int) -> Edge:
    """Usual values that often hold, and some that seldom do or aren't there."""
    registers = [f"u_part{part}.r{register}" for part in range(PARTS) for register in range(REGISTERS)]
    mostly = (Usual("rst_i"), *(Usual(f"{path}x") for path in registers[:2]), *map(Usual, registers[seed % 5 :: 5]))
    seldom = (Usual("b_i"), Usual("a_i", mask=0x10), *(Usual(path, 1, 1) for path in registers[seed % 7 :: 7]))
    return Edge(late=("late_o",), usual=((Usual("rst_i"), Usual("d_i")), seldom, mostly))


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow(part="engine")) for n in range(2, 20))])
def test_the_edge_of_random_rtl_puts_out_what_verilator_does(seed: int, tmp_path: Path) -> None:
    rtl = design(seed)
    plain, by_verilator = played(tmp_path, rtl, None)
    own, by_edge = played(tmp_path, rtl, edge_of(seed))
    assert (plain, own) == (False, seed not in NO_EDGE)
    assert len(set(by_verilator)) == len(by_verilator)
    assert by_edge == by_verilator


UNKNOWN = {
    "two clocks": "always_ff @(negedge clk_i) y_o <= b_i; always_ff @(posedge clk_i) x_o <= a_i;",
    "a display": 'always_ff @(posedge clk_i) begin x_o <= a_i; if (d_i) $display("%0d", b_i); end assign y_o = b_i;',
    "a latch": "always_latch if (d_i) y_o = b_i; always_ff @(posedge clk_i) x_o <= a_i;",
}


@pytest.mark.parametrize("logic", [pytest.param(logic, id=name) for name, logic in UNKNOWN.items()])
def test_what_is_not_known_stays_as_verilator_wrote_it(logic: str, tmp_path: Path) -> None:
    emitted = translated(tmp_path, f"{MODULE}  {logic}\n  assign late_o = {{c_i, 24'h0}};\nendmodule\n")
    assert write_edge(emitted, "Vdut", "zoo", Edge()) is None
    assert not (emitted / "Vdut_edge.cpp").exists()


@pytest.mark.rest
def test_of_our_node_all_usual_values_are_found(tmp_path: Path) -> None:
    emitted = translated(tmp_path, None)
    names = members((emitted / "Vdut___024root.h").read_text()).types
    assert [usual.path for usual in (*FAIR, *CALM) if member("ring_cell", usual.path, names) is None] == []
    assert write_edge(emitted, "Vdut", "ring_cell", Edge(("reg_rdata_o",), (FAIR, CALM))) is not None


def translated(folder: Path, rtl: str | None) -> Path:
    """Where Verilator has put the C++ of a design, or of our cell."""
    (folder / "zoo.sv").write_text(rtl or "")
    verilator = find_verilator(folder / "versions")
    files = rtl_files() if rtl is None else [folder / "zoo.sv"]
    command = [verilator.binary, "--cc", "--quiet", "--no-timing", "-Wno-lint", "-Wno-style", "-fno-split"]
    command += ["--no-assert", "--prefix", "Vdut", "--top-module", "zoo" if rtl else "ring_cell", "--Mdir", folder]
    environment = child_environment({"VERILATOR_ROOT": str(verilator.root)})
    subprocess.run([*map(str, [*command, *files])], check=True, env=environment)
    return folder
