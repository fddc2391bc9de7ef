"""cocotb tests of a card of four GPUs whose firmware runs in Python, unchanged, and whose CPU is the one that ships."""

from dataclasses import replace
from functools import reduce
from operator import xor
from typing import Any

import cocotb
import pytest
from card_port_plans import Plans  # beside this file

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.host.work.handing_out import CpuConfig
from ringhil.emulator.host.work.workload import Generated, WorkUnits
from ringhil.emulator.judge.oracle import digest, turned
from ringhil.emulator.testbench.arguments import KitError
from ringhil.emulator.testbench.card import CardBench
from ringhil.emulator.testbench.card_port import BenchCardPort
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
from ringhil.protocol.frames import Keepalive, Statistics
from ringhil.protocol.registers import MAX_LINK_DELAY, StatusBit
from ringhil.protocol.wire import CensusVerdict, Link, LinkBit, Port, Role

GPUS = 4
HOST = (0, 1)  # GPUs with a link to the CPU
PERIOD = 1500  # cycles between two rounds
INTERVAL = 400  # of keepalives
UNITS = 200
CPU = CpuConfig(silence=8000, patience=6000, window=4, compute_setup=64, compute_per_flit=1)
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


def cpu_of(bench: CardBench, lease: int, workload: WorkUnits | None = None) -> Cpu:
    """The real CPU, on the pins of the host links."""
    port = BenchCardPort(bench)
    view = CardView("a", 0, GPUS, HOST, HOST, Grantor(Role.ENTRY, lease=lease, guard=50))
    cpu = Cpu(port, [view], CPU, workload)
    port.on_cpu_mail = cpu.mail
    cpu.power_up()
    return cpu


