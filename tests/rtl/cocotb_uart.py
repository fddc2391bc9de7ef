"""cocotb bench of `uart`, 8 data bits without parity, against cocotbext-uart and against lines drawn by hand.

Run by test_cocotb_uart.py.
"""

import random
from itertools import pairwise
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge, Timer
from uart_bench import BIT, BREAK, FRAMING, ONE_CLOCK, OVERRUN, OVERSAMPLE, PATIENCE, TICK, Uart, bits, together

ALL = list(range(256))
PLACES, SPARE = 16, 4  # in the queue
MIDDLE = OVERSAMPLE // 2  # ticks from the beginning of a bit


@cocotb.test(**PATIENCE)
async def all_bytes_pass_both_ways_at_once_back_to_back(dut: Any) -> None:
    uart = Uart(dut)
    await uart.start()
    source, sink = uart.source(), uart.sink()
    source.write_nowait(ALL)
    sending, receiving = together(uart.send(ALL[::-1]), uart.receive(256))
    assert await receiving == ALL
    await sending
    await Timer(11 * BIT, "ns")
    assert list(sink.read_nowait()) == ALL[::-1]
    assert dut.errors_o.value == 0
    assert dut.idle_o.value == 1


@cocotb.test(**PATIENCE)
async def a_byte_is_ten_bits_on_the_line_exactly(dut: Any) -> None:
    """0x55 changes with every bit, so the line's own edges tell the time; three of them in a row, without a gap."""
    uart = Uart(dut)
    await uart.start()
    edges, sending = together(uart.edges(30), uart.send([0x55] * 3))
    times = await edges
    await sending
    assert [round(b - a) for a, b in pairwise(times)] == [BIT] * 29
    await Timer(20 * BIT, "ns")
    assert dut.tx_o.value == 1


@cocotb.test(**PATIENCE)
async def rates_are_kept_within_a_hundredth(dut: Any) -> None:
    uart, clock = Uart(dut), 50e6
    await uart.start(period=20)
    for baud in (115_200, 921_600, 3_000_000):
        dut.divisor_i.value = round(clock / baud / OVERSAMPLE * ONE_CLOCK)
        edges, sending = together(uart.edges(40), uart.send([0x55] * 4))
        times = await edges
        await sending
        bit = (times[-1] - times[0]) / 39
        assert abs(bit * baud / 1e9 - 1) < 0.002, f"{baud}: {bit} ns a bit"
        source = uart.source(round(1e9 / baud))
        source.write_nowait(b"\x00\xff\xa5")
        assert await uart.receive(3, patience=6000) == [0x00, 0xFF, 0xA5]
        await Timer(2e9 / baud, "ns", round_mode="round")


