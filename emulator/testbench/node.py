"""The whole bench of one node: clock, reset, time, four ports, mailbox, registers, faults."""

from collections.abc import Sequence
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotb.utils import get_sim_time

from ringhil.emulator.testbench.arguments import Parts, one_of, within
from ringhil.emulator.testbench.bus import Pin, Pins, RingBus
from ringhil.emulator.testbench.link import LinkModel
from ringhil.emulator.testbench.mailbox import Mailbox
from ringhil.emulator.testbench.monitor import PERIOD, Cycle, RingMonitor
from ringhil.emulator.testbench.register_port import RegisterPort
from ringhil.emulator.testbench.sink import RingSink
from ringhil.emulator.testbench.source import RingSource
from ringhil.protocol import registers
from ringhil.protocol.wire import Link

_MOST_CARDS, _MOST_GPUS = 255, 1024
_DRAIN = 300  # cycles
_FAULTS = registers.FaultBit.codes()


class RingPort:
    """A source and a sink on one link of a node.

    `source` drives into the link, `sink` takes what comes out, `arriving` watches the way in; `link` is what our end
    knows of the other one.
    """

    def __init__(self, bus: RingBus, clock: Pin, cycle: Cycle) -> None:
        self.link = LinkModel()
        self.source = RingSource(bus, clock, self.link)
        self.sink = RingSink(bus, clock, cycle, self.link)
        assert bus.rx_data is not None
        assert bus.rx_ctl is not None
        self.arriving = RingMonitor(f"{bus.name} in", bus.rx_data, bus.rx_ctl, clock, cycle)

    def cut(self, on: bool) -> None:
        """Our end's carrier is gone (one way: the node's own still arrives)."""
        self.link.up = not on
        if on:
            self.link.owed = 0
        self.source.refresh()

    def mark(self, on: bool) -> None:
        """Our end's remote-fault mark: while it is on, we don't use the link."""
        self.link.fault = on
        self.source.refresh()

    def stop(self) -> None:
        """End all tasks of this port."""
        self.source.stop()
        self.sink.stop()
        self.arriving.stop()


