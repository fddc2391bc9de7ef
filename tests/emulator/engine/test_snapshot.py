"""A snapshot is the whole state: what follows a restore is what followed the save, flit by flit."""

import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ringhil.emulator.engine.engine import FOREVER, Engine, Topology
from ringhil.emulator.engine.library import Library, card_library, cells_library
from ringhil.protocol import wire

from .stimulus import (
    Action,
    Told,
    Trouble,
    differing,
    differing_registers,
    statistics,
    told,
    unit,
)

GPUS = 5
VALID, SOF = 1 << wire.LINK_BITS["valid"], 1 << wire.LINK_BITS["sof"]

Story = tuple[bytes, bytes, list[Told]]


def story(engine: Engine, cycles: int) -> Story:
    """What the next `cycles` cycles bring: wires and events."""
    data, ctl = engine.trace(cycles)
    return data.tobytes(), ctl.tobytes(), told(engine.events())


@pytest.fixture(params=["cells", "card"])
def library(request: pytest.FixtureRequest) -> Library:
    return cells_library() if request.param == "cells" else card_library(GPUS, optimise="-O0")


@pytest.fixture
def engine(library: Library) -> Iterator[Engine]:
    with Engine(library, Topology((GPUS,))) as made:
        yield made


def load(engine: Engine) -> None:
    """Messages and work for every GPU, and a fault: all kinds of state are in use soon after."""
    engine.poke(0, "control", 1)
    for gpu in range(GPUS):
        at = engine.now + 2 * gpu
        engine.send_mail(gpu, gpu % 2, statistics(GPUS, gpu, gpu, ccw=bool(gpu % 2)), at=at)
        engine.send_from_cpu(0, unit(GPUS, gpu, gpu, 600, random.Random(gpu).randbytes(600)), at=at)
    engine.set_fault(3, "dead", True)
    engine.set_bit_errors(2, 0, 3000)
    engine.set_delay(1, 0, 9)


@pytest.mark.parametrize("cycles", [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610])
def test_after_a_restore_the_same_follows_as_after_the_save(engine: Engine, cycles: int) -> None:
    engine.run(100)
    load(engine)
    engine.trace(cycles)
    snapshot = engine.save()
    first = story(engine, 1500)
    for _ in range(2):
        engine.restore(snapshot)
        assert engine.now == 100 + cycles
        assert story(engine, 1500) == first
    assert len(first[2]) > 3 or cycles > 200


def test_in_the_midst_of_frames(engine: Engine) -> None:
    """One snapshot a cycle while frames are on the wires; each is gone back to, the latest first."""
    engine.run(50)  # a link that delays from power-up on begins without a carrier
    load(engine)
    snapshots, wires = [], []
    for _ in range(120):
        snapshots.append(engine.save())
        wires.append(story(engine, 1)[:2])
    ctl = np.frombuffer(b"".join(c for _, c in wires), np.uint8)
    assert np.count_nonzero((ctl & VALID != 0) & (ctl & SOF == 0)) > 150
    for at in reversed(range(120)):
        engine.restore(snapshots[at])
        assert story(engine, 1)[:2] == wires[at]


def test_another_engine_goes_on_from_it(library: Library, engine: Engine) -> None:
    """Also one that has a past of its own, and with the same trouble after it."""
    trouble = Trouble(5, GPUS)(6000, 25)
    assert differing([engine], trouble, 3000) == ""
    with Engine(library, Topology((GPUS,))) as other:
        assert differing([other], Trouble(6, GPUS)(1000, 25), 1000) == ""
        other.restore(engine.save())
        assert other.now == engine.now == 3000
        assert differing([engine, other], trouble, 3000) == ""
        assert differing_registers([engine, other]) == ""


def test_a_snapshot_outlives_its_engine(library: Library) -> None:
    with Engine(library, Topology((GPUS,))) as first:
        load(first)
        first.trace(77)
        snapshot = first.save()
        expected = story(first, 500)
    with Engine(library, Topology((GPUS,))) as second:
        second.restore(snapshot)
        assert story(second, 500) == expected


def switch(name: str) -> Callable[[Engine], None]:
    return lambda e: e.set_fault(2, name, True)


