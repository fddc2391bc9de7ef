"""Watches a link whose pins aren't known."""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from ringhil.emulator.testbench import Pins, RingBus, RingMonitor


@cocotb.test()
async def unknown(dut: Any) -> None:
    pins = Pins(dut)
    bus = RingBus.from_prefix(pins, "p1")
    RingMonitor("p1 out", bus.tx_data, bus.tx_ctl, pins.pin("clk_i", 1), lambda: 7)
    Clock(dut.clk_i, 1, "ns").start()
    await ClockCycles(dut.clk_i, 3)
