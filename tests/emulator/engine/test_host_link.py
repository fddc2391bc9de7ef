"""The link to the CPU, cut and mended: traffic goes on afterwards, both ways, and nobody waits for ever."""

import pytest

from ringhil.emulator.engine.engine import TO_CPU, Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.protocol import codec, frames, registers

from .stimulus import poking, statistics, told, unit

GPUS = 3
RESTORE = next(r.reset for r in registers.REGISTERS if r.name == "link_restore")


def results(engine: Engine, cycles: int) -> set[int]:
    """Units whose results reach the CPU in the next `cycles` cycles."""
    until = engine.now + cycles
    events = told(engine.run(until, lookahead=cycles))
    arrived = [codec.decode(e[-1], link=False) for e in events if e[2] == TO_CPU and not e[4]]
    return {f.unit for f in arrived if isinstance(f, frames.Result)}


def hand_out(engine: Engine, first: int, count: int = 2 * GPUS) -> set[int]:
    """Units for all GPUs in turn, through the entry."""
    for number in range(first, first + count):
        engine.send_from_cpu(0, unit(GPUS, number % GPUS, number, 300, bytes(300)), at=engine.now)
    return set(range(first, first + count))


@pytest.fixture
def engine() -> Engine:
    made = Engine(cells_library(), Topology((GPUS,)))
    poking(0, "control", registers.ControlBit.ENTRY)(made)
    made.run(10)
    return made


@pytest.mark.parametrize("before", [0, 1, 5, 30, 60, 100, 200, 333, 500])
def test_work_goes_on_after_the_link_was_cut(engine: Engine, before: int) -> None:
    """Whenever it is cut: idle, or with frames on the wire either way."""
    for attempt in range(4):
        hand_out(engine, 1000 * attempt)
        engine.run(engine.now + before, lookahead=before)
        engine.set_link_fault(0, "cut_host", True)
        engine.run(engine.now + 300, lookahead=300)
        engine.set_link_fault(0, "cut_host", False)
        results(engine, 20_000)
        assert results(engine, 1000) == set()
    expected = hand_out(engine, 9000)
    assert results(engine, 20_000) == expected


def test_what_the_cpu_sends_meanwhile_waits(engine: Engine) -> None:
    engine.set_link_fault(0, "cut_host", True)
    engine.run(engine.now + 100)
    expected = hand_out(engine, 5)
    engine.send_from_cpu(0, [statistics(GPUS, 0, 77)], at=engine.now)
    assert results(engine, 5000) == set()
    engine.set_link_fault(0, "cut_host", False)
    assert engine.peek(0, "status") & registers.StatusBit.HOST_DOWN
    assert results(engine, RESTORE + 20_000) == expected


def test_a_card_with_its_link_cut_is_quiet(engine: Engine) -> None:
    engine.set_link_fault(0, "cut_host", True)
    hand_out(engine, 5)
    engine.run(engine.now + 1000)
    before = engine.evaluations
    engine.run(engine.now + 10_000)
    assert engine.evaluations - before < 100
