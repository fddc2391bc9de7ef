"""Node-by-node simulation *is* the simulation of the whole card: every wire, every cycle, every event.

Three engines get the same seeded trouble: cells with skipping, cells without, and the card as one Verilated
design. Over all sizes more than three million node-cycles are compared.
"""

import pytest

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import Library, card_library, cells_library

from .stimulus import Seen, Trouble, differing, differing_registers

SIZES = range(2, 9)
NODE_CYCLES = 3_500_000  # in all, busy and sparse


@pytest.fixture(scope="module")
def cells() -> Library:
    return cells_library()


@pytest.mark.parametrize("gpus", SIZES)
def test_cells_and_card_put_the_same_on_every_wire(cells: Library, gpus: int) -> None:
    topology = Topology((gpus,))
    card = card_library(gpus, optimise="-O0")  # compiles five times as fast, and is fast enough here
    cycles = NODE_CYCLES // len(SIZES) // gpus // 2
    for seed, pause in ((1, 25), (2, 250)):
        seen = Seen()
        leaping, whole = Engine(cells, topology), Engine(card, topology)
        plain = Engine(cells, topology, skipping=False)
        engines = [leaping, whole, plain]
        assert differing(engines, Trouble(seed, gpus)(cycles, pause), cycles, seen) == ""
        assert differing_registers(engines) == ""
        assert leaping.evaluations < plain.evaluations == whole.evaluations
        assert seen.node_cycles == gpus * cycles
        assert seen.flits > cycles // 20
        assert seen.events > cycles // 2000
