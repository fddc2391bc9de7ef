"""cocotb bench of `uart` with a parity bit and two stop bits. Run by test_cocotb_uart.py.

For cocotbext-uart the parity bit is one more data bit, which the bench works out by counting ones.
"""

from itertools import pairwise
from typing import Any

import cocotb
from cocotb.triggers import Timer
from uart_bench import BIT, BREAK, FRAMING, PARITY, PATIENCE, Uart, together


class WithParity:
    """A UART whose frames have a parity bit: even, or odd."""

    def __init__(self, dut: Any) -> None:
        self.uart, self.width = Uart(dut), len(dut.tx_data_i)
        self.odd = int(dut.PARITY.value) == 2
        self.all = list(range(1 << self.width))

    def framed(self, byte: int) -> int:
        """A byte with its parity bit above it."""
        return byte | (byte.bit_count() + self.odd) % 2 << self.width

    async def start(self) -> tuple[Any, Any]:
        await self.uart.start()
        frame = {"bits": self.width + 1, "stop_bits": 2}
        return self.uart.source(**frame), self.uart.sink(**frame)


@cocotb.test(**PATIENCE)
async def all_bytes_pass_both_ways(dut: Any) -> None:
    ends = WithParity(dut)
    source, sink = await ends.start()
    source.write_nowait([ends.framed(byte) for byte in ends.all])
    sending, receiving = together(ends.uart.send(ends.all), ends.uart.receive(len(ends.all)))
    assert await receiving == ends.all
    await sending
    await Timer(13 * BIT, "ns")
    assert list(sink.read_nowait()) == [ends.framed(byte) for byte in ends.all]
    assert dut.errors_o.value == 0


@cocotb.test(**PATIENCE)
async def there_are_two_stop_bits(dut: Any) -> None:
    ends = WithParity(dut)
    await ends.start()
    ones = ends.all[-1]
    edges, sending = together(ends.uart.edges(5), ends.uart.send([ones] * 3))
    times = await edges
    await sending
    # Behind the start bit only the parity bit may be low.
    low = not ends.framed(ones) >> ends.width
    frame = 1 + ends.width + 1 + 2
    expected = [1, ends.width, 1, 2] if low else [1, frame - 1, 1, frame - 1]
    assert [round((b - a) / BIT, 3) for a, b in pairwise(times)] == expected


@cocotb.test(**PATIENCE)
async def a_wrong_parity_bit_is_found(dut: Any) -> None:
    ends = WithParity(dut)
    source, _ = await ends.start()
    for bit in range(ends.width + 1):
        source.write_nowait([ends.framed(0x15) ^ 1 << bit, ends.framed(0x2A)])
        assert await ends.uart.receive(1) == [0x2A]
        await ends.uart.cleared(PARITY)
        await source.wait()


@cocotb.test(**PATIENCE)
async def a_break_is_neither_a_wrong_parity_nor_a_frame_without_stop_bit(dut: Any) -> None:
    ends = WithParity(dut)
    await ends.start()
    await ends.uart.draw([0] * 20)
    await ends.uart.clocks(20)
    await ends.uart.cleared(BREAK)
    await ends.uart.draw([0, *[0] * ends.width, 1, 0])  # the parity bit is high, the stop bit isn't
    await ends.uart.clocks(20)
    await ends.uart.cleared(FRAMING)