def test_faults_are_those_of_the_snapshot(library: Library, engine: Engine) -> None:
    """What was set after the save is forgotten, what was set before it holds, in either engine."""
    engine.set_fault(2, "skip_count", True)
    engine.set_link_fault(1, "cut_port1", True)
    engine.set_delay(3, 1, 40)
    snapshot = engine.save()
    engine.set_fault(2, "dead", True)
    engine.set_link_fault(1, "cut_port1", False)
    engine.set_bit_errors(4, 1, 65535)
    engine.set_delay(0, 0, 7)
    engine.set_delay(3, 1, 0)
    engine.run(50)
    with Engine(library, Topology((GPUS,))) as other, Engine(library, Topology((GPUS,))) as fresh:
        fresh.set_fault(2, "skip_count", True)
        fresh.set_link_fault(1, "cut_port1", True)
        fresh.set_delay(3, 1, 40)
        engine.restore(snapshot)
        other.restore(snapshot)
        actions = [
            Action(10, "hang", switch("hang")),
            Action(20, "cut", lambda e: e.set_link_fault(1, "cut_port2", True)),
            Action(30, "noise", lambda e: e.set_bit_errors(4, 0, 20)),
            Action(40, "load", load),
            Action(300, "other delay", lambda e: e.set_delay(3, 1, 5)),
        ]
        assert differing([fresh, engine, other], actions, 1000) == ""
        assert differing_registers([fresh, engine, other]) == ""


def test_mail_and_frames_of_the_cpu_that_wait_are_part_of_it(engine: Engine) -> None:
    engine.send_mail(1, 0, statistics(GPUS, 1, 9), at=400)
    engine.send_from_cpu(2, [statistics(GPUS, 7, 8)], at=300)
    snapshot = engine.save()
    first = told(engine.run(1000, lookahead=1000))
    assert len(first) == 2
    engine.restore(snapshot)
    assert told(engine.run(1000, lookahead=1000)) == first


def test_an_endless_lookahead_is_endless(engine: Engine) -> None:
    engine.send_mail(1, 0, statistics(GPUS, 1, 9), at=10)
    engine.send_mail(1, 0, statistics(GPUS, 1, 10), at=200)
    assert len(engine.run(1000, lookahead=FOREVER)) == 2
    assert engine.now == 1000


def test_a_snapshot_of_another_topology_or_library_is_refused(engine: Engine) -> None:
    snapshot = engine.save()
    cells, card = cells_library(), card_library(GPUS, optimise="-O0")
    others = [(cells, Topology((2, GPUS - 2))), (cells, Topology((GPUS + 1,))), (cells, Topology((GPUS,), ((0, 1),)))]
    others += [(library, Topology((GPUS,))) for library in (cells, card)]
    refused = 0
    for library, topology in others:
        if (library.calls, topology) == (engine.library.calls, Topology((GPUS,))):
            continue
        with Engine(library, topology) as different:
            with pytest.raises(ValueError, match="snapshot"):
                different.restore(snapshot)
            assert different.now == 0
            refused += 1
    assert refused == 4


def test_what_crosses_between_cards_is_part_of_it() -> None:
    """Frames on a boundary link that delays, and in both of its ends."""
    topology = Topology((3, 3), ((1, 5),))
    with Engine(cells_library(), topology) as engine:
        for cell, register, value in ((0, "control", 1), (0, "exits", 2), (1, "control", 8), (1, "crossings", 2)):
            engine.poke(cell, register, value)
        for register, value in (("control", 24), ("crossings", 1)):
            engine.poke(5, register, value)
        engine.run(50)
        engine.set_delay(5, 3, 30)
        for number in range(6):
            engine.send_from_cpu(0, unit(3, number % 3, number, 300, bytes(300), card=1), at=engine.now)
            engine.send_mail(5, 3, statistics(3, 0, number), at=engine.now + 40 * number)
        for _ in range(12):
            engine.trace(17)
            snapshot = engine.save()
            first = story(engine, 3000)
            assert len(first[2]) >= 6
            engine.restore(snapshot)
            with Engine(cells_library(), topology) as other:
                other.restore(snapshot)
                assert story(other, 3000) == first
