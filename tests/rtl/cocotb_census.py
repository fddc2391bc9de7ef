"""cocotb bench: a census of a card of N GPUs, written into the mailbox of GPU 0 and awaited there.

Run by test_cocotb_census.py. The bench sleeps until a mailbox shows something; cycles are counted only where the
design promises a number of them.
"""

from collections.abc import Sequence
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ValueChange, gather, with_timeout
from cocotb.types import LogicArray

from ringhil.protocol import codec, crc, registers, wire
from ringhil.protocol.frames import Record, Statistics

PERIOD_NS = 2
PATIENCE_US = 20  # simulated; far beyond the longest way round, every watchdog included
UP = wire.LinkBit.UP
VALID, SOF, EOF, BAD = 1, 2, 4, 8  # of a mailbox's control bits
CW, CCW = 0, 1
EPOCH = 1
GPU_RESTORE = next(r.reset for r in registers.REGISTERS if r.name == "gpu_restore")


class Card:
    """Drives a card_top: clock, time, and the mailbox of GPU 0."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.gpus = len(dut.quiescent_o) // 8
        self.now = 0

    async def start(self) -> None:
        """Power up, all links up, no faults."""
        d = self.dut
        for name in ("fault_i", "link_fault_i", "ber_port1_i", "ber_port2_i", "ber_host_i", "ber_boundary_i"):
            getattr(d, name).value = 0
        for name in ("link_delay_i", "host_rx_data_i", "boundary_rx_data_i", "boundary_rx_ctl_i"):
            getattr(d, name).value = 0
        for name in ("mtx_ctl_i", "mtx_data_i", "reg_we_i", "reg_addr_i", "reg_wdata_i", "card_id_i", "now_i"):
            getattr(d, name).value = 0
        d.host_rx_ctl_i.value = int.from_bytes(bytes([UP] * self.gpus), "big")
        d.rst_i.value = 1
        Clock(d.clk_i, PERIOD_NS, unit="ns").start()
        for _ in range(2):
            await FallingEdge(d.clk_i)
        d.rst_i.value = 0
        cocotb.start_soon(self._count())

    async def _count(self) -> None:
        """Time is an input: it changes between the rising edges, as all inputs here do."""
        while True:
            await FallingEdge(self.dut.clk_i)
            self.now += 1
            self.dut.now_i.value = self.now

    async def wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await FallingEdge(self.dut.clk_i)

    def set_faults(self, gpu: int, *names: str) -> None:
        """The faults of one GPU, and of that one only."""
        bits = sum(registers.FaultBit.codes()[name] for name in names)
        self.dut.fault_i.value = bits << registers.FAULT_PORT_WIDTH * gpu

    async def send(self, port: int, frame: bytes) -> None:
        """GPU 0 writes a frame into its mailbox."""
        d = self.dut
        flits = [frame[i : i + 8] for i in range(0, len(frame), 8)]
        for i, flit in enumerate(flits):
            while not d.mtx_ready_o.value[0]:
                await FallingEdge(d.clk_i)
            d.mtx_data_i.value = int.from_bytes(flit, "big")
            d.mtx_ctl_i.value = VALID | SOF * (i == 0) | EOF * (i == len(flits) - 1) | port << 3
            await FallingEdge(d.clk_i)
        d.mtx_ctl_i.value = 0

    async def receive(self, port: int) -> bytes:
        """The next frame that comes home to GPU 0 by a port; looked at in the middle of a cycle."""
        d = self.dut
        ctl, data = ((d.mrx0_ctl_o, d.mrx0_data_o), (d.mrx1_ctl_o, d.mrx1_data_o))[port]
        frame = b""
        while True:
            bits = of_gpu0(ctl.value, 8)
            if not bits & VALID:
                await ValueChange(ctl)
                await FallingEdge(d.clk_i)
                continue
            assert bool(bits & SOF) == (frame == b""), "a frame begins with sof, and only there"
            frame += of_gpu0(data.value, 64).to_bytes(8, "big")
            await FallingEdge(d.clk_i)
            if bits & EOF:
                assert not bits & BAD, "the frame arrived damaged"
                return frame

    async def census(self, sequence: int) -> tuple[Statistics, Statistics]:
        """Both directions at once; what came home clockwise and counter-clockwise."""
        home = cocotb.start_soon(gather(self.receive(CW), self.receive(CCW)))
        for port in (CW, CCW):
            await self.send(port, message(self.gpus, sequence, port))
        frames = await with_timeout(home, PATIENCE_US, "us")
        cw, ccw = (codec.decode(frame, link=False) for frame in frames)
        assert isinstance(cw, Statistics)
        assert isinstance(ccw, Statistics)
        return cw, ccw


def of_gpu0(value: LogicArray, width: int) -> int:
    """The bits of GPU 0 in a port of all GPUs."""
    return value[width - 1 : 0].to_unsigned()


def message(gpus: int, sequence: int, port: int) -> bytes:
    """A census with records from GPU 0."""
    head = (0, 1, wire.GpuState.WORKING.code, 0, 0, 0, 1, 0, wire.NO_CARD)
    tag = crc.record_tag(EPOCH, sequence, Record.HEAD.pack(*head, 0))
    flags = wire.Flag.WITH_RECORDS | wire.Flag.CCW * port
    fields = (0, flags, gpus + 1, 0, EPOCH, sequence, 1, gpus, wire.MAX_RING, 0)
    return codec.encode(Statistics(*fields, (Record(*head, tag),)))


def check(answer: Statistics, sequence: int, members: Sequence[int], port: int) -> None:
    """Count, order, hops and tags of what came home."""
    assert (answer.origin, answer.epoch, answer.sequence) == (0, EPOCH, sequence)
    assert answer.count == len(members)
    assert [r.id for r in answer.records] == list(members)
    assert [r.hop for r in answer.records] == list(range(1, len(members) + 1))
    assert not answer.record_limit & wire.OVERFLOW
    for record in answer.records:
        packed = Record.HEAD.pack(*(getattr(record, name) for name in Record.__slots__))
        assert record.tag == crc.record_tag(EPOCH, sequence, packed)
        assert record.state == wire.GpuState.WORKING.code
        assert (record.peer, record.errors) == (wire.NO_CARD, 0)
        arrived_at_2 = bool(record.flags & wire.RecordFlag.PORT2)
        assert arrived_at_2 == (port == CCW and record.id != 0)


@cocotb.test()
async def all_gpus_are_counted(dut: Any) -> None:
    card = Card(dut)
    await card.start()
    others = list(range(1, card.gpus))
    for sequence in (1, 2):
        cw, ccw = await card.census(sequence)
        check(cw, sequence, [0, *others], CW)
        check(ccw, sequence, [0, *reversed(others)], CCW)


@cocotb.test()
async def a_dead_gpu_is_not_counted(dut: Any) -> None:
    card = Card(dut)
    await card.start()
    card.set_faults(2, "dead")
    others = [gpu for gpu in range(1, card.gpus) if gpu != 2]
    cw, ccw = await card.census(3)
    check(cw, 3, [0, *others], CW)
    check(ccw, 3, [0, *reversed(others)], CCW)
    card.set_faults(2)
    cw, _ = await card.census(4)  # well again, but not for long enough
    check(cw, 4, [0, *others], CW)
    await card.wait(GPU_RESTORE + 3)
    cw, ccw = await card.census(5)
    check(cw, 5, range(card.gpus), CW)
    check(ccw, 5, [0, *reversed(range(1, card.gpus))], CCW)


@cocotb.test()
async def a_hang_loses_no_message(dut: Any) -> None:
    card = Card(dut)
    await card.start()
    card.set_faults(1, "hang")
    cw, ccw = await card.census(6)
    check(cw, 6, [gpu for gpu in range(card.gpus) if gpu != 1], CW)
    check(ccw, 6, [0, *(gpu for gpu in reversed(range(1, card.gpus)) if gpu != 1)], CCW)
