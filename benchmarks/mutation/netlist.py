"""The node as a netlist of Yosys, the mistakes that can be made in it, and one design that holds all those chosen.

Hierarchy is kept, with a module for every instance: a mistake is in one port, one lane, one queue, not in all.
"""

import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutation.mutant import Mutant, parse, source_line
from benchmarks.mutation.yosys import yosys

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.node_rtl import NODE
from ringhil.emulator.engine.library import rtl_files

SELECT = "mutsel"  # the input that chooses a mutant; 0 is none
WIDTH = 16
_POOL = 12_000  # mutations that Yosys proposes, of which some are chosen
_OUTSIDE = ("card_top", "server_top", "ring_cell", "link_channel")  # not parts of a node


@dataclass(frozen=True)
class Netlist:
    """A node read by Yosys: `folder` holds it as `base.il`, with copies of its sources."""

    folder: Path
    pool: tuple[Mutant, ...]

    def mutated(self, mutants: Sequence[Mutant]) -> Path:
        """Verilog of the node with an input that makes it mutant 1, 2, ...; with 0 it is as it was."""
        if len(mutants) >= 1 << WIDTH:
            raise BuildError(f"{len(mutants)} mutants, at most {(1 << WIDTH) - 1} fit into one design")
        steps = ["read_rtlil base.il"]
        steps += [f"{m.command} -ctrl {SELECT} {WIDTH} {i}" for i, m in enumerate(mutants, 1)]
        yosys([*steps, "opt_clean", "check -assert", "write_verilog -noattr mutated.sv"], self.folder)
        return self.folder / "mutated.sv"


def read(rtl: Path, folder: Path, seed: int) -> Netlist:
    """Read the node in directory `rtl` and propose mistakes in it. Raises BuildError."""
    files = [f for f in rtl_files(rtl) if f.stem not in _OUTSIDE]
    for file in files:
        shutil.copy(file, folder)
    names = " ".join(f.name for f in files)
    yosys(
        [
            f"read_slang --threads 1 --keep-hierarchy --top {NODE} {names}",
            f"hierarchy -check -top {NODE}",
            "proc",
            "bwmuxmap",  # of a multiplexer bit by bit, Verilog has no word
            "opt_clean",
            "write_rtlil base.il",
            f"mutate -list {_POOL} -seed {seed} -o pool.ys",
        ],
        folder,
    )
    commands = (folder / "pool.ys").read_text().splitlines()
    # Verilog has no word for the enable of a read port that is always on.
    reads = set(_cells((folder / "base.il").read_text(), "$memrd_v2"))
    found = [m for m in (parse(command, folder) for command in commands) if m is not None]
    pool = [m for m in found if (m.unit, m.cell) not in reads or m.port in ("ADDR", "DATA")]
    if not pool:
        raise BuildError(f"{rtl}: Yosys proposes no mutation")
    return Netlist(folder, tuple(pool))


def _cells(text: str, kind: str) -> Iterator[tuple[str, str]]:
    """Module and name of every cell of a type."""
    unit = ""
    for line in text.splitlines():
        words = line.split()
        if line.startswith("module "):
            unit = words[1].removeprefix("\\")
        elif line.startswith("  cell ") and words[1] == kind:
            yield unit, words[2].removeprefix("\\")


def choose(pool: Sequence[Mutant], number: int, seed: int, where: Sequence[tuple[str, str]], rtl: Path) -> list[Mutant]:
    """`number` of them, spread over modules and lines: no line gets a second one before every line has one. `where`:
    only in lines of these files that contain these texts."""
    lines: dict[tuple[str, str, int], list[Mutant]] = {}
    for mutant in pool:
        if not where or any(mutant.file == file and text in source_line(rtl, mutant) for file, text in where):
            lines.setdefault((mutant.module, mutant.file, mutant.line), []).append(mutant)
    rng = random.Random(f"{seed}/choose")
    groups = [lines[key] for key in sorted(lines)]
    for group in groups:
        rng.shuffle(group)
    rng.shuffle(groups)
    chosen: list[Mutant] = []
    while groups and len(chosen) < number:
        chosen += [group.pop() for group in groups][: number - len(chosen)]
        groups = [group for group in groups if group]
    return sorted(chosen, key=lambda m: (m.module, m.file, m.line, m.command))
