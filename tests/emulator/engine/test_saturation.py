"""Four cards of sixteen GPUs in a chain, every CPU link sending to other cards without pause: nothing stops, nothing
is lost or damaged, and the link in the middle, which half of all traffic has to cross, is full.
"""

import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from ringhil.emulator.engine.engine import TO_CPU, Engine, Topology
from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.host.work import segments
from ringhil.emulator.host.work.workload import digest
from ringhil.emulator.server.routing import hops
from ringhil.protocol import codec, registers, wire
from ringhil.protocol.frames import Acknowledgement, Result

CARDS, GPUS = 4, 16
RIGHT, LEFT = 5, 11  # boundary GPUs towards the next and the previous card
CHUNK = 5_000  # cycles
QUEUED = 2 * CHUNK // wire.DATA_FRAME_FLITS  # frames that a CPU link keeps waiting: never idle
CROSSINGS = tuple((card * GPUS + RIGHT, (card + 1) * GPUS + LEFT) for card in range(CARDS - 1))
_CONTROL = registers.ControlBit.codes()
_VALID = wire.LinkBit.VALID


@pytest.fixture(scope="module")
def cells() -> Library:
    return cells_library()


@dataclass
class Traffic:
    """Work of one segment each from every card's CPU link to GPUs that `targets` chooses."""

    engine: Engine
    random: random.Random
    expected: dict[int, int] = field(default_factory=dict)  # unit -> digest
    sent: list[int] = field(default_factory=lambda: [0] * CARDS)
    answered: list[int] = field(default_factory=lambda: [0] * CARDS)
    refused: int = 0
    wrong: int = 0

    def feed(self, card: int, other: int) -> None:
        """One more unit from the CPU through `card` to a GPU of the card `other`."""
        unit = sum(self.sent)
        data = self.random.randbytes(wire.SEGMENT_BYTES)
        self.expected[unit] = digest(data)
        route = segments.Route(other, card, 0, self.random.randrange(GPUS), False, GPUS + 1, 1)
        self.engine.send_from_cpu(card * GPUS, segments.segments(unit, 1, data, route), at=self.engine.now)
        self.sent[card] += 1

    def take(self) -> None:
        """What has come back in the last run."""
        events = self.engine.events()
        for row in events.table[events.table["kind"] == TO_CPU]:
            message = codec.decode(events.frame(row), link=False)
            assert isinstance(message, Result | Acknowledgement)
            assert not row["bad"]
            self.answered[int(row["cell"]) // GPUS] += 1
            expected = self.expected.pop(message.unit)  # KeyError: answered twice
            if isinstance(message, Result):
                self.wrong += message.digest != expected
            else:
                self.refused += 1


def configured(library: Library) -> Engine:
    """Entry GPUs 0, boundary GPUs and their ways, as the firmware would set them."""
    engine = Engine(library, Topology((GPUS,) * CARDS, CROSSINGS))
    ways = hops(CARDS, [(card, card + 1) for card in range(CARDS - 1)])
    for card in range(CARDS):
        engine.poke(card * GPUS, "control", _CONTROL["entry"] | _CONTROL["monitor"])
        engine.poke(card * GPUS, "exits", 0xFFFF)
    for left, right in CROSSINGS:
        for cell, peer in ((left, right // GPUS), (right, left // GPUS)):
            hop = ways[cell // GPUS, peer]
            engine.poke(cell, "control", _CONTROL["boundary"] | (_CONTROL["from_above"] if hop.from_above else 0))
            engine.poke(cell, "crossings", hop.cards)
    engine.run(10)
    return engine


def saturate(library: Library, cycles: int, far: bool) -> tuple[Traffic, NDArray[np.float64]]:
    """Keep every CPU link busy for `cycles` cycles and let all of it come home; how full each transmitter was.

    `far`: every unit crosses the middle of the chain. Otherwise to any other card.
    """
    engine = configured(library)
    traffic = Traffic(engine, random.Random(f"{cycles} {far}"))
    flits = np.zeros((CARDS * GPUS, 4), np.int64)  # by transmitter: cell and port
    for start in range(0, cycles, CHUNK):
        for card in range(CARDS):
            others = [c for c in range(CARDS) if c != card and (not far or (c < 2) != (card < 2))]
            while traffic.sent[card] - traffic.answered[card] < QUEUED + 60:
                traffic.feed(card, traffic.random.choice(others))
        before = sum(traffic.answered)
        _, ctl = engine.trace(CHUNK)
        traffic.take()
        assert sum(traffic.answered) > before, f"nothing came back from cycle {start} to {engine.now}"
        if start >= 4 * CHUNK:  # the queues have filled
            flits += np.count_nonzero(ctl & _VALID, axis=0)
    while traffic.expected:
        before = len(traffic.expected)
        engine.trace(CHUNK)
        traffic.take()
        assert len(traffic.expected) < before, f"{before} units never come back"
    return traffic, flits / (cycles - 4 * CHUNK)


@pytest.mark.rest
@pytest.mark.parametrize("cycles", [30_000, pytest.param(1_000_000, marks=pytest.mark.slow(part="engine"))])
def test_all_to_the_other_half_of_the_chain(cells: Library, cycles: int) -> None:
    traffic, load = saturate(cells, cycles, True)
    assert traffic.wrong == 0
    assert traffic.refused < sum(traffic.sent) // 50
    middle = [load[GPUS + RIGHT, 3], load[2 * GPUS + LEFT, 3]]
    assert min(middle) >= 0.9


@pytest.mark.rest
@pytest.mark.parametrize("cycles", [30_000, pytest.param(1_000_000, marks=pytest.mark.slow(part="engine"))])
def test_everybody_to_everybody(cells: Library, cycles: int) -> None:
    traffic, load = saturate(cells, cycles, False)
    assert traffic.wrong == 0
    assert load.max() >= 0.9
