"""Work in flight when a GPU dies is neither lost nor done twice (R5).

A thousand units on two cards; at a random cycle a GPU dies or hangs, in some runs an entry GPU: then another one takes
the role over, or where there is none the whole card is gone until it comes back. What reaches the CPU is read
by hand and checked against digests that this file computes itself, and against leases that it keeps account of itself:
what comes from any but the entry GPU of the present epoch must not be booked.
"""

import random
from dataclasses import dataclass, field

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import Library
from ringhil.emulator.events.hardware import FromCpu
from ringhil.emulator.host.work.workload import Generated
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

UNITS, SIZE = 1000, 256
CARDS = {"a": 8, "b": 6}
BUSY = 18_000  # cycles that the work takes when nothing fails
KEEPALIVE, ELECTION, RESULT, ACKNOWLEDGEMENT, REPORT = 0x12, 0x13, 0x15, 0x16, 0x17
HOLDER, GRANT, RELEASE = 2, 2, 4  # of a keepalive's state, of an election's operation
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


def number(frame: bytes, start: int, size: int) -> int:
    return int.from_bytes(frame[start : start + size], "big")


@dataclass
class Lease:
    """Of one card: which cell may speak to the CPU, under which epoch, until when; by frames alone."""

    length: int = 0
    cell: int = -1
    epoch: int = 0
    until: int = 0

    def granted(self, cell: int, frame: bytes, now: int) -> None:
        assert number(frame, 8, 4) > self.epoch, "an epoch is used again"
        assert now >= self.until or cell == self.cell, "two hold a lease"
        self.length = number(frame, 20, 4)
        self.cell, self.epoch, self.until = cell, number(frame, 8, 4), now + self.length

    def heard(self, cell: int, frame: bytes, now: int) -> None:
        """A keepalive of the holder renews it, unless it has run out; a release ends it."""
        if not self.covers(cell, frame, now):
            return
        if frame[0] == KEEPALIVE and frame[27] & 0xF == HOLDER:
            self.until = now + self.length
        elif frame[0] == ELECTION and frame[18] == RELEASE:
            self.until = now

    def covers(self, cell: int, frame: bytes, now: int) -> bool:
        return (cell, number(frame, 8, 4)) == (self.cell, self.epoch) and now < self.until


@dataclass
class Ledger:
    """Every result that reaches the CPU, and whether the CPU booked it."""

    expected: list[int]
    done: set[int] = field(default_factory=set)
    results: int = 0
    by_card: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CARDS, 0))
    fenced: int = 0  # frames of GPUs without a lease
    fenced_results: int = 0
    leases: dict[str, Lease] = field(default_factory=lambda: {name: Lease() for name in CARDS})

    def watch(self, server: Run) -> None:
        deliver = server.kernel.on_cpu_mail

        def sent(seen: FromCpu) -> None:
            if seen.frame[0] == ELECTION and seen.frame[18] == GRANT:
                self.lease(seen.cell).granted(seen.cell, seen.frame, seen.cycle)

        def mail(cell: int, frame: bytes, port: int, bad: bool) -> None:
            before, now = server.cpu.work.completed, server.kernel.now
            lease = self.lease(cell)
            covered = lease.covers(cell, frame, now)
            if not bad:
                lease.heard(cell, frame, now)
            deliver(cell, frame, port, bad)
            booked = server.cpu.work.completed - before
            if frame[0] in (RESULT, ACKNOWLEDGEMENT, REPORT) and not bad:
                self.fenced += not covered
            if frame[0] != RESULT or bad:
                assert booked == 0
                return
            unit, answer = number(frame, 12, 4), number(frame, 24, 8)
            self.results += 1
            self.fenced_results += not covered
            right = answer == self.expected[unit] and covered
            assert booked == (right and unit not in self.done), f"unit {unit}"
            if booked:
                self.by_card[list(CARDS)[frame[22]]] += 1
            if right:
                self.done.add(unit)

        server.kernel.on_cpu_mail = mail
        server.observations.listen(FromCpu, sent)

    def lease(self, cell: int) -> Lease:
        return self.leases["a" if cell < CARDS["a"] else "b"]

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


def host_links(card: str, seed: int) -> list[int]:
    """In every other run with a lost entry GPU card b has a second one."""
    return [0, 1] if card == "b" and seed % 16 else [0]


def run(library: Library, seed: int, expected: list[int], skipping: bool = True) -> tuple[Outcome, Ledger]:
    timeline = "".join(f"  - {event}\n" for event in trouble(seed))
    cards = ", ".join(f"{n}: {{gpus: {size}, host_links: {host_links(n, seed)}}}" for n, size in CARDS.items())
    text = f"seed: 7\nserver: {{cards: {{{cards}}}}}\nworkload: {{units: {UNITS}, size: {SIZE}}}\ntimeline:\n"
    server = Run(loads(text + timeline), library, skipping=skipping)
    ledger = Ledger(expected)
    ledger.watch(server)
    outcome = server.run()
    server.engine.close()
    return outcome, ledger


@pytest.fixture(scope="module")
def expected() -> list[int]:
    return all_digests()


SEEDS = sampled(range(200), "work", 9)


@pytest.mark.rest(but_one_in=12)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_unit_is_done_exactly_once(library: Library, expected: list[int], seed: int) -> None:
    outcome, ledger = run(library, seed, expected)
    assert ledger.done == set(range(UNITS))
    work = outcome.work
    assert (work["completed"], work["lost"], work["duplicated"]) == (UNITS, 0, 0)
    assert work["digest"] == f"{ledger.sum:016x}"
    assert ledger.results == UNITS + work["late"] + work["wrong"] + ledger.fenced_results
    assert ledger.fenced == work["fenced"]
    assert {name: card.completed for name, card in outcome.cards.items()} == ledger.by_card
    assert sum(ledger.by_card.values()) == UNITS
    assert outcome.failures == ()


@pytest.mark.rest
def test_some_leases_end_and_results_come_too_late(library: Library, expected: list[int]) -> None:
    """A ledger that never saw a lease end would prove nothing about fencing."""
    ledgers = [run(library, seed, expected)[1] for seed in range(0, 40, 8)]
    assert any(ledger.fenced_results for ledger in ledgers)
    assert any(ledger.leases["b"].cell == CARDS["a"] + 1 for ledger in ledgers)


@pytest.mark.rest
def test_the_runs_are_in_the_midst_of_work(library: Library, expected: list[int]) -> None:
    """Deaths that nothing had to be repeated for would prove little."""
    resent = [run(library, seed, expected)[0].work["resent"] for seed in range(8)]
    assert sum(n > 0 for n in resent) >= 5
