"""A link that is cut in one direction only is given up, and taken back, by both of its ends."""

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.protocol import registers

GPUS = 4


def wraps(engine: Engine) -> list[tuple[int, int]]:
    """(GPU, port) of every ring port that is turned round."""
    bits = {port: registers.StatusBit.codes()[f"wrap_port{port}"] for port in (1, 2)}
    return [(gpu, port) for gpu in range(GPUS) for port in (1, 2) if engine.peek(gpu, "status") & bits[port]]


def test_both_ends_turn_round_and_both_come_back() -> None:
    engine = Engine(cells_library(), Topology((GPUS,)))
    engine.run(50)
    engine.set_link_fault(2, "cut_port1", True)  # from GPU 1 to GPU 2; the way back is whole
    engine.run(engine.now + 10)
    assert wraps(engine) == [(1, 2), (2, 1)]
    engine.set_link_fault(2, "cut_port1", False)
    engine.run(engine.now + 40)
    assert wraps(engine) == [(1, 2), (2, 1)]  # not before the carrier has been there for link_restore cycles
    engine.run(engine.now + 200)
    assert wraps(engine) == []


def test_a_card_with_such_a_link_comes_to_rest() -> None:
    """One end hears a carrier and waits for the other one, perhaps for ever: waiting costs nothing."""
    engine = Engine(cells_library(), Topology((GPUS,)))
    for gpu in range(GPUS):
        engine.poke(gpu, "heartbeat", 0)
    engine.set_link_fault(2, "cut_port1", True)
    engine.run(20_000)
    before = engine.evaluations
    engine.run(engine.now + 100_000)
    assert engine.evaluations == before
    engine.set_link_fault(2, "cut_port1", False)
    engine.run(engine.now + 300)
    assert wraps(engine) == []