class NodeBench:
    """Clock, reset, time, ports, mailbox and registers of one node.

    Drives `node_bench` (hdl/node_bench.sv), the top `dut`. Make it, then `await start(...)`.

    The number of a cycle is that of clock edges since reset was released; `leaped` cycles are in it.

    | attribute | |
    |---|---|
    | `ports` | by link (`wire.Link`): a RingPort |
    | `mailbox`, `registers` | the firmware's side |
    | `pins`, `clock` | makes pins; the clock's |
    | `edge` | awaits the clock's rising edge |
    | `quiescent`, `moved` | pins of the node's rest: what it says, and what changed all the same |
    """

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.pins = Pins(dut)
        self.clock = self.pins.pin("clk_i", 1)
        self._rst, self._leap = self.pins.pin("rst_i", 1), self.pins.pin("leap_i", 64)
        self._fault = self.pins.pin("fault_i", registers.FAULT_PORT_WIDTH)
        self._faults = 0
        self._began = 0
        self.leaped = 0
        self._now = 0
        self.quiescent, self._wake_at = self.pins.pin("quiescent_o", 1), self.pins.pin("wake_at_o", 64)
        self.moved = self.pins.pin("moved_o", 3)  # at the last edge, although the node rested: see node_bench.sv
        self._repeat, self._script_we = self.pins.pin("repeat_i", 1), self.pins.pin("script_we_i", 1)
        self._script_at, self._script = self.pins.pin("script_at_i", 6), self.pins.pin("script_i", 288)
        self._script_last = self.pins.pin("script_last_i", 6)
        self._script_rests = self.pins.pin("script_rests_i", 1)
        self.edge = RisingEdge(self.clock.handle)
        self._running: Clock | None = None
        self.ports: Parts[RingPort] = Parts("ports")

    def cycle(self) -> int:
        """Number of the cycle that the last clock edge ended; 0 is the first one without reset."""
        return (get_sim_time("step") - self._began) // PERIOD + self.leaped

    @property
    def origin(self) -> int:
        """The time of the simulation, in its steps, at which cycle 0 began."""
        return self._began - PERIOD

    async def start(self, *, card: int = 0, node: int = 1, size: int = 4, now: int = 0) -> None:
        """Straps, three cycles of reset, everything idle. May be called again for a fresh start.

        `now` is the node's time in cycle 0. Raises KitError.
        """
        within("card", card, 0, _MOST_CARDS)
        within("size", size, 2, _MOST_GPUS)
        within("node", node, 0, _MOST_GPUS - 1)
        within("now", now, 0, (1 << 64) - 1)
        self.stop()
        for name, width, value in (("card_id_i", 8, card), ("node_id_i", 16, node), ("ring_size_i", 16, size)):
            self.pins.pin(name, width).write(value)
        self._faults = 0
        self._fault.write(0)
        for pin in (
            self._repeat,
            self._script_we,
            self._script_at,
            self._script,
            self._script_last,
            self._script_rests,
        ):
            pin.write(0)
        self._leap.write(now)
        self._now = now
        self._rst.write(1)
        if self._running is None:
            self._running = Clock(self.clock.handle, PERIOD, unit="step")
            self._running.start()
        for _ in range(2):
            await self.edge
        # Only now are the outputs known.
        self.registers = RegisterPort(self.pins, self.clock)
        ports = {str(name): RingPort(RingBus.from_prefix(self.pins, name), self.clock, self.cycle) for name in Link}
        self.ports = Parts("ports", ports)
        self.mailbox = Mailbox(self.pins, self.clock, self.cycle)
        await self.edge
        self._rst.write(0)
        self._leap.write(0)
        # The first cycle without reset ends at the next edge but one.
        self._began = get_sim_time("step") + PERIOD
        self.leaped = 0
        await self.edge

    def stop(self) -> None:
        """End all tasks but the clock."""
        for port in self.ports.values():
            port.stop()
        if self.ports:
            self.mailbox.stop()
        self.ports = Parts("ports")

    def set_fault(self, name: str, on: bool) -> None:
        """A fault of the GPU (see registers.FaultBit), from the next clock edge on. Raises KitError."""
        bit = _FAULTS[one_of("fault", name, _FAULTS)]
        self._faults = self._faults | bit if on else self._faults & ~bit
        self._fault.write(self._faults)

    async def wait(self, cycles: int) -> None:
        """Let this number of clock edges pass, without waking at each."""
        if cycles > 1:
            await Timer(PERIOD * (cycles - 1) + 1, "step")
        if cycles > 0:
            await self.edge

    async def repeat(self, script: Sequence[int], times: int) -> None:
        """Play words of all four links (see node_bench.sv) again and again; then some cycles without any, in which
        what is under way comes to its end. Nobody sees any of it. The kit must not be sending anything."""
        self._script_we.write(1)
        for place, word in enumerate(script):
            self._script_at.write(place)
            self._script.write(word)
            await self.edge
        self._script_we.write(0)
        self._script_last.write(len(script) - 1)
        self._repeat.write(1)
        await self.wait(len(script) * times)
        self._script_rests.write(1)
        await self.wait(_DRAIN)
        self._script_rests.write(0)
        self._repeat.write(0)

    async def leap(self, cycle: int) -> None:
        """Go on towards `cycle`, three clock edges at least; pass over those in which the node says that nothing
        happens."""
        # At the first edge the kit drives what was asked of it, at the second the node takes it in; only the cycle
        # after that begins with the inputs as they were.
        for _ in range(3):
            await self.edge
            if not self._at_rest:
                return
        if not self.quiescent.read():
            return
        step = min(cycle, self._wake_at.read() - self._now) - self.cycle() - 2
        if step <= 0:
            return
        self._leap.write(step)
        await self.edge
        self._leap.write(0)
        self.leaped += step

    @property
    def _at_rest(self) -> bool:
        """The kit has planned nothing that will reach the node."""
        return self.mailbox.idle and all(p.source.asleep and p.sink.idle for p in self.ports.values())