@cocotb.test(**PATIENCE)
async def ends_three_percent_apart_understand_each_other(dut: Any) -> None:
    uart = Uart(dut)
    await uart.start()
    for bit in (BIT * 97 // 100, BIT * 103 // 100 + 1):
        source, sink = uart.source(bit), uart.sink(bit)
        some = random.sample(ALL, 60)
        source.write_nowait(some)
        sending, receiving = together(uart.send(some), uart.receive(len(some)))
        assert await receiving == some
        await sending
        await Timer(11 * BIT, "ns")
        assert list(sink.read_nowait()) == some
        assert dut.errors_o.value == 0


@cocotb.test(**PATIENCE)
async def ends_far_apart_do_not(dut: Any) -> None:
    uart = Uart(dut)
    await uart.start()
    source = uart.source(BIT * 92 // 100)
    source.write_nowait(b"\x80" * 4)
    await source.wait()
    await Timer(11 * BIT, "ns")
    assert int(dut.errors_o.value) & FRAMING


@cocotb.test(**PATIENCE)
async def what_comes_to_a_full_queue_is_lost_and_what_is_in_it_stays(dut: Any) -> None:
    uart = Uart(dut)
    await uart.start()
    source = uart.source()
    source.write_nowait(range(PLACES))
    await source.wait()
    await uart.clocks(20)
    assert dut.errors_o.value == 0
    source.write_nowait(b"xy")
    await source.wait()
    await uart.clocks(20)
    assert await uart.receive(PLACES) == list(range(PLACES))
    assert await uart.take() is None
    await uart.cleared(OVERRUN)
    source.write_nowait(b"z")
    assert await uart.receive(1) == [ord("z")]
    assert dut.errors_o.value == 0


@cocotb.test(**PATIENCE)
async def a_byte_that_comes_as_a_place_is_freed_has_that_place(dut: Any) -> None:
    """Whichever cycle the reader takes one in: it is lost in the cycles before, and never later."""
    uart = Uart(dut)
    await uart.start()
    source = uart.source()
    lost = list[int]()
    for cycle in range(7):
        source.write_nowait(range(PLACES))
        await source.wait()
        await FallingEdge(dut.clk_i)
        assert dut.errors_o.value == 0
        # The stop bit's last sample, two registers later, and around it.
        drawn = cocotb.start_soon(uart.draw(bits(77)))
        await ClockCycles(dut.clk_i, 9 * OVERSAMPLE + MIDDLE + cycle)
        await FallingEdge(dut.clk_i)
        first = [await uart.take()]
        await drawn
        rest = [await uart.take() for _ in range(PLACES + 1)]
        lost.append(int(dut.errors_o.value))
        expected = [*range(PLACES), None if lost[-1] else 77]
        assert [*first, *rest][: PLACES + 1] == expected
        dut.clear_i.value = OVERRUN
        await FallingEdge(dut.clk_i)
        dut.clear_i.value = 0
        await uart.clocks(2 * OVERSAMPLE)
    assert sorted(lost) == lost
    assert {0, OVERRUN} == set(lost)


@cocotb.test(**PATIENCE)
async def a_frame_without_stop_bit_is_no_byte(dut: Any) -> None:
    uart = Uart(dut)
    await uart.start()
    endless = uart.source(bits=9)  # the ninth bit is where the stop bit should be
    source = uart.source()
    endless.write_nowait([0x41])
    await endless.wait()
    source.write_nowait([0x42])
    assert await uart.receive(1) == [0x42]
    await uart.cleared(FRAMING)


@cocotb.test(**PATIENCE)
async def a_break_is_told_once_and_is_no_byte(dut: Any) -> None:
    uart = Uart(dut)
    await uart.start()
    await uart.draw([0] * 10)
    await uart.clocks(4)
    await uart.cleared(BREAK)
    # Here the line is low for longer, and nothing more is told; it rests meanwhile.
    for length in (12, 300):
        line = cocotb.start_soon(uart.draw([0] * length))
        await Timer(11 * BIT, "ns")
        await uart.cleared(BREAK)
        assert dut.idle_o.value == 1
        await line
        await uart.draw([1, *bits(0x33)])
        assert await uart.receive(1) == [0x33]
        assert dut.errors_o.value == 0


@cocotb.test(**PATIENCE)
async def a_short_low_is_no_start_bit(dut: Any) -> None:
    uart = Uart(dut)
    await uart.start()
    for ticks in range(1, MIDDLE + 1):
        await uart.draw([0], ticks * TICK)
        await uart.clocks(12 * OVERSAMPLE)
        assert await uart.take() is None
        assert dut.errors_o.value == 0
        assert dut.idle_o.value == 1
    await uart.draw([0], (MIDDLE + 1) * TICK)  # this one is: a byte of ones
    assert await uart.receive(1) == [0xFF]


@cocotb.test(**PATIENCE)
async def one_wrong_sample_is_outvoted_and_two_are_not(dut: Any) -> None:
    uart = Uart(dut)
    await uart.start()
    for byte in (0x00, 0xFF, 0xA5):
        for place in range(10):
            for tick in (MIDDLE - 1, MIDDLE, MIDDLE + 1):
                drawn = cocotb.start_soon(uart.draw(bits(byte), flip=place * OVERSAMPLE + tick))
                assert await uart.receive(1) == [byte], (byte, place, tick)
                await drawn
    levels = [level for level in bits(0x00) for _ in range(OVERSAMPLE)]
    at = 4 * OVERSAMPLE + MIDDLE
    levels[at] = levels[at + 1] = 1
    await uart.draw(levels, TICK)
    assert await uart.receive(1) == [0x08]
    assert dut.errors_o.value == 0


@cocotb.test(**PATIENCE)
async def whatever_the_reader_does_flow_control_loses_nothing(dut: Any) -> None:
    """The sender looks at RTS before every byte; then before every fourth one, as if it had some under way."""
    uart = Uart(dut)
    await uart.start()
    source = uart.source()
    held = 0

    async def send(data: list[int], together: int) -> None:
        nonlocal held
        for at in range(0, len(data), together):
            while dut.rts_o.value == 0:
                held += 1
                await FallingEdge(dut.clk_i)
            source.write_nowait(data[at : at + together])
            await source.wait()

    for at_once in (1, SPARE):
        data, heard = [random.randrange(256) for _ in range(120)], list[int]()
        sending = cocotb.start_soon(send(data, at_once))
        while len(heard) < len(data):
            await uart.clocks(random.choice((0, 1, 50, 500, 3500)))
            heard += await uart.receive(min(random.randint(1, 24), len(data) - len(heard)))
        await sending
        assert heard == data
        assert dut.errors_o.value == 0
    assert held > 1000


@cocotb.test(**PATIENCE)
async def rts_falls_while_there_is_room_for_more(dut: Any) -> None:
    uart = Uart(dut)
    await uart.start()
    source = uart.source()
    for there in range(1, PLACES + 1):
        source.write_nowait([there])
        await source.wait()
        await uart.clocks(2)
        assert bool(dut.rts_o.value) == (there < PLACES - SPARE)
    for there in range(PLACES - 1, -1, -1):
        await uart.take()
        await uart.clocks(2)
        assert bool(dut.rts_o.value) == (there < PLACES - SPARE)


@cocotb.test(**PATIENCE)
async def without_leave_no_byte_begins_and_one_that_has_begun_is_sent(dut: Any) -> None:
    uart = Uart(dut)
    await uart.start()
    sink = uart.sink()
    data = [random.randrange(256) for _ in range(40)]
    sending = cocotb.start_soon(uart.send(data))
    while not sending.done():
        await uart.clocks(random.randint(3, 400))
        dut.cts_i.value = 0
        await uart.clocks(10 * OVERSAMPLE + 3)  # what had begun is over
        silent = len(sink.queue._queue)
        for _ in range(random.randint(0, 300)):
            assert dut.tx_o.value == 1
            await FallingEdge(dut.clk_i)
        assert len(sink.queue._queue) == silent
        dut.cts_i.value = 1
    await Timer(11 * BIT, "ns")
    assert list(sink.read_nowait()) == data


@cocotb.test(**PATIENCE)
async def a_reset_ends_all_that_is_under_way(dut: Any) -> None:
    uart = Uart(dut)
    await uart.start()
    source = uart.source()
    source.write_nowait(b"ab")
    await source.wait()
    line = cocotb.start_soon(uart.draw([0, 0, 1, 1]))
    await uart.send([0])
    await uart.clocks(40)
    dut.rst_i.value = 1
    await uart.clocks(1)
    assert dut.tx_o.value == 1
    assert dut.rx_valid_o.value == 0
    await line
    dut.rst_i.value = 0
    await uart.clocks(8)
    assert dut.idle_o.value == 1
    await uart.draw(bits(0x5A))
    assert await uart.receive(1) == [0x5A]
    assert dut.errors_o.value == 0


@cocotb.test(**PATIENCE)
async def an_error_in_the_cycle_in_which_errors_are_cleared_stays(dut: Any) -> None:
    """With clear_i always high each is there for a cycle; a reader that clears and looks misses none."""
    uart = Uart(dut)
    await uart.start()
    dut.clear_i.value = 15
    seen = list[int]()

    async def look() -> None:
        while True:
            await FallingEdge(dut.clk_i)
            if dut.errors_o.value != 0:
                seen.append(int(dut.errors_o.value))

    looking = cocotb.start_soon(look())
    await uart.draw([*bits(0x55)[:-1], 0])
    await uart.clocks(20)
    await uart.draw([0] * 11)
    await uart.clocks(20)
    source = uart.source()
    source.write_nowait(range(PLACES + 1))
    await source.wait()
    await uart.clocks(20)
    looking.cancel()
    assert seen == [FRAMING, BREAK, OVERRUN]


@cocotb.test(**PATIENCE)
async def a_line_that_is_low_from_a_reset_on_begins_nothing(dut: Any) -> None:
    """Whatever is behind it is not known: what the line was before is not either."""
    uart = Uart(dut)
    await uart.start()
    dut.rx_i.value = 0
    dut.rst_i.value = 1
    await uart.clocks(5)
    dut.rst_i.value = 0
    await uart.clocks(30 * OVERSAMPLE)
    dut.rx_i.value = 1
    await uart.clocks(OVERSAMPLE)
    assert dut.errors_o.value == 0
    assert dut.rx_valid_o.value == 0
    source = uart.source()
    source.write_nowait(b"a")
    assert await uart.receive(1) == [ord("a")]
    assert dut.errors_o.value == 0


@cocotb.test(**PATIENCE)
async def a_divisor_that_changes_holds_from_a_tick_that_is_due_by_then(dut: Any) -> None:
    """A tick of 1,000 clocks is cut short after 500 of them: the rest of the byte takes a clock a tick."""
    uart = Uart(dut)
    await uart.start(divisor=1000 * ONE_CLOCK)
    dut.tx_valid_i.value, dut.tx_data_i.value = 1, 0x55
    await uart.clocks(1)
    dut.tx_valid_i.value = 0
    await uart.clocks(500)
    dut.divisor_i.value = ONE_CLOCK
    await uart.clocks(10 * OVERSAMPLE)
    assert dut.tx_o.value == 1
    assert dut.idle_o.value == 1


@cocotb.test(**PATIENCE)
async def leave_to_send_comes_and_goes_through_two_registers(dut: Any) -> None:
    uart = Uart(dut)
    await uart.start()
    for level in (0, 1):
        dut.cts_i.value = level
        found = list[int]()
        for _ in range(3):
            await uart.clocks(1)
            found.append(int(dut.tx_ready_o.value))
        assert found == [1 - level, level, level]
