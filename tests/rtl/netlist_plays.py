"""What a netlist is compared over: a GPU behind its bridge on a pty, its ring and a twin emulated, random trouble.

A ring of eight has no boundary port that leads anywhere, and a GPU in the middle of it no CPU; so other plays have a
GPU outside that has.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

from tests.emulator.engine.stimulus import Seen, Trouble, differing, differing_registers
from tests.emulator.loop.bridge_line import HELLO, BridgeLine

from ringhil.emulator.engine.engine import Engine, OutsideNode, Topology
from ringhil.emulator.engine.library import Library, cells_library

_STRETCH = 1000  # cycles between two looks at all registers
_PATIENCE = 2000  # milliseconds


@dataclass(frozen=True)
class Play:
    """`cell` of `topology` is outside; actions are `pause` cycles apart."""

    name: str
    topology: Topology
    cell: int
    cycles: int
    pause: int = 25
    seed: int = 1

    def run(
        self, library: ctypes.CDLL, seen: Seen, began: Callable[[], None] = lambda: None
    ) -> tuple[str, OutsideNode]:
        """Where the first thing differs, or "", and what became of the GPU outside. `began`: called before the first
        cycle."""
        cells: Library = cells_library()
        gpus, cards = self.topology.rings[0], len(self.topology.rings)
        actions = Trouble(self.seed, gpus, cards, self.topology.crossings)(self.cycles, self.pause)
        with (
            BridgeLine(library=library) as line,
            Engine(cells, self.topology) as engine,
            Engine(cells, self.topology) as here,
        ):
            engine.attach(self.cell, line.fd, sequence=HELLO, patience=_PATIENCE)
            began()
            while here.now < self.cycles:
                why = differing([here, engine], actions, min(_STRETCH, self.cycles - here.now), seen)
                why = why or differing_registers([here, engine])
                (found,) = engine.outside()
                if not why and (found.differing or found.lost):
                    why = found.lost or f"its twin did otherwise in cycle {found.first_differing}"
                if why:
                    break
            return why, found


PLAYS = (
    Play("a ring of eight", Topology((8,)), 3, 120_000),
    Play("the GPU at the CPU", Topology((8,)), 0, 40_000),
    Play("a GPU at another card", Topology((4, 4), ((3, 5), (1, 6))), 3, 40_000),
)
