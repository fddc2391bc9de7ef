"""What a GPU's firmware writes wrongly harms nobody else on the ring."""

import pytest

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.wire import Port

GPUS = 5


@pytest.fixture
def engine() -> Engine:
    engine = Engine(cells_library(), Topology((GPUS,)))
    engine.run(200)
    return engine


def keepalive(home: int, ttl: int) -> bytes:
    return codec.encode(Keepalive(0, 0, ttl, home, 1, 1, 1, 1, 0, 0, 3, 1, 100, 0, 0, wire.NO_HOLDER))


@pytest.mark.parametrize("ttl", [GPUS + 1, 100, 0xFFFF])
def test_a_frame_that_nobody_takes_is_gone_after_one_hop_more_than_the_ring_has(engine: Engine, ttl: int) -> None:
    engine.send_mail(1, Port.CW.code, keepalive(home=900, ttl=ttl), at=engine.now)
    engine.run(engine.now + 40 + 2 * (GPUS + 2))
    assert sum(engine.peek(cell, "ttl_dropped") for cell in range(GPUS)) == 1


def test_a_frame_too_long_for_the_mailbox_does_not_block_the_next_one(engine: Engine) -> None:
    engine.send_mail(1, Port.CW.code, bytes([wire.Kind.KEEPALIVE.code]) + bytes(8 * 50 - 1), at=engine.now)
    engine.send_mail(1, Port.CW.code, keepalive(home=3, ttl=GPUS + 1), at=engine.now)
    events = engine.run(engine.now + 500)
    assert [(int(row["cell"]), int(row["bad"])) for row in events.table] == [(3, 0)]


def test_half_a_frame_leaves_the_node_at_rest(engine: Engine) -> None:
    engine.send_mail(1, Port.CW.code, keepalive(home=3, ttl=GPUS + 1), at=engine.now)
    engine.run(engine.now + 2)
    engine.forget_mail(1)
    engine.run(engine.now + 100)
    before = engine.evaluations
    engine.run(engine.now + 5000)
    assert engine.evaluations - before < 100
    engine.send_mail(1, Port.CW.code, keepalive(home=3, ttl=GPUS + 1), at=engine.now)
    assert len(engine.run(engine.now + 500)) == 1
