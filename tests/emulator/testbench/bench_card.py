"""cocotb tests of a card of four GPUs whose firmware runs in Python, unchanged; the CPU's end grants the leases."""

from typing import Any

import cocotb

from ringhil.emulator.testbench.card import CardBench
from ringhil.emulator.testbench.firmware import FirmwareDriver
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.firmware.actions import Action
from ringhil.firmware.census import Census, CensusConfig
from ringhil.firmware.election import GroupConfig
from ringhil.firmware.gpu import GpuProgram
from ringhil.firmware.grantor import Grantor
from ringhil.firmware.member import Member
from ringhil.firmware.observations import Counted, Elected
from ringhil.protocol import codec
from ringhil.protocol.frames import Election, Keepalive, Report
from ringhil.protocol.wire import CensusVerdict, Role

GPUS = 4
HOST = (0, 1)  # GPUs with a link to the CPU
PERIOD = 1500  # cycles between two rounds
INTERVAL = 400  # of keepalives
CENSUS = CensusConfig(card=0, node=0, size=GPUS, epoch=1, period=PERIOD, timeout=300)


@cocotb.test()
async def census_firmware_counts_what_works(dut: Any) -> None:
    bench = CardBench(dut, GPUS)
    await bench.start()
    entry = bench.gpus[0]
    found: list[Counted] = []
    driver = FirmwareDriver(Census(CENSUS), entry.mailbox, entry.registers, bench.cycle)
    driver.observers.append(lambda action: found.append(action) if isinstance(action, Counted) else None)
    driver.start()
    await bench.wait(PERIOD // 2)
    assert [c.members for c in found] == [(0, 1, 2, 3)]
    bench.gpus[2].set_fault("dead", True)
    await bench.wait(PERIOD)
    assert found[-1].members == (0, 1, 3)
    bench.gpus[2].set_fault("dead", False)
    bench.gpus[3].set_fault("hang", True)
    await bench.wait(PERIOD)
    assert found[-1].members == (0, 1, 2)
    assert all(c.verdict == CensusVerdict.RING for c in found)


class Cpu:
    """The CPU's ends of the host links: answers keepalives and claims, and keeps the reports."""

    def __init__(self, bench: CardBench, lease: int) -> None:
        self._bench, self._grantor = bench, Grantor(Role.ENTRY, lease=lease, guard=50)
        self.reports: list[tuple[int, Report]] = []
        for rank, gpu in enumerate(HOST):
            cocotb.start_soon(self._listen(rank, gpu))

    async def _listen(self, rank: int, gpu: int) -> None:
        port = self._bench.gpus[gpu].host
        while True:
            frame = await port.sink.recv()
            message, answer = frame.message(), None
            if isinstance(message, Keepalive):
                answer, _ = self._grantor.on_keepalive(rank, message, self._bench.cycle())
            elif isinstance(message, Election):
                answer, _ = self._grantor.on_election(rank, message, self._bench.cycle())
            elif isinstance(message, Report):
                self.reports.append((gpu, message))
            if answer is not None:
                port.source.send_nowait(RingFrame.of(codec.encode(answer)))


def program(gpu: int, lease: int) -> GpuProgram:
    group = GroupConfig(
        role="entry", card=0, me=gpu, rank=HOST.index(gpu), members=HOST, ring_size=GPUS, uplink="cpu",
        uplink_card=0, uplink_home=gpu, interval=INTERVAL, multiplier=3, jitter=0, slack=200, lease=lease, skew=100,
        guard=50, wait_to_restore=500, boots=1, seed=1,
    )  # fmt: skip
    census = CensusConfig(card=0, node=gpu, size=GPUS, epoch=0, period=PERIOD, timeout=300)
    return GpuProgram(census, True, {"entry": Member(group)}, None, {})


@cocotb.test()
async def the_entry_role_moves_when_its_holder_dies(dut: Any) -> None:
    bench = CardBench(dut, GPUS)
    await bench.start()
    lease = 3 * INTERVAL + 200
    cpu = Cpu(bench, lease)
    elected: list[tuple[int, int]] = []
    drivers = {}
    for gpu in HOST:
        node = bench.gpus[gpu]
        drivers[gpu] = FirmwareDriver(program(gpu, lease), node.mailbox, node.registers, bench.cycle)

        def note(action: Action, gpu: int = gpu) -> None:
            if isinstance(action, Elected):
                elected.append((gpu, action.epoch))

        drivers[gpu].observers.append(note)
        drivers[gpu].start()
    await bench.wait(6000)
    assert [gpu for gpu, _ in elected] == [0], "the first listed member is elected at power-up"
    assert {(gpu, report.count) for gpu, report in cpu.reports} == {(0, GPUS)}
    bench.gpus[0].set_fault("dead", True)
    drivers[0].fail()
    await bench.wait(4 * lease)
    assert [gpu for gpu, _ in elected] == [0, 1]
    assert elected[0][1] < elected[1][1], "every lease has a higher epoch"
    gpu, report = cpu.reports[-1]
    assert (gpu, report.count) == (1, GPUS - 1)


@cocotb.test()
async def a_monitor_sees_every_frame_of_the_ring(dut: Any) -> None:
    bench = CardBench(dut, GPUS)
    await bench.start()
    entry = bench.gpus[0]
    driver = FirmwareDriver(Census(CENSUS), entry.mailbox, entry.registers, bench.cycle)
    driver.start()
    await bench.wait(PERIOD // 2)
    for place, gpu in enumerate(bench.gpus):
        one, two = (monitor.frames for monitor in gpu.ring)
        clockwise, counter = two.get_nowait(), one.get_nowait()
        assert clockwise.message().count == place + 1  # type: ignore[union-attr]
        assert counter.message().count == (GPUS - place + 1 if place else 1)  # type: ignore[union-attr]
        assert not any(monitor.breaches for monitor in gpu.ring)
