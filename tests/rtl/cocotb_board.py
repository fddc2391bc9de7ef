"""cocotb bench of `hil_board`, with an `EchoCell` in place of its GPU, bit by bit: against cocotbext-uart and the
`Oracle`. Run by test_cocotb_bridge.py.
"""

import logging
import random
from typing import Any

import cocotb
from bridge_bench import DAMAGED, NOTHING, PATIENCE, PERIOD, Client, Oracle, same
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from cocotbext.uart import UartSink, UartSource
from uart_bench import BIT, ONE_CLOCK, OVERSAMPLE, rate

from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.node_loop import NodeMessage

RESET, STEP, LOOK = NodeMessage.RESET, NodeMessage.STEP, NodeMessage.LOOK
BYTE = 10 * OVERSAMPLE  # clocks, with a tick a clock


class Board:
    """The pins of a `hil_board`, a computer at the other end of its line, and what has to be answered there."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.dice = dut, random.Random(random.randrange(2**32))
        self.oracle, self.client = Oracle(), Client(self.dice)

    async def start(self, divisor: int = ONE_CLOCK) -> None:
        """Powered up; the cell's last clock before that was no reset."""
        d, bit = self.dut, BIT * divisor // ONE_CLOCK
        d.divisor_i.value, self.byte = divisor, BYTE * divisor // ONE_CLOCK
        d.rx_i.value = d.cts_i.value = 1
        Clock(d.clk_i, PERIOD, unit="ns").start()
        self.source, self.sink = UartSource(d.rx_i, baud=rate(bit)), UartSink(d.tx_o, baud=rate(bit))
        for end in (self.source, self.sink):
            end.log.setLevel(logging.WARNING)
        await self.power_up()
        await self.ask(b"\1\0", b"\2\1\0\0", b"\3\2\0\0")
        await self.power_up()

    async def power_up(self) -> None:
        self.dut.rst_i.value = 1
        await self.clocks(3)
        self.dut.rst_i.value = 0
        await self.clocks(2 * self.byte)  # the sink may have been in the middle of one
        assert self.dut.idle_o.value == self.dut.tx_o.value == self.dut.rts_o.value == 1
        self.sink.clear()

    async def clocks(self, number: int) -> None:
        await Timer(number * PERIOD, "ns")
        await FallingEdge(self.dut.clk_i)

    async def send(self, data: bytes) -> None:
        """Bytes, each when there is leave to send."""
        for byte in data:
            while not self.dut.rts_o.value:
                await FallingEdge(self.dut.clk_i)
            await self.source.write([byte])
            await self.source.wait()

    async def rest(self) -> bytes:
        """Until nothing goes on; what has been sent."""
        await self.clocks(2 * self.byte)
        while not self.dut.idle_o.value:
            await self.clocks(self.byte)
        await self.clocks(self.byte)
        return bytes(self.sink.read_nowait())

    async def ask(self, *messages: bytes) -> bytes:
        await self.send(b"".join(map(wrap, messages)))
        return await self.rest()

    async def all(self, *messages: bytes) -> None:
        """Asked behind each other, each is answered as it has to be."""
        wanted = [self.oracle.answer(message) for message in messages]
        same(await self.ask(*messages), wanted)

    async def up(self, divisor: int = ONE_CLOCK) -> None:
        await self.start(divisor)
        await self.all(self.client.hello(), self.client.request(RESET, self.client.any_row(0.3)))

    def step(self, share: float = 0.1) -> bytes:
        return self.client.request(STEP, self.client.any_row(share))


@cocotb.test(**PATIENCE)
async def it_answers_at_whatever_speed(dut: Any) -> None:
    for divisor in (ONE_CLOCK, 2 * ONE_CLOCK + 128):
        board = Board(dut)
        await board.up(divisor)
        await board.all(board.step(), board.client.request(LOOK))


@cocotb.test(**PATIENCE)
async def all_wires_change(dut: Any) -> None:
    board = Board(dut)
    await board.up()
    await board.all(board.step(1), board.step(1))


