"""Node-by-node simulation *is* the simulation of the whole card: every wire, every cycle, every event.

Three engines get the same seeded trouble: cells with skipping, cells without, and the card as one Verilated
design. Over all sizes more than ten million node-cycles are compared.
"""

import re
import shutil
from pathlib import Path

import pytest

from ringhil.emulator.engine.engine import Engine, RtlStopped, Topology
from ringhil.emulator.engine.library import RTL, Library, card_library, cells_library, server_library
from ringhil.emulator.host.work.segments import Route, segments

from .stimulus import Seen, Trouble, differing, differing_registers

SIZES = range(2, 9)
NODE_CYCLES = 10_500_000  # in all, busy and sparse


@pytest.fixture(scope="module")
def cells() -> Library:
    return cells_library()


@pytest.mark.slow(part="engine")  # each takes a build of its own; two cards are joined below
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
        assert seen.flits > cycles // 30
        assert seen.events > cycles // 2000


# GPUs 1 and 2 of each card are wired crosswise to those of the next one.
TWO_CARDS = Topology((3, 3), ((1, 5), (2, 4)))


LONG = pytest.mark.slow(part="engine")


@pytest.mark.rest
@pytest.mark.parametrize(
    ("seed", "pause", "cycles"),
    [(1, 25, 10_000), *(pytest.param(*long, marks=LONG) for long in ((1, 25, 50_000), (2, 250, 100_000)))],
)
def test_cells_and_server_put_the_same_on_every_wire(cells: Library, seed: int, pause: int, cycles: int) -> None:
    """Two cards of three GPUs, random faults, traffic between the cards, busy or sparse."""
    whole = server_library(2, 3, TWO_CARDS.peers, optimise="-O0")
    seen = Seen()
    engines = [Engine(cells, TWO_CARDS), Engine(whole, TWO_CARDS), Engine(cells, TWO_CARDS, skipping=False)]
    actions = Trouble(seed, 3, 2, TWO_CARDS.crossings)(cycles, pause)
    assert differing(engines, actions, cycles, seen) == ""
    assert differing_registers(engines) == ""
    assert seen.node_cycles == 6 * cycles
    assert seen.flits > cycles // 20
    assert sum(engines[0].peek(cell, "crossed") for cell in range(6)) > 50


@pytest.mark.rest
def test_a_card_stops_at_an_assertion_of_its_rtl(tmp_path: Path) -> None:
    """A sender that spends no credit: each one that comes back is one more than the receiver has places.

    The place named is in the files asked for, also where the library was built from others, long gone.
    """
    for copy in ("first", "second"):
        rtl = Path(shutil.copytree(RTL, tmp_path / copy))
        counter = rtl / "credit_counter.sv"
        counter.write_text(counter.read_text().replace(" - 3'(start_i)", ""))
        engine = Engine(card_library(2, rtl, optimise="-O0"), Topology((2,)))
        engine.poke(0, "control", 1)
        engine.send_from_cpu(0, segments(1, 0, bytes(64), Route(0, 0, 0, 1, False, 3, 1)), at=0)
        stop = rf"^{re.escape(str(counter))}:\d+: more credits than the receiver .* \(cycle \d+\)$"
        with pytest.raises(RtlStopped, match=stop):
            engine.run(1000)
        shutil.rmtree(rtl)