def program(gpu: int, lease: int) -> GpuProgram:
    group = GroupConfig(
        role=Role.ENTRY, card=0, me=gpu, rank=HOST.index(gpu), members=HOST, ring_size=GPUS, uplink=Port.CPU,
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
    cpu = cpu_of(bench, lease)
    (view,) = cpu.cards
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
    assert (view.entry, view.epoch, view.count) == (0, elected[0][1], GPUS)
    bench.gpus[0].set_fault("dead", True)
    drivers[0].fail()
    await bench.wait(4 * lease)
    assert [gpu for gpu, _ in elected] == [0, 1]
    assert elected[0][1] < elected[1][1], "every lease has a higher epoch"
    assert (view.entry, view.epoch, view.count) == (1, elected[1][1], GPUS - 1)


@cocotb.test()
async def the_cpu_gets_its_work_done(dut: Any) -> None:
    """Also the units that a GPU had when it died: each is accepted once, and right."""
    bench = CardBench(dut, GPUS)
    await bench.start()
    lease, workload = 3 * INTERVAL + 200, Generated(UNITS, 256, seed=1)
    for gpu in HOST:
        node = bench.gpus[gpu]
        FirmwareDriver(program(gpu, lease), node.mailbox, node.registers, bench.cycle).start()
    cpu = cpu_of(bench, lease, workload)
    await bench.wait(3500)
    assert 0 < cpu.work.completed < UNITS, "in the midst of the work"
    bench.gpus[2].set_fault("dead", True)
    await bench.wait(30_000)
    work, (view,) = cpu.work, cpu.cards
    assert (work.completed, work.duplicated, view.members) == (UNITS, 0, (0, 1, 3))
    assert work.resent > 0
    assert work.digest == reduce(xor, (turned(digest(workload.read(unit)), unit) for unit in range(UNITS)))


@cocotb.test()
async def what_is_planned_for_one_cycle_happens_in_the_order_of_planning(dut: Any) -> None:
    bench = CardBench(dut, GPUS)
    await bench.start()
    port = BenchCardPort(bench)
    plans = Plans(port)
    await bench.wait(Plans.CYCLES)
    plans.check()


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


# ------------------------------------------------------------------------------------------------------- link faults

RESTORE = 30  # cycles, the register link_restore
KEEPALIVE = Keepalive(0, 0, 2, 0, 1, 1, 1 << 16, 0, 1, 0, 3, 0, 400, 0, 0, 0)


async def linked(dut: Any, restore: int = RESTORE) -> CardBench:
    """A card whose links come back soon."""
    bench = CardBench(dut, GPUS)
    await bench.start()
    for gpu in bench.gpus:
        await gpu.registers.write("link_restore", restore)
    return bench


async def down(bench: CardBench) -> set[tuple[int, str]]:
    """(GPU, bit) of all that say that a ring port or the host link is down."""
    await bench.wait(3 * RESTORE)
    bits = (StatusBit.WRAP_PORT1, StatusBit.WRAP_PORT2, StatusBit.HOST_DOWN)
    states = [await gpu.registers.read("status") for gpu in bench.gpus]
    return {(i, bit.word) for i, state in enumerate(states) for bit in bits if state & bit}


def message(sequence: int) -> bytes:
    """A statistics message of GPU 0's."""
    return codec.encode(Statistics(0, 0, GPUS + 1, 0, 1, sequence, 1, GPUS, 0, 0))


def marked(bench: CardBench, gpu: int, port: int) -> bool:
    """The remote-fault mark on a ring port's wire, as it is now."""
    name = f"p{port + 1}_tx_ctl_o"
    return bool(int(getattr(bench.dut, name).value) >> 8 * gpu & LinkBit.FAULT)


@cocotb.test()
async def a_ring_link_is_cut_both_ways(dut: Any) -> None:
    bench = await linked(dut)
    for first, second in ((1, 2), (2, 1)):
        assert await down(bench) == set()
        bench.link_cut(first, second)
        assert await down(bench) == {(1, "wrap_port2"), (2, "wrap_port1")}
        assert (marked(bench, 1, 1), marked(bench, 2, 0)) == (True, True), "neither end hears the other one"
        bench.link_cut(first, second, on=False)
    assert await down(bench) == set()
    bench.link_cut(3, 0)
    assert await down(bench) == {(3, "wrap_port2"), (0, "wrap_port1")}


@cocotb.test()
async def a_ring_link_is_cut_one_way(dut: Any) -> None:
    bench = await linked(dut)
    for source, target, port in ((1, 2, 0), (2, 1, 1)):
        bench.link_one_way(source, target)
        assert await down(bench) == {(1, "wrap_port2"), (2, "wrap_port1")}, "both ends agree"
        assert marked(bench, target, port), "it hears nothing"
        assert not marked(bench, source, 1 - port), "it hears the other one well"
        bench.link_one_way(source, target, on=False)
        assert await down(bench) == set()


@cocotb.test()
async def flits_of_a_ring_link_arrive_damaged(dut: Any) -> None:
    bench = await linked(dut)
    bench.link_bit_errors(1, 2, rate=0xFFFF)
    for sequence in range(3):
        for port in (0, 1):
            bench.gpus[0].mailbox.send_nowait(port, message(sequence))
        await bench.wait(60)
    bad = [[await gpu.registers.read(f"rx_bad_port{port}") for port in (1, 2)] for gpu in bench.gpus]
    assert bad == [[0, 0], [0, 3], [3, 0], [0, 0]]
    bench.link_bit_errors(2, 1, rate=0)
    bench.gpus[0].mailbox.send_nowait(0, message(3))
    await bench.wait(60)
    assert await bench.gpus[2].registers.read("rx_bad_port1") == 3


@cocotb.test()
async def a_ring_link_is_slower(dut: Any) -> None:
    restore = 3 * MAX_LINK_DELAY  # longer than the slow link's round trip
    bench = await linked(dut, restore)

    async def times() -> tuple[int, int]:
        """Cycles that a message takes from GPU 1 to GPU 2, and back by the other lane."""
        for port in (0, 1):
            bench.gpus[0].mailbox.send_nowait(port, message(0))
        await bench.wait(100 + 4 * MAX_LINK_DELAY)
        began = [[monitor.frames.get_nowait().began for monitor in gpu.ring] for gpu in bench.gpus]
        return began[2][1] - began[1][1], began[1][0] - began[2][0]

    usual = await times()
    for delay in (1, 16, MAX_LINK_DELAY):
        bench.link_delay(1, 2, delay=delay)
        await bench.wait(3 * restore)
        assert await times() == tuple(cycles + delay for cycles in usual)
    bench.link_delay(1, 2, delay=0)
    await bench.wait(3 * restore)
    assert await times() == usual


@cocotb.test()
async def the_link_to_the_cpu_is_cut(dut: Any) -> None:
    bench = await linked(dut)
    bench.host_link_cut(1)
    assert await down(bench) == {(1, "host_down")}
    bench.gpus[1].mailbox.send_nowait(Port.CPU.code, message(0))
    await bench.wait(60)
    assert bench.gpus[1].host.sink.monitor.frames.empty()
    bench.host_link_cut(1, on=False)
    assert await down(bench) == set()
    bench.gpus[1].mailbox.send_nowait(Port.CPU.code, message(1))
    frame = await bench.gpus[1].host.sink.recv()
    assert frame.data[:16] == message(1)[:16], "the one of the time before is lost"


@cocotb.test()
async def the_link_to_another_card_is_cut(dut: Any) -> None:
    bench = await linked(dut)

    async def is_down() -> list[bool]:
        await bench.wait(3 * RESTORE)
        return [bool(await gpu.registers.read("status") & StatusBit.BOUNDARY_DOWN) for gpu in bench.gpus]

    assert await is_down() == [True] * GPUS, "nothing is plugged in"
    assert bench.gpus[2].boundary is bench.gpus[2].boundary
    assert await is_down() == [True, True, False, True]
    bench.boundary_link_cut(2)
    assert await is_down() == [True] * GPUS
    bench.boundary_link_cut(2, on=False)
    assert await is_down() == [True, True, False, True]


@cocotb.test()
async def off_the_ring_links_are_slow_and_noisy_too(dut: Any) -> None:
    """What gets to the GPU; the other way is the bench's own."""
    bench = await linked(dut)
    gpu = bench.gpus[2]
    for link, port in ((Link.HOST, gpu.host), (Link.BOUNDARY, gpu.boundary)):
        took = []
        for delay in (0, 9):
            gpu.delay(link, delay)
            await bench.wait(4 * RESTORE)
            port.source.send_nowait(RingFrame.of(codec.encode(replace(KEEPALIVE, destination=2))))
            mail = await gpu.mailbox.recv()
            assert not mail.bad
            took.append(mail.ended - (await port.arriving.recv()).ended)
        assert took[1] == took[0] + 9
        gpu.delay(link, 0)
        gpu.bit_errors(link, 0xFFFF)
        await bench.wait(4 * RESTORE)
        port.source.send_nowait(RingFrame.of(codec.encode(replace(KEEPALIVE, destination=2))))
        assert (await gpu.mailbox.recv()).bad


@cocotb.test()
async def a_link_fault_that_can_not_be_is_refused(dut: Any) -> None:
    bench = await linked(dut)
    for first, second in ((0, 2), (1, 1), (0, 4), (-1, 0)):
        with pytest.raises(KitError, match=f"GPUs {first} and {second}: allowed are neighbours on a ring of 4"):
            bench.link_cut(first, second)
    gpu = bench.gpus[0]
    for call, says in (
        (lambda: CardBench(dut, 8), r"gpus: found 8; the card of this bench has 4 \(its parameter N\)"),
        (
            lambda: bench.link_bit_errors(0, 1, rate=65536),
            "rate: found 65536; allowed are whole numbers from 0 to 65535",
        ),
        (lambda: bench.link_delay(0, 1, delay=64), "delay: found 64; allowed are whole numbers from 0 to 63"),
        (lambda: gpu.set_fault("ded", True), "fault: found 'ded'; allowed are dead, "),
        (lambda: gpu.cut("p3", True), "link: found 'p3'; allowed are p1, p2, host, boundary"),
    ):
        with pytest.raises(KitError, match=says):
            call()
    assert await down(bench) == set()