@cocotb.test(**PATIENCE)
async def it_is_at_rest_when_an_answer_has_left_and_in_no_clock_before(dut: Any) -> None:
    board = Board(dut)
    await board.up()
    for leave in (1, 0):  # without it there are two answers: the second request waits in the queue
        requests = [board.step(), board.client.request(LOOK)][: 2 - leave]
        answers = b"".join(wrap(board.oracle.answer(request)) for request in requests)
        dut.cts_i.value = leave
        await board.source.write(b"".join(map(wrap, requests)))
        while board.source.count() > 0:  # the last byte has begun
            await board.clocks(OVERSAMPLE)
        await FallingEdge(dut.clk_i)  # its start bit may have been driven just now
        for clock in range(40 * BYTE):
            if clock == 2 * BYTE:
                dut.cts_i.value = 1
            if board.sink.count() == len(answers):
                break
            assert dut.idle_o.value == 0
            await FallingEdge(dut.clk_i)
        await board.clocks(board.byte)
        assert dut.idle_o.value == 1
        assert bytes(board.sink.read_nowait()) == answers


@cocotb.test(**PATIENCE)
async def without_leave_to_send_nothing_is_sent_and_nothing_is_lost(dut: Any) -> None:
    """However much comes meanwhile: "damaged" waits, and behind it answers do."""
    board = Board(dut)
    await board.up()
    for before in (b"", b"\0\x11\0", b"\0\x11\0\x12\0"):
        requests = [board.step(), board.client.request(LOOK)]
        data = before + b"".join(map(wrap, requests))
        wanted = board.oracle.hear(data)
        dut.cts_i.value = 0
        sending = cocotb.start_soon(board.send(data))
        await board.clocks(board.dice.choice((60, 150)) * BYTE)
        assert board.sink.empty()
        assert not dut.idle_o.value
        dut.cts_i.value = 1
        await sending
        same(await board.rest(), wanted)


@cocotb.test(**PATIENCE)
async def who_doesnt_heed_its_leave_to_send_is_told_of_damage(dut: Any) -> None:
    """The bridge takes nothing while its answer waits: what is sent on in spite of that is lost, but for what fits into
    the queue. What is whole is done, and what is asked later is."""
    board = Board(dut)
    await board.up()
    request = board.step()
    dut.cts_i.value = 0
    await board.source.write(wrap(request) + wrap(board.client.request(LOOK)) * 9)
    await board.source.wait()
    assert dut.rts_o.value == 0
    dut.cts_i.value = 1
    assert (await board.rest()).startswith(wrap(board.oracle.answer(request)))
    again = [board.client.hello(), board.client.request(RESET)]
    found = await board.ask(*again)
    assert found == wrap(DAMAGED) + b"".join(wrap(board.oracle.answer(each)) for each in again)


@cocotb.test(**PATIENCE)
async def a_byte_that_is_none_is_missing_from_its_message(dut: Any) -> None:
    """Without stop bit, or a line that is low for longer: told as damage, and the next is well."""
    board = Board(dut)
    await board.up()
    for low in (1, 40):
        request = wrap(board.step(0.3))
        middle = len(request) // 2
        await board.send(request[:middle])
        dut.rx_i.value = 0
        await board.clocks(low * OVERSAMPLE + 9 * OVERSAMPLE)
        dut.rx_i.value = 1
        await board.clocks(2 * OVERSAMPLE)
        await board.send(request[middle + 1 :])
        same(await board.rest(), [DAMAGED])
        await board.send(request)
        same(await board.rest(), board.oracle.hear(request))


@cocotb.test(**PATIENCE)
async def a_reset_ends_all_that_is_under_way(dut: Any) -> None:
    board = Board(dut)
    await board.up()
    for part in (0.3, 0.7, 1.0, 1.5):
        request = wrap(board.step(0.3))
        sending = cocotb.start_soon(board.send(request))
        await board.clocks(round(part * len(request) * BYTE))
        await sending
        await board.power_up()
        board.oracle = Oracle()
        await board.all(bytes([STEP.code, 7]) + NOTHING, board.client.hello())
        # What was being clocked may be in reset: it counts anew in the second one.
        for again in (board.client.request(RESET), board.client.request(STEP)):
            board.oracle.answer(again)
            await board.ask(again)
        await board.all(board.client.request(RESET), board.step())
