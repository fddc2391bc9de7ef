"""The bench of the mutated node: that of a node, with one more input that says which mutant it is."""

import re
from collections.abc import Callable, Sequence

from benchmarks.mutation.mutant import Mutant
from benchmarks.mutation.netlist import SELECT, WIDTH, Netlist

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.node_rtl import PACKAGE
from ringhil.emulator.testbench.build import HDL, Bench, build_bench

TOP = "mutation_bench"
PIN = "mutant_i"


def build(netlist: Netlist, mutants: Sequence[Mutant], progress: Callable[[str], None]) -> Bench:
    """One simulation that holds all `mutants`. Raises BuildError."""
    mutated = netlist.mutated(mutants)
    top = netlist.folder / f"{TOP}.sv"
    top.write_text(with_pin((HDL / "node_bench.sv").read_text()))
    return build_bench("verilator", TOP, [netlist.folder / PACKAGE, mutated, top], progress=progress)


def with_pin(text: str) -> str:
    """The node's bench with the pin and under its own name."""
    changes = (
        (r"\bmodule node_bench\b", f"module {TOP}"),
        (r"input  logic +clk_i,", rf"\g<0>\n    input  logic [{WIDTH - 1}:0] {PIN},"),
        (r"(?<=u_node \()", f"\n      .{SELECT}({PIN}),"),
    )
    for old, new in changes:
        text, times = re.subn(old, new, text)
        if times != 1:
            raise BuildError(f"node_bench.sv: {old!r} matches {times} times, must be once")
    return text
