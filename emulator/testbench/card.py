"""The bench of a whole card: clock, reset, time; for each GPU its mailbox, registers, host link and faults."""

from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotb.utils import get_sim_time

from ringhil.emulator.testbench.arguments import KitError, one_of, within
from ringhil.emulator.testbench.bus import Pins, RingBus
from ringhil.emulator.testbench.mailbox import Mailbox
from ringhil.emulator.testbench.monitor import PERIOD, RingMonitor
from ringhil.emulator.testbench.node import RingPort
from ringhil.emulator.testbench.register_port import RegisterPort
from ringhil.protocol import registers
from ringhil.protocol.registers import LinkFaultBit
from ringhil.protocol.wire import Link

_ZERO: tuple[str, ...] = ("link_fault_i", "ber_port1_i", "ber_port2_i", "ber_host_i", "ber_boundary_i", "link_delay_i")
_ZERO += ("boundary_rx_data_i", "boundary_rx_ctl_i", "mtx_ctl_i", "mtx_data_i", "reg_we_i", "reg_addr_i", "reg_wdata_i")


_CUT = {
    Link.P1: LinkFaultBit.CUT_PORT1,
    Link.P2: LinkFaultBit.CUT_PORT2,
    Link.HOST: LinkFaultBit.CUT_HOST,
    Link.BOUNDARY: LinkFaultBit.CUT_BOUNDARY,
}
_BIT_ERRORS = {Link.P1: "ber_port1_i", Link.P2: "ber_port2_i", Link.HOST: "ber_host_i", Link.BOUNDARY: "ber_boundary_i"}
MAX_RATE = 0xFFFF  # flits of 65,536


class Gpu:
    """One GPU of the card.

    | attribute | |
    |---|---|
    | `mailbox`, `registers` | its firmware's side |
    | `ring` | monitors of what leaves by port 1 and port 2 |
    | `host` | the CPU's end of its link |
    | `boundary` | the far end of the link to another card |
    """

    def __init__(self, bench: "CardBench", cell: int) -> None:
        pins = Pins(bench.dut, cell, bench.shadow)
        self.mailbox = Mailbox(pins, bench.clock, bench.cycle)
        self.registers = RegisterPort(pins, bench.clock)
        self.host = RingPort(RingBus.from_prefix(pins, Link.HOST), bench.clock, bench.cycle)
        lanes = [RingBus.from_prefix(pins, name) for name in (Link.P1, Link.P2)]
        self.ring = [RingMonitor(f"{cell} {b.name}", b.tx_data, b.tx_ctl, bench.clock, bench.cycle) for b in lanes]
        self._fault = pins.pin("fault_i", registers.FAULT_PORT_WIDTH)
        self._faults = 0
        self._pins, self._bench = pins, bench
        self._boundary: RingPort | None = None
        self._link_fault, self._link_delay = pins.pin("link_fault_i", 8), pins.pin("link_delay_i", 32)
        self._cuts, self._delays = 0, 0
        self._bit_errors = {link: pins.pin(name, 16) for link, name in _BIT_ERRORS.items()}

    @property
    def boundary(self) -> RingPort:
        """The far end of the link to another card. It is plugged in, with a carrier, when it is first asked for."""
        if self._boundary is None:
            bus = RingBus.from_prefix(self._pins, Link.BOUNDARY)
            self._boundary = RingPort(bus, self._bench.clock, self._bench.cycle)
        return self._boundary

    def cut(self, link: str, on: bool) -> None:
        """Nothing gets to the GPU by this link (`wire.Link`), no carrier either, as long as it is on. Raises
        KitError."""
        bit = _CUT[_link(link)]
        self._cuts = self._cuts | bit if on else self._cuts & ~bit
        self._link_fault.write(self._cuts)

    def bit_errors(self, link: str, rate: int) -> None:
        """Of 65,536 flits that get to the GPU by this link, `rate` have one wrong bit. Raises KitError."""
        self._bit_errors[_link(link)].write(within("rate", rate, 0, MAX_RATE))

    def delay(self, link: str, cycles: int) -> None:
        """All that gets to the GPU by this link takes so many cycles longer. Raises KitError."""
        shift = 8 * _link(link).code
        value = within("delay", cycles, 0, registers.MAX_LINK_DELAY)
        self._delays = self._delays & ~(0xFF << shift) | value << shift
        self._link_delay.write(self._delays)

    def set_fault(self, name: str, on: bool) -> None:
        """A fault of the GPU (see registers.FaultBit), from the next clock edge on. Raises KitError."""
        bit = registers.FaultBit.codes()[one_of("fault", name, registers.FaultBit.codes())]
        self._faults = self._faults | bit if on else self._faults & ~bit
        self._fault.write(self._faults)


