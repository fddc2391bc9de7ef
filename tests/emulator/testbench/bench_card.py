"""cocotb tests of a card of four GPUs whose firmware runs in Python, unchanged, and whose CPU is the one that ships."""

from functools import reduce
from operator import xor
from typing import Any

import cocotb
from card_port_plans import Plans  # beside this file

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.config import CpuConfig
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.host.workload import Generated, WorkUnits
from ringhil.emulator.judge.oracle import digest, turned
from ringhil.emulator.testbench.card import CardBench
from ringhil.emulator.testbench.card_port import BenchCardPort
from ringhil.emulator.testbench.firmware import FirmwareDriver
from ringhil.firmware.actions import Action
from ringhil.firmware.census import Census, CensusConfig
from ringhil.firmware.election import GroupConfig
from ringhil.firmware.gpu import GpuProgram
from ringhil.firmware.grantor import Grantor
from ringhil.firmware.member import Member
from ringhil.firmware.observations import Counted, Elected
from ringhil.protocol.wire import CensusVerdict, Port, Role

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
