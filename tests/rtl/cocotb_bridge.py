"""cocotb bench of `hil_bridge` and `hil_line`, with an `EchoCell` behind them, against the `Oracle`, byte for byte.

Run by test_cocotb_bridge.py. Everything is drawn from cocotb's seed; RINGHIL_BENCH_ROUNDS says how much of it.
"""

import os
import random
from typing import Any

import cocotb
from bridge_bench import (
    DAMAGED,
    IN_BYTES,
    IN_PORTS,
    NOTHING,
    PATIENCE,
    PERIOD,
    ROOM,
    Client,
    Oracle,
    Pins,
    changes,
    same,
)
from cobs import cobs
from cocotb.utils import get_sim_time

from ringhil.protocol import crc
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.node_loop import LAYOUT, NodeMessage, Why

ROUNDS = int(os.environ.get("RINGHIL_BENCH_ROUNDS", "1"))
HELLO, RESET, STEP, LOOK = NodeMessage.HELLO, NodeMessage.RESET, NodeMessage.STEP, NodeMessage.LOOK
ZEROS, ONES = bytes(IN_BYTES), b"\xff" * IN_PORTS + bytes(IN_BYTES - IN_PORTS)


class Bench(Pins):
    """The pins, who asks, and what has to be answered."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut, random.Random(random.randrange(2**32)))
        self.oracle, self.client = Oracle(), Client(self.dice)

    async def up(self, row: bytes | None = None) -> None:
        """Powered up, greeted, reset."""
        await self.start()
        await self.all(self.client.hello(), self.client.request(RESET, row))

    async def all(self, *messages: bytes) -> list[bytes]:
        """Asked at once; what had to be answered, and was."""
        return await self.stream(b"".join(map(wrap, messages)))

    async def stream(self, data: bytes) -> list[bytes]:
        """The same for any bytes."""
        wanted = self.oracle.hear(data)
        await self.give(data)
        same(await self.rest(), wanted)
        return wanted

    async def refused(self, message: bytes, why: Why) -> None:
        *_, wanted = await self.all(message)
        assert wanted[2] == why.code

    async def begins_anew(self) -> None:
        """It knows nothing of what was before."""
        client, self.oracle = self.client, Oracle()
        # Whatever number it has: nothing was answered before. From 1 on, it may count.
        number = client.dice.choice((0, 0, client.dice.randrange(2, 256)))
        await self.refused(bytes([STEP.code, number]) + NOTHING, Why.OUT_OF_ORDER)
        await self.all(client.hello())
        await self.refused(bytes([LOOK.code, (client.sequence + 1) % 256]) + NOTHING, Why.NOT_RESET)
        # The cell may be in reset from before: it counts anew in the second one.
        for request in (client.request(RESET), client.request(STEP)):
            self.oracle.answer(request)
            await self.ask(request)
        await self.all(client.request(RESET, client.any_row(0.5)), client.request(STEP, client.any_row(0.1)))

    async def is_well(self) -> None:
        """It answers, from the beginning and further on."""
        await self.all(self.client.hello(), self.client.request(RESET, self.client.any_row(0.5)))
        await self.all(self.client.request(STEP, self.client.any_row(0.2)))


@cocotb.test(**PATIENCE)
async def a_conversation_is_these_bytes(dut: Any) -> None:
    """As they are written down in docs/reference/node-loop.md: others have made boards of it."""
    bench = Bench(dut)
    await bench.start()
    hello = await bench.ask(bytes.fromhex("01 2a"))
    assert hello == wrap(bytes.fromhex("81 2a 01 00") + LAYOUT.to_bytes(4, "big") + bytes.fromhex("03 0805"))
    # Inputs 48 and 78, which are 0x40 and 5: outputs 72 (p1_ctl) and 82 (card_id); two clocks, both in reset.
    reset = await bench.ask(bytes.fromhex("02 2b 0240 01 40 40 05"))
    assert reset == wrap(bytes.fromhex("82 2b 0700 40 02 01 40 0d ff 05 02"))
    # `now` is 1, of itself; port 1 brings 0x1122 by its two lowest bytes. A third clock.
    step = await bench.ask(bytes.fromhex("03 2c 0002 03 22 11"))
    assert step == wrap(bytes.fromhex("83 2c 0321 03 22 11 01 01 40 03 80 01"))
    look = await bench.ask(bytes.fromhex("04 2d 0040 40 21"))
    assert look == wrap(bytes.fromhex("84 2d 0400 01 de"))
    assert await bench.ask(bytes.fromhex("04 2d 0040 40 21")) == look
    assert await bench.ask(bytes.fromhex("03 2f 0000")) == wrap(bytes.fromhex("ff 2f 02"))
    assert await bench.stream(bytes.fromhex("00 05 01 02 03 00")) == [DAMAGED]


@cocotb.test(**PATIENCE)
async def each_byte_of_the_row_goes_where_it_belongs(dut: Any) -> None:
    """One at a time, there and back; then all but one."""
    bench = Bench(dut)
    await bench.up(ZEROS)
    client = bench.client
    for place in range(IN_PORTS):
        row = bytearray(client.row)
        row[place] ^= 0xA5
        await bench.all(client.request(STEP, bytes(row)))
    for place in range(0, IN_PORTS, 9):
        row = bytearray(byte ^ 0xFF for byte in client.row[:IN_PORTS]) + client.row[IN_PORTS:]
        row[place] ^= 0xFF
        await bench.all(client.request(STEP, bytes(row)))


@cocotb.test(**PATIENCE)
async def all_wires_change_at_once(dut: Any) -> None:
    bench = Bench(dut)
    await bench.up(ONES)
    for row in (ZEROS, ONES, ZEROS, ONES):
        await bench.all(bench.client.request(STEP, row))
    await bench.all(bench.client.request(RESET, ONES), bench.client.request(LOOK, ZEROS), bench.client.request(STEP))


@cocotb.test(**PATIENCE)
async def nothing_that_is_the_same_travels(dut: Any) -> None:
    """A step of a row that rests carries `now` and what counts, a look nothing; what is the same may be said anyway."""
    bench = Bench(dut)
    await bench.up(bench.client.any_row(1))
    client = bench.client
    for _ in range(20):
        (looked,) = await bench.all(client.request(LOOK))
        assert looked[2:] == NOTHING
        await bench.all(client.request(STEP))
    said = bytes([client.row[40]])
    client.sequence = (client.sequence + 1) % 256
    await bench.all(bytes([LOOK.code, client.sequence]) + b"\0\x20\1" + said)


@cocotb.test(**PATIENCE)
async def now_goes_on_by_itself(dut: Any) -> None:
    """Across every byte of it, and round; and from where it is told to be."""
    bench = Bench(dut)
    await bench.up()
    client = bench.client
    for byte in range(1, 9):
        row = bytearray(client.row)
        row[:8] = (256**byte - 2).to_bytes(8, "little")
        await bench.all(client.request(STEP, bytes(row)), *(client.request(STEP) for _ in range(3)))
    await bench.all(client.request(LOOK), client.request(STEP))


@cocotb.test(**PATIENCE)
async def a_repeat_is_done_once(dut: Any) -> None:
    """Whatever it is, however often, and whatever it says the second time."""
    bench = Bench(dut)
    await bench.up()
    client = bench.client
    for kind in (STEP, LOOK, RESET, STEP):
        request = client.request(kind, client.any_row(0.3))
        other = bytes([STEP.code, request[1]]) + changes(ZEROS, ONES)
        await bench.all(request, request, other, request)
        await bench.all(request)
        await bench.stream(wrap(request)[:-3] + b"\0" + wrap(request))
        await bench.all(client.request(STEP))
    greeted = client.hello()
    await bench.all(greeted, greeted, client.request(STEP))
    await bench.all(client.hello(), bytes([STEP.code, client.sequence]) + NOTHING)


@cocotb.test(**PATIENCE)
async def what_is_out_of_order_is_refused_and_forgets_what_was_kept(dut: Any) -> None:
    bench = Bench(dut)
    await bench.up()
    client = bench.client
    for ahead in (2, 3, 128, 254, 255):
        request = client.request(STEP, client.any_row(0.1))
        await bench.all(request)
        wrong = bytes([STEP.code, (client.sequence + ahead) % 256]) + NOTHING
        await bench.refused(wrong, Why.OUT_OF_ORDER)
        await bench.refused(request, Why.OUT_OF_ORDER)
        await bench.all(client.request(STEP))


@cocotb.test(**PATIENCE)
async def numbers_go_round(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    await bench.all(bench.client.hello(250), bench.client.request(RESET))
    for _ in range(10):
        request = bench.client.request(LOOK)
        await bench.all(request, request)


@cocotb.test(**PATIENCE)
async def each_type_that_is_none_is_refused(dut: Any) -> None:
    bench = Bench(dut)
    await bench.up()
    client = bench.client
    await bench.all(client.request(STEP))
    for kind in (*range(0, 256, 7), 0x81, 0x82, 0x83, 0x84, 0xC0, 0xFF, 5, 6, 0x43):
        if kind not in (HELLO.code, RESET.code, STEP.code, LOOK.code):
            await bench.refused(bytes([kind, (client.sequence + 1) % 256]) + NOTHING, Why.UNKNOWN_TYPE)
    await bench.all(client.request(STEP))


@cocotb.test(**PATIENCE)
async def nothing_is_done_before_a_reset(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    client = bench.client
    await bench.refused(bytes([STEP.code, 77]) + NOTHING, Why.OUT_OF_ORDER)
    await bench.all(client.hello())
    for kind in (STEP, LOOK):
        number = (client.sequence + 1) % 256
        await bench.refused(bytes([kind.code, number]) + changes(ZEROS, ONES), Why.NOT_RESET)
    await bench.all(client.request(RESET), client.request(STEP))


@cocotb.test(**PATIENCE)
async def of_a_wrong_length_nothing_is_believed(dut: Any) -> None:
    """A row cut at any byte, or with one more, or with groups that are not there; only a reset helps."""
    bench = Bench(dut)
    await bench.up()
    client = bench.client
    row = client.any_row(0.1)
    whole = changes(client.row, row)
    wrong = [whole[:end] for end in range(len(whole))] + [whole + b"\0", whole + bytes(9)]
    wrong += [(1 << group).to_bytes(2, "big") + b"\1\1" for group in range(10, 16)]
    wrong += [b"\0\1", b"\3\xff\xff\xff", b"\0\1\0\0", bytes(ROOM - 2), b"\xff" * (ROOM - 2)]
    for body in wrong:
        kind = client.dice.choice((STEP, LOOK, RESET))
        client.sequence = (client.sequence + 1) % 256
        await bench.refused(bytes([kind.code, client.sequence]) + body, Why.BAD_LENGTH)
        number = (client.sequence + 1) % 256
        await bench.refused(bytes([STEP.code, number]) + NOTHING, Why.NOT_RESET)
        await bench.all(client.request(RESET, client.any_row(0.1)), client.request(STEP))


@cocotb.test(**PATIENCE)
async def a_message_of_one_byte_is_refused(dut: Any) -> None:
    """It has no number: that of the answer means nothing."""
    bench = Bench(dut)
    await bench.up()
    for kind in (HELLO, STEP):
        found = await bench.ask(bytes([kind.code]))
        number = bench.oracle.sequence
        assert any(found == wrap(bytes([NodeMessage.REFUSED.code, n, Why.BAD_LENGTH.code])) for n in range(256)), number
    bench.client.sequence = bench.oracle.sequence
    await bench.all(bench.client.request(STEP))


@cocotb.test(**PATIENCE)
async def what_is_damaged_is_told_and_not_done(dut: Any) -> None:
    """Each byte of a step: another, lost, doubled, zero; and its end."""
    bench = Bench(dut)
    await bench.up()
    client, told = bench.client, 0
    request = wrap(client.request(STEP, client.any_row(0.08)))
    for place in range(1, len(request) - 1):
        bit = bytes([request[place] ^ 1 << client.dice.randrange(8)])
        for instead in (bit, b"", request[place : place + 1] * 2, b"\0", b"\xff"):
            data = request[:place] + instead + request[place + 1 :]
            if data != request:
                told += (await bench.stream(data)).count(DAMAGED)
        told += (await bench.stream(request[:place] + b"\0")).count(DAMAGED)
    assert told > 5 * len(request)
    await bench.stream(request)
    await bench.all(client.request(STEP))


@cocotb.test(**PATIENCE)
async def each_bit_of_the_crc_counts_and_nothing_is_no_message(dut: Any) -> None:
    """The CRC of no bytes is zero: four zero bytes are a message of none, and so is what is shorter."""
    bench = Bench(dut)
    await bench.up()
    client = bench.client
    request = client.request(STEP)
    sum_ = crc.crc32(request)
    for wrong in (*(sum_ ^ 1 << bit for bit in range(32)), 0, sum_ ^ 0xFFFFFFFF):
        data = b"\0" + cobs.encode(request + wrong.to_bytes(4, "big")) + b"\0"
        assert await bench.stream(data) == [DAMAGED]
    for length in range(5):
        assert await bench.stream(b"\0" + cobs.encode(bytes(length)) + b"\0") == [DAMAGED]
    await bench.all(request)


@cocotb.test(**PATIENCE)
async def messages_have_room_and_no_more_than_that(dut: Any) -> None:
    bench = Bench(dut)
    await bench.up()
    client = bench.client
    for length in (ROOM - 1, ROOM, ROOM + 1, ROOM + 4, 254, 255, 260, 383, 700):
        for filler in (b"\0", b"\1"):
            number = (client.sequence + 1) % 256
            wanted = await bench.stream(wrap((bytes([0x77, number]) + filler * length)[:length]))
            assert (wanted == [DAMAGED]) == (length > ROOM)
        # Beyond the room it is none, however good its beginning and its end are.
        request = client.request(STEP, client.any_row(0.05))
        await bench.stream(wrap(bytes(length)) + wrap(request) + wrap(b"\xff" * length) + wrap(request))
    await bench.is_well()


@cocotb.test(**PATIENCE)
async def messages_may_be_cut_at_any_byte(dut: Any) -> None:
    """The rest comes later; or never, but another message does."""
    bench = Bench(dut)
    await bench.up()
    client = bench.client
    for place in range(1, 30):
        request = wrap(client.request(STEP, client.any_row(0.05)))
        place = min(place, len(request) - 1)
        assert await bench.stream(request[:place]) == []
        await bench.clocks(client.dice.choice((1, 3, 40)))
        await bench.stream(request[place:])
        await bench.stream(request[:place] + wrap(client.request(STEP)))


@cocotb.test(**PATIENCE)
async def one_behind_the_other_at_every_pace(dut: Any) -> None:
    """However slowly bytes come, and however slowly answers are taken."""
    bench = Bench(dut)
    await bench.up()
    client = bench.client
    for gap, wait in ((0, 0), (0.5, 0), (0, 0.5), (0.9, 0), (0, 0.95), (0.3, 0.3), (0, 0.99)):
        bench.gap, bench.wait = gap, wait
        requests = [client.request(client.dice.choice((STEP, LOOK)), client.any_row(0.1)) for _ in range(4)]
        await bench.all(*(each for request in requests for each in [request] * client.dice.choice((1, 1, 2))))
        noise = b"\0\x11\x12\0"
        await bench.stream(b"".join(noise + wrap(client.request(STEP)) for _ in range(3)))


@cocotb.test(**PATIENCE)
async def one_zero_byte_between_messages_is_enough_and_any_number_does_no_harm(dut: Any) -> None:
    bench = Bench(dut)
    await bench.up()
    client = bench.client
    for zeros in (1, 2, 3, 10, 300):
        some = [wrap(client.request(STEP, client.any_row(0.1))).strip(b"\0") for _ in range(3)]
        await bench.stream(b"\0" + (b"\0" * zeros).join(some) + b"\0")


@cocotb.test(**PATIENCE)
async def a_reset_at_any_time_begins_anew(dut: Any) -> None:
    """That of the bridge itself, as at power-up, in whatever it is doing."""
    bench = Bench(dut)
    await bench.up()
    client = bench.client
    began = get_sim_time("ns")
    await bench.all(*(client.request(STEP, client.any_row(0.3)) for _ in range(2)))
    longest = round(get_sim_time("ns") - began) // PERIOD
    for _ in range(12 * ROUNDS):
        requests = [client.request(client.dice.choice((STEP, RESET)), client.any_row(0.3)) for _ in range(2)]
        given = cocotb.start_soon(bench.give(b"".join(map(wrap, requests))))
        await bench.clocks(client.dice.randrange(1, longest))
        given.cancel()
        await bench.power_up(client.dice.choice((1, 2, 5)))
        await bench.begins_anew()


@cocotb.test(**PATIENCE)
async def whatever_comes_is_answered_as_it_has_to_be(dut: Any) -> None:
    """Requests, nonsense, damage, repeats, jumps, in any order, at any pace."""
    bench = Bench(dut)
    await bench.up()
    client, dice = bench.client, bench.dice
    for _ in range(12 * ROUNDS):
        bench.gap, bench.wait = dice.choice((0, 0, 0.3)), dice.choice((0, 0, 0.3))
        await bench.stream(b"".join(anything(client) for _ in range(dice.randrange(1, 12))))
        await bench.is_well()


def anything(client: Client) -> bytes:
    """A request as it should be, or nearly so, or nothing of the kind."""
    dice = client.dice
    data = wrap(client.request(dice.choice((STEP, STEP, STEP, LOOK, RESET)), client.any_row(dice.choice((0, 0.05, 1)))))
    match dice.randrange(9):
        case 0:
            return data * 2
        case 1:
            return dice.randbytes(dice.randrange(1, 20)) + data
        case 2:
            place = dice.randrange(len(data))
            return data[:place] + dice.choice((b"", b"\0", dice.randbytes(1))) + data[place + 1 :]
        case 3:
            return data[: dice.randrange(len(data))]
        case 4:
            return wrap(dice.randbytes(dice.randrange(2, 200)))
        case 5:
            client.sequence = (client.sequence + dice.randrange(256)) % 256
            return data
        case 6 if dice.random() < 0.3:
            return wrap(client.hello()) + data
    return data