class CardBench:
    """Clock, reset, time and links of a whole card.

    Drives `card_bench` (hdl/card_bench.sv) of `gpus` GPUs, the top `dut`. Make it, then `await start()`; then use
    `gpus`, a list of `Gpu`.

    `clock` is the clock's pin, `edge` awaits its rising edge; `shadow` is what has been written to the card's vectors.
    The link faults are called as in scenario files; a link of the ring is named by its two GPUs.
    """

    def __init__(self, dut: Any, gpus: int) -> None:
        """Raises KitError when the top has another number of GPUs."""
        there = len(dut.fault_i) // registers.FAULT_PORT_WIDTH
        if gpus != there:
            raise KitError(f"gpus: found {gpus!r}; the card of this bench has {there} (its parameter N)")
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
        """Three cycles of reset, everything idle, no carrier at the boundary ports. Once for each test. Raises
        KitError."""
        dut = self.dut
        within("card", card, 0, 255)
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

    # ------------------------------------------------------------------------------------------------ link faults

    def link_cut(self, first: int, second: int, *, on: bool = True) -> None:
        """The ring link between two neighbours carries nothing, either way. Raises KitError if they are none."""
        for gpu, link in self._ends(first, second):
            self.gpus[gpu].cut(link, on)

    def link_one_way(self, source: int, target: int, *, on: bool = True) -> None:
        """Nothing gets by the ring link from one GPU to its neighbour; the other way is well. Raises KitError."""
        ends = dict(self._ends(source, target))
        self.gpus[target].cut(ends[target], on)

    def link_bit_errors(self, first: int, second: int, *, rate: int) -> None:
        """Of 65,536 flits on the ring link between two neighbours, `rate` arrive with one wrong bit, either way; 0 ends
        it. Raises KitError."""
        for gpu, link in self._ends(first, second):
            self.gpus[gpu].bit_errors(link, rate)

    def link_delay(self, first: int, second: int, *, delay: int) -> None:
        """All that goes over the ring link between two neighbours takes `delay` cycles longer, either way; 0 ends it:
        what is under way then is lost. Raises KitError."""
        for gpu, link in self._ends(first, second):
            self.gpus[gpu].delay(link, delay)

    def host_link_cut(self, gpu: int, *, on: bool = True) -> None:
        """The link between a GPU and the CPU carries nothing, either way: a node that hears nothing sends nothing."""
        self.gpus[gpu].cut(Link.HOST, on)

    def boundary_link_cut(self, gpu: int, *, on: bool = True) -> None:
        """The link between a GPU and another card (`Gpu.boundary`) carries nothing, either way."""
        self.gpus[gpu].cut(Link.BOUNDARY, on)

    def _ends(self, first: int, second: int) -> tuple[tuple[int, Link], tuple[int, Link]]:
        """Where the link between two neighbours arrives, at each of them."""
        if {first, second} <= set(range(self._count)):
            if second == (first + 1) % self._count:
                return (first, Link.P2), (second, Link.P1)
            if first == (second + 1) % self._count:
                return (first, Link.P1), (second, Link.P2)
        raise KitError(f"GPUs {first} and {second}: allowed are neighbours on a ring of {self._count}")

    async def wait(self, cycles: int) -> None:
        """Let this number of clock edges pass, without waking at each."""
        if cycles > 1:
            await Timer(PERIOD * (cycles - 1) + 1, "step")
        if cycles > 0:
            await self.edge


def _link(name: str) -> Link:
    return Link.parse(one_of("link", name, Link))
