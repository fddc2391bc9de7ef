"""Netlists with mistakes: one bit of one look-up table flipped, any of those drawn, without building anything anew."""

import ctypes
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

from ringhil.emulator.build.build import build
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.loop.bridge.library import Progress, bridge_request, loaded

MOST = 4096  # as in mutants.cpp
_HERE = Path(__file__).resolve().parent
_TABLE = re.compile(
    r"  LUT4 #\(\n    \.INIT\(16'h([0-9a-f]{4})\)\n  \) (\S+) \(\n"
    r"    \.A\((.*)\),\n    \.B\((.*)\),\n    \.C\((.*)\),\n    \.D\((.*)\),\n"
)


@dataclass(frozen=True)
class Mutant:
    """Bit `place` of the table of the cell `name`."""

    number: int  # from 1
    name: str
    place: int

    def __str__(self) -> str:
        return f"{self.name}[{self.place}]"


def drawn(text: str, number: int, seed: int) -> list[Mutant]:
    """So many of the look-up tables in the Verilog `text`, one bit of each; not one that a constant input rules out.
    Raises BuildError."""
    tables = list(_TABLE.finditer(text))
    if len(tables) < number:
        raise BuildError(
            f"found {len(tables)} look-up tables; wanted are {number} mutants: is it a netlist for an ECP5?"
        )
    rng = random.Random(f"{seed} {number}")
    mutants = []
    for i, table in enumerate(rng.sample(tables, number), 1):
        places = [place for place in range(16) if _can_be_addressed(table.groups()[2:], place)]
        mutants.append(Mutant(i, table[2], rng.choice(places)))
    return mutants


def _can_be_addressed(inputs: tuple[str, ...], place: int) -> bool:
    return all(net != f"1'h{1 - (place >> i & 1)}" for i, net in enumerate(inputs))


def mutated(text: str, mutants: list[Mutant]) -> str:
    """The Verilog `text` with all of these in it."""
    of = {mutant.name: mutant for mutant in mutants}

    def put(table: re.Match[str]) -> str:
        if (mutant := of.get(table[2])) is None:
            return table[0]
        head, rest = table[0].split("\n", 1)
        parameters = f"    .PLACE(4'd{mutant.place}),\n    .NUMBER({mutant.number}),\n"
        return f"{head.replace('LUT4', 'MUTANT')}\n{parameters}{rest}"

    return _TABLE.sub(put, text) + (_HERE / "mutants.v").read_text()


class Mutants:
    """A bridge with any of `mutants` of the netlist `text` behind it, built in `folder`. Raises BuildError."""

    def __init__(self, text: str, mutants: list[Mutant], folder: Path, progress: Progress) -> None:
        (folder / "ring_cell.v").write_text(mutated(text, mutants))
        request = bridge_request(folder, optimise="-O0")
        request = replace(request, cpp=(*request.cpp, _HERE / "mutants.cpp"))
        self.mutants, self.library = mutants, loaded(build(request, progress=progress).path)

    def choose(self, mutant: Mutant | None) -> ctypes.CDLL:
        """The library, whose next bridge has this mutant, or none."""
        self.library.mutants_choose(0 if mutant is None else mutant.number)
        return self.library

    def forget(self) -> None:
        """What was addressed until now."""
        self.library.mutants_forget()

    def addressed(self) -> list[Mutant]:
        """Those whose bit was, since then."""
        return [mutant for mutant in self.mutants if self.library.mutants_addressed(mutant.number)]
