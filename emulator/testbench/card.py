"""The bench of a whole card: clock, reset, time; for each GPU its mailbox, registers, host link and faults."""

from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotb.utils import get_sim_time

from ringhil.emulator.testbench.bus import Pins, RingBus
from ringhil.emulator.testbench.mailbox import Mailbox
from ringhil.emulator.testbench.monitor import PERIOD, RingMonitor
from ringhil.emulator.testbench.port import RingPort
from ringhil.emulator.testbench.register_port import RegisterPort
from ringhil.protocol import registers
from ringhil.protocol.wire import Link

_ZERO: tuple[str, ...] = ("link_fault_i", "ber_port1_i", "ber_port2_i", "ber_host_i", "ber_boundary_i", "link_delay_i")
_ZERO += ("boundary_rx_data_i", "boundary_rx_ctl_i", "mtx_ctl_i", "mtx_data_i", "reg_we_i", "reg_addr_i", "reg_wdata_i")


class Gpu:
    """One GPU of the card. `ring` are monitors of what leaves by port 1 and port 2."""

    def __init__(self, bench: "CardBench", cell: int) -> None:
        pins = Pins(bench.dut, cell, bench.shadow)
        self.mailbox = Mailbox(pins, bench.clock, bench.cycle)
        self.registers = RegisterPort(pins, bench.clock)
        self.host = RingPort(RingBus.from_prefix(pins, Link.HOST), bench.clock, bench.cycle)
        links = [RingBus.from_prefix(pins, name) for name in (Link.P1, Link.P2)]
        self.ring = [RingMonitor(f"{cell} {b.name}", b.tx_data, b.tx_ctl, bench.clock, bench.cycle) for b in links]
        self._fault = pins.pin("fault_i", registers.FAULT_PORT_WIDTH)
        self._faults = 0

    def set_fault(self, name: str, on: bool) -> None:
        """A fault of the GPU (see registers.FaultBit), from the next clock edge on."""
        bit = registers.FaultBit.codes()[name]
        self._faults = self._faults | bit if on else self._faults & ~bit
        self._fault.write(self._faults)


class CardBench:
    """Drives `card_bench` (hdl/card_bench.sv) of `gpus` GPUs. Make it, then `await start()`; then use `gpus`."""

    def __init__(self, dut: Any, gpus: int) -> None:
        self.dut = dut
        self.shadow: dict[str, int] = {}
        self.clock = Pins(dut).pin("clk_i", 1)
        self.edge = RisingEdge(self.clock.handle)
        self._count, self._began = gpus, 0
        self.gpus: list[Gpu] = []

    def cycle(self) -> int:
        """Number of the cycle that the last clock edge ended; 0 is the first one without reset."""
        return (get_sim_time("step") - self._began) // PERIOD

    async def start(self, *, card: int = 0) -> None:
        """Three cycles of reset, everything idle, no carrier at the boundary ports. Once for each test."""
        dut = self.dut
        for name in (*_ZERO, "fault_i", "host_rx_data_i", "host_rx_ctl_i"):
            getattr(dut, name).value = 0
        dut.card_id_i.value = card
        dut.rst_i.value = 1
        Clock(self.clock.handle, PERIOD, unit="step").start()
        for _ in range(2):
            await self.edge
        self.gpus = [Gpu(self, cell) for cell in range(self._count)]
        await self.edge
        dut.rst_i.value = 0
        self._began = get_sim_time("step") + PERIOD
        await self.edge

    async def wait(self, cycles: int) -> None:
        """Let this number of clock edges pass, without waking at each."""
        if cycles > 1:
            await Timer(PERIOD * (cycles - 1) + 1, "step")
        if cycles > 0:
            await self.edge
