"""The emulated cards keep the same rules of a card port as the bench's (bench_card.py)."""

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.kernel import Kernel

from .card_port_plans import Plans


def test_the_kernel_calls_back_as_planned() -> None:
    with Engine(cells_library(), Topology((2,))) as engine:
        kernel = Kernel(engine, 32, 64)
        kernel.run(5)
        plans = Plans(kernel)
        kernel.run(5 + Plans.CYCLES)
        plans.check()
