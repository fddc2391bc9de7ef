"""Work in flight when a GPU dies is neither lost nor done twice (R5).

A thousand units on two cards; at a random cycle a GPU dies or hangs, in some runs an entry GPU, so that its
whole card is gone until it comes back. What reaches the CPU is read by hand and checked against digests that
this file computes itself.
"""

import random
from dataclasses import dataclass, field

import pytest

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.host.workload import Generated
from ringhil.emulator.scenario import loads
from ringhil.emulator.server import Outcome, Server

UNITS, SIZE = 1000, 256
CARDS = {"a": 8, "b": 6}
BUSY = 18_000  # cycles that the work takes when nothing fails
RESULT = 0x15
MASK64 = 2**64 - 1


def _table() -> list[int]:
    reflected, table = int(f"{0xF4ACFB13:032b}"[::-1], 2), []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (reflected if value & 1 else 0)
        table.append(value)
    return table


TABLE = _table()


def digest(data: bytes) -> int:
    """CRC-32/AUTOSAR | sum of 32-bit words; whole flits only."""
    assert len(data) % 8 == 0
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    total = sum(int.from_bytes(data[i : i + 4], "big") for i in range(0, len(data), 4))
    return (crc ^ 0xFFFFFFFF) << 32 | total & 0xFFFFFFFF


def all_digests() -> list[int]:
    data = Generated(UNITS, SIZE, seed=7)
    return [digest(data.read(unit)) for unit in range(UNITS)]


@dataclass
class Ledger:
    """Every result that reaches the CPU, and whether the CPU booked it."""

    expected: list[int]
    done: set[int] = field(default_factory=set)
    results: int = 0

    def watch(self, server: Server) -> None:
        deliver = server.kernel.on_cpu_mail

        def mail(cell: int, frame: bytes, port: int, bad: bool) -> None:
            before = server.cpu.work.completed
            deliver(cell, frame, port, bad)
            booked = server.cpu.work.completed - before
            if frame[0] != RESULT or bad:
                assert booked == 0
                return
            unit, answer = (int.from_bytes(frame[a:b], "big") for a, b in ((12, 16), (24, 32)))
            self.results += 1
            right = answer == self.expected[unit]
            assert booked == (right and unit not in self.done), f"unit {unit}"
            if right:
                self.done.add(unit)

        server.kernel.on_cpu_mail = mail

    @property
    def sum(self) -> int:
        """Exclusive-or of all digests, each turned left by its unit's number."""
        total = 0
        for unit in self.done:
            turn, answer = unit % 64, self.expected[unit]
            total ^= (answer << turn | answer >> (64 - turn)) & MASK64
        return total


def trouble(seed: int) -> list[str]:
    """A GPU's death in the midst of the work, and in some runs its return."""
    rng = random.Random(seed)
    card = rng.choice(list(CARDS))
    entry = seed % 8 == 0
    gpu = f"{card}.{0 if entry else rng.randrange(1, CARDS[card])}"
    kind, at = rng.choice(["dead", "hang"]), rng.randrange(BUSY)
    events = [f"{{at: {at}, fault: {kind}, gpu: {gpu}}}"]
    if rng.random() < 0.5:
        events.append(f"{{at: {at + rng.randrange(1, 40_000)}, clear: {kind}, gpu: {gpu}}}")
    return events


def run(library: Library, seed: int, expected: list[int], skipping: bool = True) -> tuple[Outcome, Ledger]:
    timeline = "".join(f"  - {event}\n" for event in trouble(seed))
    cards = ", ".join(f"{name}: {{gpus: {size}}}" for name, size in CARDS.items())
    text = f"seed: 7\nserver: {{cards: {{{cards}}}}}\nworkload: {{units: {UNITS}, size: {SIZE}}}\ntimeline:\n"
    server = Server(loads(text + timeline), library, skipping=skipping)
    ledger = Ledger(expected)
    ledger.watch(server)
    outcome = server.run()
    server.engine.close()
    return outcome, ledger


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


@pytest.fixture(scope="module")
def expected() -> list[int]:
    return all_digests()


SEEDS = [*range(40), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(40, 200))]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_unit_is_done_exactly_once(library: Library, expected: list[int], seed: int) -> None:
    outcome, ledger = run(library, seed, expected)
    assert ledger.done == set(range(UNITS))
    work = outcome.work
    assert (work["completed"], work["lost"], work["duplicated"]) == (UNITS, 0, 0)
    assert work["digest"] == f"{ledger.sum:016x}"
    assert ledger.results == UNITS + work["late"] + work["wrong"]
    assert sum(card.completed for card in outcome.cards.values()) == UNITS
    assert outcome.failures == ()


def test_the_runs_are_in_the_midst_of_work(library: Library, expected: list[int]) -> None:
    """Deaths that nothing had to be repeated for would prove little."""
    resent = [run(library, seed, expected)[0].work["resent"] for seed in range(8)]
    assert sum(n > 0 for n in resent) >= 5
