"""What is foreseen of statistics messages is what then comes, and foreseeing it changes nothing."""

from collections.abc import Iterator

import numpy as np
import pytest

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import Library, card_library, cells_library
from ringhil.protocol import wire

from .stimulus import Trouble, differing, differing_registers, statistics

GPUS = 5
AHEAD = 16
RING_PORTS = 2
VALID, SOF, DATA = (1 << wire.LINK_BITS[name] for name in ("valid", "sof", "data"))


@pytest.fixture(params=["cells", "card"])
def library(request: pytest.FixtureRequest) -> Library:
    return cells_library() if request.param == "cells" else card_library(GPUS, optimise="-O0")


@pytest.fixture
def pair(library: Library) -> Iterator[list[Engine]]:
    with Engine(library, Topology((GPUS,))) as first, Engine(library, Topology((GPUS,))) as second:
        yield [first, second]


def on_the_wires(engine: Engine) -> list[tuple[int, ...]]:
    """The same by looking at every wire, on a snapshot."""
    snapshot = engine.save()
    data, ctl = (array[:, :, :RING_PORTS] for array in engine.trace(AHEAD))
    engine.restore(snapshot)
    begins = ((ctl & (VALID | SOF | DATA)) == VALID | SOF) & (data >> np.uint64(56) == wire.KINDS["statistics"])
    found = []
    for cycle, cell, port in np.argwhere(begins).tolist():
        control = (ctl[cycle:, cell, port] & (VALID | DATA)) == VALID
        flits = data[cycle:, cell, port][control][:4].tolist()
        found += [tuple(flits)] if len(flits) == 4 else []
    return found


@pytest.mark.parametrize("seed", range(4))
def test_under_traffic_and_faults(pair: list[Engine], seed: int) -> None:
    """Both are played the same; one is asked all the time, and is the same afterwards, on every wire."""
    trouble, seen = Trouble(seed, GPUS)(1400, 25), 0
    for step in range(60):
        now = pair[0].now
        for engine in pair:
            engine.send_mail(step % GPUS, step % 2, statistics(GPUS, step % GPUS, step, ccw=bool(step % 2)), at=now)
        ahead = pair[0].headers(AHEAD)
        assert ahead == on_the_wires(pair[1])
        assert pair[0].now == now
        assert pair[0].headers(AHEAD) == ahead
        seen += len(ahead)
        assert differing(pair, trouble, 23) == ""
    assert seen > 20
    assert pair[0].evaluations == pair[1].evaluations
    assert differing_registers(pair) == ""


def test_nothing_is_there_when_all_is_quiet(pair: list[Engine]) -> None:
    engine = pair[0]
    engine.run(3000)
    before = engine.evaluations
    assert engine.headers(AHEAD) == []
    assert (engine.now, engine.evaluations) == (3000, before)
