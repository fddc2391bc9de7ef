"""Whoever has failed: the entry GPU counts the others exactly, by both directions (R2-R4, R6).

The truth is a set in this file and the frames are read by hand; nothing here shares code with what it judges.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations

import pytest

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import Library
from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.kernel.gpu_firmware import GpuFirmware
from ringhil.firmware import timing
from ringhil.firmware.census import Census, CensusConfig
from ringhil.firmware.observations import Counted
from ringhil.protocol.wire import CensusVerdict

WATCHDOG = 64
FIRMWARE_LATENCY = 32
SHADOWED = 28  # GPUs: up to here a message with all records fits the shadow copy of a bypass switch
PORT_OF = {"cw": 0, "ccw": 1}  # ring port by which a message that set out so comes home

Failure = dict[int, str]  # GPU -> "dead" or "hang"


@dataclass
class Home:
    """A message that came home, read by hand from its bytes (docs/reference/protocol.md)."""

    port: int
    bad: bool
    frame: bytes

    def number(self, start: int, size: int) -> int:
        return int.from_bytes(self.frame[start : start + size], "big")

    @property
    def direction(self) -> str:
        return "ccw" if self.number(2, 2) & 1 else "cw"

    @property
    def sequence(self) -> int:
        return self.number(12, 4)

    @property
    def count(self) -> int:
        return self.number(16, 2)

    @property
    def records(self) -> list[tuple[int, int]]:
        """GPU and hop of each."""
        assert len(self.frame) == 32 + 16 * self.number(18, 2) + 8
        return [(self.number(at, 2), self.number(at + 2, 2)) for at in range(32, len(self.frame) - 8, 16)]


@dataclass
class Found:
    """What one census of the entry GPU 0 brought, and how long it took (cycles)."""

    took: int = 0
    counted: list[Counted] = field(default_factory=list)
    home: list[Home] = field(default_factory=list)


class Ring:
    """A ring of `size` GPUs, powered up afresh for every census."""

    def __init__(self, library: Library, size: int) -> None:
        self.library, self.size = library, size

    def census(self, failed: Failure) -> Found:
        with Engine(self.library, Topology((self.size,))) as engine:
            engine.poke(0, "control", 0b11)
            engine.run(20)
            return self._count(engine, failed)

    def _count(self, engine: Engine, failed: Failure) -> Found:
        for gpu, kind in failed.items():
            engine.set_fault(gpu, kind, True)
        kernel, found = Kernel(engine, FIRMWARE_LATENCY, 64), Found()
        timeout = timing.round_timeout(self.size, WATCHDOG, records=True) + FIRMWARE_LATENCY
        # A hanging GPU is switched past only when a message gets stuck in it: one watchdog each.
        timeout += len(failed) * (WATCHDOG + 8)
        config = CensusConfig(0, 0, self.size, 1, 10**6, timeout)

        def said(observed: FirmwareSaid) -> None:
            if isinstance(observed.what, Counted):
                found.counted.append(observed.what)
                kernel.stop()

        kernel.observations.listen(FirmwareSaid, said)
        firmware = GpuFirmware(kernel, 0, lambda boots, memory: Census(config))

        def mail(cell: int, frame: bytes, port: int, bad: bool) -> None:
            assert cell == 0
            found.home.append(Home(port, bad, frame))
            firmware.mail(frame, port, bad)

        kernel.on_firmware_mail = mail
        firmware.power_up()
        began = kernel.now
        kernel.run(began + 4 * timeout)
        found.took = kernel.now - began
        return found


def check(ring: Ring, failed: Failure) -> None:
    """Count, members and both directions of one census."""
    working = set(range(ring.size)) - set(failed)
    found = ring.census(failed)
    assert len(found.counted) == 1, f"{failed}: no count"
    counted = found.counted[0]
    assert counted.count == len(working), failed
    assert counted.members is not None
    assert set(counted.members) == working, failed
    assert len(counted.members) == len(working)
    assert counted.verdict == CensusVerdict.RING
    assert (counted.break_after, counted.break_before) == (None, None)

    round_ = [h for h in found.home if h.sequence == counted.sequence]
    assert sorted(h.direction for h in round_) == ["ccw", "cw"], failed
    clockwise = sorted(working)
    for home in round_:
        wired = clockwise if home.direction == "cw" else [0, *reversed(clockwise[1:])]
        assert (home.port, home.bad) == (PORT_OF[home.direction], False)
        assert home.count == len(working), failed
        assert home.records == [(gpu, hop) for hop, gpu in enumerate(wired, 1)], failed
    if ring.size <= SHADOWED:
        assert counted.sequence == 1, f"{failed}: a message was lost"
        assert found.took <= bound(ring.size, failed), failed


def bound(size: int, failed: Failure) -> int:
    """T_ring(N-k) + k(W+S+B) with k GPUs that hang, in cycles.

    And the firmware's latency, and the clockwise message, which is written before the other.
    """
    hanging = sum(kind == "hang" for kind in failed.values())
    ring_time = timing.ring_time(size, records=True, working=size - len(failed))
    switch = WATCHDOG + timing.SWITCH_OVER + timing.BYPASS_HOP
    return timing.MESSAGE_FLITS + ring_time + hanging * switch + FIRMWARE_LATENCY


def every_set(size: int) -> Iterator[tuple[int, ...]]:
    """Every set of GPUs of the ring without GPU 0."""
    others = range(1, size)
    return chain.from_iterable(combinations(others, n) for n in range(size))


def mixed(gpus: tuple[int, ...], first: int) -> Failure:
    """By turns dead and hanging."""
    return {gpu: ("dead", "hang")[(n + first) % 2] for n, gpu in enumerate(gpus)}


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("size", range(2, 11))
def test_every_set_of_failed_gpus_leaves_an_exact_count(library: Library, size: int) -> None:
    ring = Ring(library, size)
    sets = list(every_set(size))
    assert len(sets) == 2 ** (size - 1)
    for gpus in sets:
        check(ring, mixed(gpus, 0))
        check(ring, mixed(gpus, 1))


@pytest.mark.parametrize("kind", ["dead", "hang"])
@pytest.mark.parametrize("size", [5, 8])
def test_also_when_all_fail_in_the_same_way(library: Library, size: int, kind: str) -> None:
    ring = Ring(library, size)
    for gpus in every_set(size):
        check(ring, dict.fromkeys(gpus, kind))


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("size", "sets"), [(16, 200), (64, 60), (256, 16), pytest.param(1024, 4, marks=pytest.mark.slow(part="engine"))]
)
def test_large_rings_with_random_failures(library: Library, size: int, sets: int) -> None:
    ring, rng = Ring(library, size), random.Random(size)
    for n in range(sets):
        # From a few failures to nearly everybody.
        failed = rng.sample(range(1, size), round((size - 1) * (n + 0.5) / sets))
        check(ring, {gpu: rng.choice(["dead", "dead", "hang"]) for gpu in sorted(failed)})
