"""What the cocotb benches of the UART share: its pins, somebody else's other end (cocotbext-uart), a line by hand."""

import logging
from collections.abc import Sequence
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer, ValueChange
from cocotb.utils import get_sim_time
from cocotbext.uart import UartSink, UartSource

PERIOD = 10  # ns
OVERSAMPLE = 16
TICK = PERIOD  # ns, with the divisor at one clock
BIT = OVERSAMPLE * TICK  # ns
ONE_CLOCK = 256  # the divisor
OVERRUN, FRAMING, PARITY, BREAK = 1, 2, 4, 8
PATIENCE: Any = {"timeout_time": 30, "timeout_unit": "ms"}  # simulated, for a test


def rate(bit: int) -> float:
    """The rate for which cocotbext-uart takes so many ns a bit: it rounds down."""
    return 1e9 / (bit + 0.5)


class Uart:
    """The pins of a `uart`; inputs change between rising edges."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut

    async def start(self, divisor: int = ONE_CLOCK, period: int = PERIOD) -> None:
        """Power up with the line at rest, nobody reading, and leave to send."""
        d = self.dut
        for name in ("tx_valid_i", "tx_data_i", "rx_ready_i", "clear_i"):
            getattr(d, name).value = 0
        d.divisor_i.value = divisor
        d.rx_i.value = d.cts_i.value = d.rst_i.value = 1
        Clock(d.clk_i, period, unit="ns").start()
        await self.clocks(2)
        d.rst_i.value = 0
        await self.clocks(8)
        assert d.idle_o.value == 1
        assert d.tx_o.value == 1
        assert d.rts_o.value == 1

    def source(self, bit: int = BIT, **given: int) -> UartSource:
        """Somebody else's transmitter, with so many ns a bit."""
        source = UartSource(self.dut.rx_i, baud=rate(bit), **given)
        source.log.setLevel(logging.WARNING)
        return source

    def sink(self, bit: int = BIT, **given: int) -> UartSink:
        """Somebody else's receiver, with so many ns a bit."""
        sink = UartSink(self.dut.tx_o, baud=rate(bit), **given)
        sink.log.setLevel(logging.WARNING)
        return sink

    async def clocks(self, number: int) -> None:
        for _ in range(number):
            await FallingEdge(self.dut.clk_i)

    async def send(self, data: Sequence[int]) -> None:
        """Have it transmit bytes, each as soon as it is taken."""
        d = self.dut
        await FallingEdge(d.clk_i)
        for byte in data:
            d.tx_valid_i.value, d.tx_data_i.value = 1, byte
            await Timer(1, "ns")  # behind the falling edge: what follows from the inputs is there
            while d.tx_ready_o.value == 0:
                await FallingEdge(d.clk_i)
            await FallingEdge(d.clk_i)
        d.tx_valid_i.value = 0

    async def take(self) -> int | None:
        """The byte at the head of the queue, if there is one, within a clock."""
        d = self.dut
        found = int(d.rx_data_o.value) if d.rx_valid_o.value else None
        d.rx_ready_i.value = int(found is not None)
        await FallingEdge(d.clk_i)
        d.rx_ready_i.value = 0
        return found

    async def receive(self, number: int, patience: int = 3000) -> list[int]:
        """So many bytes, `patience` clocks for each."""
        data = list[int]()
        for _ in range(number * patience):
            if len(data) == number:
                break
            byte = await self.take()
            if byte is not None:
                data.append(byte)
        assert len(data) == number, f"{len(data)} of {number} bytes came: {data}"
        return data

    async def draw(self, levels: Sequence[int], time: int = BIT, flip: int | None = None) -> None:
        """Put levels on the line to it, `time` ns each; the level is wrong for tick `flip` of the whole."""
        at = await self._aligned()
        for place, level in enumerate(levels):
            end = at + (place + 1) * time
            if flip is not None and place * time <= flip * TICK < (place + 1) * time:
                self.dut.rx_i.value = level
                await self._until(at + flip * TICK)
                self.dut.rx_i.value = not level
                await self._until(at + (flip + 1) * TICK)
            self.dut.rx_i.value = level
            await self._until(end)
        self.dut.rx_i.value = 1
        await FallingEdge(self.dut.clk_i)

    async def edges(self, number: int) -> list[float]:
        """The times, in ns, of the next changes of the line that it transmits on."""
        found = list[float]()
        for _ in range(number):
            await ValueChange(self.dut.tx_o)
            found.append(get_sim_time("ns"))
        return found

    async def cleared(self, errors: int) -> None:
        """These errors are there, these alone, and go when they are cleared."""
        assert int(self.dut.errors_o.value) == errors
        self.dut.clear_i.value = 15 & ~errors
        await self.clocks(2)
        assert int(self.dut.errors_o.value) == errors
        self.dut.clear_i.value = errors
        await self.clocks(1)
        self.dut.clear_i.value = 0
        assert int(self.dut.errors_o.value) == 0

    async def _aligned(self) -> float:
        await FallingEdge(self.dut.clk_i)
        return get_sim_time("ns")

    async def _until(self, time: float) -> None:
        left = time - get_sim_time("ns")
        if left > 0:
            await Timer(round(left), "ns")


def bits(byte: int, width: int = 8) -> list[int]:
    """The levels of a frame: start, data, stop."""
    return [0, *(byte >> place & 1 for place in range(width)), 1]


def together(*coroutines: Any) -> Any:
    """All of them at once."""
    return [cocotb.start_soon(coroutine) for coroutine in coroutines]
