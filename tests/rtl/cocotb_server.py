"""cocotb bench of server_top: two cards of three GPUs; frames from firmware to firmware over the boundary links.

Run by test_cocotb_census.py. Default wiring: GPUs 1 and 2 of the first card to GPUs 2 and 1 of the second.
"""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ValueChange, with_timeout
from cocotb.utils import get_sim_steps, get_sim_time

from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Keepalive

PERIOD_NS = 2
PATIENCE_US = 20  # simulated
CELLS, GPUS = 6, 3
RESTORE = 500  # cycles after which a link that started afresh is used again
UP = wire.LinkBit.UP
VALID, SOF, EOF, BAD = 1, 2, 4, 8  # of a mailbox's control bits
BOUNDARY = 3  # port
WIRED = ((1, 5), (2, 4))
INPUTS = ("fault_i", "link_fault_i", "ber_port1_i", "ber_port2_i", "ber_host_i", "ber_boundary_i", "link_delay_i")
INPUTS += ("host_rx_data_i", "mtx_ctl_i", "mtx_data_i", "reg_we_i", "reg_addr_i", "reg_wdata_i", "now_i")


def keepalive(sequence: int) -> bytes:
    """Any control frame will do: the far end's firmware gets it whatever home it names."""
    return codec.encode(Keepalive(0, 0, 4, 0, 1, sequence, 7, 0, wire.Role.BOUNDARY.code, 0, 3, 0, 1000, 3, 0, 0))


async def power_up(dut: Any) -> None:
    """All links up, no faults; time runs."""
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.host_rx_ctl_i.value = int.from_bytes(bytes([UP] * CELLS), "big")
    dut.rst_i.value = 1
    Clock(dut.clk_i, PERIOD_NS, unit="ns").start()
    for _ in range(2):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    cocotb.start_soon(count(dut))


async def count(dut: Any) -> None:
    """Time is an input."""
    now = 0
    while True:
        await FallingEdge(dut.clk_i)
        now += 1
        dut.now_i.value = now


async def send(dut: Any, cell: int, frame: bytes) -> None:
    """The firmware of a GPU writes a frame for its boundary port."""
    flits = [frame[i : i + 8] for i in range(0, len(frame), 8)]
    for i, flit in enumerate(flits):
        dut.mtx_data_i.value = int.from_bytes(flit, "big") << 64 * cell
        dut.mtx_ctl_i.value = (VALID | SOF * (i == 0) | EOF * (i == len(flits) - 1) | BOUNDARY << 3) << 8 * cell
        await FallingEdge(dut.clk_i)
    dut.mtx_ctl_i.value = 0


async def receive(dut: Any, cell: int, *, damaged: bool = False) -> bytes:
    """The next frame for the firmware of a GPU from its boundary port; whether it must have arrived damaged."""
    frame = b""
    while True:
        bits = dut.mrx3_ctl_o.value[8 * cell + 7 : 8 * cell].to_unsigned()
        if not bits & VALID:
            await ValueChange(dut.mrx3_ctl_o)
            await FallingEdge(dut.clk_i)
            continue
        assert bool(bits & SOF) == (frame == b"")
        frame += dut.mrx3_data_o.value[64 * cell + 63 : 64 * cell].to_unsigned().to_bytes(8, "big")
        await FallingEdge(dut.clk_i)
        if bits & EOF:
            assert bool(bits & BAD) == damaged
            return frame


@cocotb.test()
async def frames_cross_to_the_gpu_that_is_wired_there(dut: Any) -> None:
    await power_up(dut)
    for sequence, (first, second) in enumerate((*WIRED, *((b, a) for a, b in WIRED))):
        arrival = cocotb.start_soon(receive(dut, second))
        await send(dut, first, keepalive(sequence))
        found = codec.decode(await with_timeout(arrival, PATIENCE_US, "us"), link=False)
        assert isinstance(found, Keepalive)
        assert found.sequence == sequence


@cocotb.test()
async def a_cut_is_seen_at_both_ends(dut: Any) -> None:
    await power_up(dut)
    first, second = WIRED[0]
    dut.link_fault_i.value = 0b1000 << 8 * second  # nothing arrives there
    for _ in range(8):
        await FallingEdge(dut.clk_i)
    for cell in range(CELLS):
        fault = dut.boundary_tx_ctl_o.value[8 * cell + 7 : 8 * cell].to_unsigned() & wire.LinkBit.FAULT
        # GPU 0 of each card is wired to nobody.
        assert bool(fault) == (cell in (first, second) or cell % GPUS == 0)


async def crossing_time(dut: Any, first: int, second: int, sequence: int) -> int:
    """Steps of simulated time from the first flit's writing to the last one's reading."""
    began = get_sim_time("step")
    arrival = cocotb.start_soon(receive(dut, second))
    await send(dut, first, keepalive(sequence))
    await with_timeout(arrival, PATIENCE_US, "us")
    return get_sim_time("step") - began


@cocotb.test()
async def a_delayed_link_delivers_later_by_that_much(dut: Any) -> None:
    await power_up(dut)
    first, second = WIRED[0]
    before = await crossing_time(dut, first, second, 1)
    for delay in (1, 20, 63):
        dut.link_delay_i.value = delay << 32 * second + 24
        for _ in range(RESTORE):
            await FallingEdge(dut.clk_i)
        later = await crossing_time(dut, first, second, delay) - before
        period = get_sim_steps(PERIOD_NS, "ns")
        assert later == delay * period, f"{later / period} cycles later, must be {delay}"
    dut.link_delay_i.value = 0
    for _ in range(RESTORE):
        await FallingEdge(dut.clk_i)
    assert await crossing_time(dut, first, second, 2) == before


@cocotb.test()
async def a_noisy_link_damages_what_passes(dut: Any) -> None:
    await power_up(dut)
    first, second = WIRED[0]
    dut.ber_boundary_i.value = 0xFFFF << 16 * second
    arrival = cocotb.start_soon(receive(dut, second, damaged=True))
    await send(dut, first, keepalive(1))
    frame = await with_timeout(arrival, PATIENCE_US, "us")
    assert frame != keepalive(1)
    dut.ber_boundary_i.value = 0
    arrival = cocotb.start_soon(receive(dut, second))
    await send(dut, first, keepalive(2))
    assert (await with_timeout(arrival, PATIENCE_US, "us"))[:-4] == keepalive(2)[:-4]
