"""The cocotb side of the second peer: census rounds, and a monitor that looks at every clock edge.

Run by `cocotb_peer.measure`; settings come by environment variables.
"""

import os
import time
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from ringhil.protocol import registers, wire

_UP = wire.LinkBit.UP
_IDLE = (
    *("fault_i", "link_fault_i", "ber_port1_i", "ber_port2_i", "ber_host_i", "host_rx_data_i", "mtx_ctl_i"),
    *("mtx_data_i", "reg_we_i", "reg_addr_i", "reg_wdata_i", "now_i", "card_id_i"),
    *("ber_boundary_i", "link_delay_i", "boundary_rx_data_i", "boundary_rx_ctl_i"),
)
_END = 0b0101  # valid, eof


@cocotb.test()
async def census_with_monitor(dut: Any) -> None:
    """Rounds at the same distance as in the engine; the entry's mailbox is looked at in every cycle."""
    gpus, cycles, period = (int(os.environ[f"RINGHIL_BENCH_{n}"]) for n in ("GPUS", "CYCLES", "PERIOD"))
    words = [int(word, 16) for word in os.environ["RINGHIL_BENCH_FLITS"].split(",")]
    length = len(words) // 2
    for name in _IDLE:
        getattr(dut, name).value = 0
    dut.host_rx_ctl_i.value = sum(_UP << 8 * i for i in range(gpus))
    dut.rst_i.value = 1
    Clock(dut.clk_i, 2, unit="step").start()
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0
    # So many rounds would be babbling to GPU 0's guardian.
    dut.reg_addr_i.value = registers.ADDRESS["allowance"]
    dut.reg_wdata_i.value = 10**6
    dut.reg_we_i.value = 1
    await RisingEdge(dut.clk_i)
    dut.reg_we_i.value = 0
    home, began = 0, time.perf_counter()
    for cycle in range(cycles):
        at = cycle % period
        if at < 2 * length:
            place = at % length
            last = place == length - 1
            dut.mtx_ctl_i.value = 1 | (place == 0) << 1 | last << 2 | (at >= length) << 3
            dut.mtx_data_i.value = words[at]
        elif at == 2 * length:
            dut.mtx_ctl_i.value = 0
        dut.now_i.value = cycle
        await RisingEdge(dut.clk_i)
        for signal in (dut.mrx0_ctl_o, dut.mrx1_ctl_o):
            home += signal.value.to_unsigned() & _END == _END
    spent = time.perf_counter() - began
    Path(os.environ["RINGHIL_BENCH_RESULT"]).write_text(f"{spent} {home}")
    assert home >= 2 * (cycles // period - 1), home
