"""A simulated serial line: bytes pass unchanged in exact time, trouble damages what it strikes and nothing else."""

import ctypes
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.serial.uart import BitTrueLink, EndCounts, Side, link_library
from ringhil.emulator.serial.uart.bit_true import BITS, MOST_CLOCKS, ONE_CLOCK, OVERSAMPLE

BYTE = BITS * OVERSAMPLE  # clocks, with a tick a clock
SAMPLED = 9 * OVERSAMPLE + OVERSAMPLE // 2 + 1  # ticks from the start bit's edge to the last sample of the stop bit
BOTH = (Side.CLIENT, Side.CARD)
OTHER = {Side.CLIENT: Side.CARD, Side.CARD: Side.CLIENT}
QUIET = EndCounts(0, 0, 0, 0, 0)


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return link_library()


def settle(link: BitTrueLink, most: int = 1_000_000) -> None:
    """Until nothing is under way."""
    end = link.now + most
    while not link.idle:
        link.pass_time(40)
        assert link.now < end, "the line never comes to rest"


def arrivals(link: BitTrueLink, side: Side, number: int) -> list[int]:
    """The clocks in which bytes come, one after the other."""
    clocks = list[int]()
    while len(clocks) < number:
        before = link.waiting(side)
        link.pass_time(1)
        clocks += [link.now] * (link.waiting(side) - before)
        assert link.now < 1_000_000, f"{len(clocks)} of {number} bytes came"
    return clocks


@pytest.mark.rest
@given(st.binary(max_size=60), st.binary(max_size=60), st.lists(st.integers(0, 3000), max_size=10))
def test_any_bytes_pass_unchanged_both_ways_at_once(
    library: ctypes.CDLL, to_card: bytes, to_client: bytes, pauses: list[int]
) -> None:
    with BitTrueLink(library) as link:
        heard = {Side.CLIENT: b"", Side.CARD: b""}
        assert link.write(Side.CLIENT, to_card) == len(to_card)
        for number, pause in enumerate(pauses):  # the card's come in pieces
            link.write(Side.CARD, to_client[number : number + 1])
            link.pass_time(pause)
            heard = {side: heard[side] + link.read(side, 3) for side in BOTH}
        link.write(Side.CARD, to_client[len(pauses) :])
        settle(link)
        assert heard[Side.CARD] + link.read(Side.CARD) == to_card
        assert heard[Side.CLIENT] + link.read(Side.CLIENT) == to_client
        assert link.counts(Side.CARD) == EndCounts(len(to_client), len(to_card), 0, 0, 0)
        assert link.counts(Side.CLIENT) == EndCounts(len(to_card), len(to_client), 0, 0, 0)


@pytest.mark.parametrize("divisor", [ONE_CLOCK, ONE_CLOCK + 1, 277, 511, 10 * ONE_CLOCK, 0x1B20])
@pytest.mark.parametrize("side", BOTH)
def test_bytes_come_in_exact_time(library: ctypes.CDLL, side: Side, divisor: int) -> None:
    """A clock until the start bit is on the line, two into the receiver's clock, one each for FIFO and queue."""
    with BitTrueLink(library, divisor=divisor) as link:
        link.write(side, b"\x55\0\xff!")
        begun = [1 + number * BYTE * divisor // ONE_CLOCK for number in range(4)]
        assert arrivals(link, OTHER[side], 4) == [at + 4 + SAMPLED * divisor // ONE_CLOCK for at in begun]
        assert link.clocks_per_byte == BYTE * divisor / ONE_CLOCK


def test_time_that_is_left_out_changes_nothing(library: ctypes.CDLL) -> None:
    def play(steps: Sequence[int]) -> tuple[object, ...]:
        with BitTrueLink(library, divisor=300, room=8) as link:
            found = list[object]()
            for number, clocks in enumerate((700, 20_000, 3, 5000, 50_000)):
                link.write(Side.CLIENT, bytes(range(number, number + 6)))
                link.write(Side.CARD, b"ab")
                link.disturb(BOTH[number % 2], 40 * number)
                for step in (clocks,) if not steps else (*steps, clocks - sum(steps)):
                    link.pass_time(step)
                found += [link.now, link.read(Side.CARD, 4), link.counts(Side.CARD), link.counts(Side.CLIENT)]
            return (*found, link.idle, link.read(Side.CLIENT))

    assert play(()) == play([1, 1, 1]) == play([0, 2])
    with BitTrueLink(library) as leaping, BitTrueLink(library) as walking:
        for _ in range(2):
            leaping.write(Side.CARD, b"x")
            walking.write(Side.CARD, b"x")
            leaping.pass_time(2000)
            for _ in range(2000):
                walking.pass_time(1)
            assert (leaping.now, leaping.counts(Side.CLIENT)) == (walking.now, walking.counts(Side.CLIENT))
        leaping.pass_time(10**15)  # at once
        assert leaping.now == 10**15 + 4000


def test_a_queue_takes_what_it_has_room_for(library: ctypes.CDLL) -> None:
    with BitTrueLink(library, room=5) as link:
        assert (link.write(Side.CLIENT, b"abcdefg"), link.write(Side.CLIENT, b"h")) == (5, 0)
        assert (link.unsent(Side.CLIENT), link.unsent(Side.CARD), link.idle) == (5, 0, False)
        link.pass_time(1)
        assert link.write(Side.CLIENT, b"hij") == 1  # the first one is on the line
        settle(link)
        assert link.waiting(Side.CARD) == 5  # the sixth one is in the FIFO
        assert (link.read(Side.CARD, 2), link.read(Side.CARD, 0), link.read(Side.CARD)) == (b"ab", b"", b"cde")
        link.pass_time(1)
        assert link.read(Side.CARD) == b"h"


@given(st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 30)), max_size=40), st.integers(1, 40))
def test_whatever_the_reader_does_flow_control_loses_nothing(
    library: ctypes.CDLL, reads: list[tuple[int, int]], room: int
) -> None:
    data = bytes(range(200))
    with BitTrueLink(library, room=room) as link:
        written, heard = 0, b""
        for clocks, most in [*reads, *[(2 * BYTE, 200)] * 230]:
            written += link.write(Side.CARD, data[written:])
            link.pass_time(clocks)
            heard += link.read(Side.CLIENT, most)
        assert heard == data
        assert link.counts(Side.CLIENT).overruns == 0


def test_without_flow_control_a_reader_that_sleeps_loses_bytes(library: ctypes.CDLL) -> None:
    with BitTrueLink(library, room=64, flow_control=False) as link:
        data = bytes(range(64))
        for _ in range(2):
            assert link.write(Side.CLIENT, data) == 64
            settle(link)
        assert link.counts(Side.CARD) == EndCounts(0, 64, 48, 0, 0)  # 16 are in the FIFO
        assert link.read(Side.CARD) == data
        link.pass_time(100)
        assert link.read(Side.CARD) == data[:16]  # those that came first


def test_while_the_other_end_is_full_this_one_waits(library: ctypes.CDLL) -> None:
    with BitTrueLink(library, room=4) as link:
        for _ in range(40):
            link.write(Side.CLIENT, b"abcd")
            link.pass_time(2 * BYTE)
        assert link.counts(Side.CLIENT).sent == link.counts(Side.CARD).received + 12  # of 16 places four are spare
        link.write(Side.CARD, b"z")  # the other way is free
        link.pass_time(2 * BYTE)
        assert link.read(Side.CLIENT) == b"z"


@pytest.mark.parametrize("percent", [-3, -2, 2, 3])
def test_ends_that_differ_by_three_percent_understand_each_other(library: ctypes.CDLL, percent: int) -> None:
    data = bytes(range(256))
    with BitTrueLink(library, divisor=2560, card_divisor=2560 * (100 + percent) // 100) as link:
        for side in BOTH:
            link.write(side, data)
        settle(link, 10_000_000)
        assert [link.read(side) for side in BOTH] == [data, data]


@pytest.mark.parametrize("percent", [-8, 8])
def test_ends_that_differ_by_far_more_do_not(library: ctypes.CDLL, percent: int) -> None:
    data = bytes(range(256))
    with BitTrueLink(library, divisor=2560, card_divisor=2560 * (100 + percent) // 100) as link:
        link.write(Side.CLIENT, data)
        settle(link, 10_000_000)
        assert link.read(Side.CARD) != data
        assert link.counts(Side.CARD).framing > 0


@pytest.mark.parametrize("byte", [0x00, 0x55, 0x81, 0xFF])
def test_one_wrong_tick_anywhere_in_a_byte_does_no_harm(library: ctypes.CDLL, byte: int) -> None:
    for at in range(BYTE + 1):
        with BitTrueLink(library) as link:
            link.write(Side.CARD, bytes([byte]))
            link.pass_time(at)
            link.disturb(Side.CARD, 1)
            settle(link)
            assert link.read(Side.CLIENT) == bytes([byte]), at
            assert link.counts(Side.CLIENT) == EndCounts(0, 1, 0, 0, 0)


@pytest.mark.parametrize("bit", range(8))
def test_a_bit_that_is_inverted_is_another_bit(library: ctypes.CDLL, bit: int) -> None:
    with BitTrueLink(library) as link:
        link.write(Side.CLIENT, b"\x5a\x5a")
        link.pass_time(1 + OVERSAMPLE * (1 + bit))
        link.disturb(Side.CLIENT, OVERSAMPLE)
        settle(link)
        assert link.read(Side.CARD) == bytes([0x5A ^ 1 << bit, 0x5A])


def test_an_inverted_stop_bit_is_a_framing_error_and_the_next_byte_is_right(library: ctypes.CDLL) -> None:
    with BitTrueLink(library) as link:
        link.write(Side.CLIENT, b"\xa5")
        link.pass_time(1 + OVERSAMPLE * 9)
        link.disturb(Side.CLIENT, OVERSAMPLE)
        settle(link)
        link.write(Side.CLIENT, b"!")
        settle(link)
        assert link.read(Side.CARD) == b"!"
        assert link.counts(Side.CARD) == EndCounts(0, 1, 0, 1, 0)


@pytest.mark.parametrize(("bits", "breaks"), [(9, 0), (11, 1), (1000, 1)])
def test_a_line_that_is_low_for_longer_than_a_byte_is_a_break_told_once(
    library: ctypes.CDLL, bits: int, breaks: int
) -> None:
    with BitTrueLink(library) as link:
        link.disturb(Side.CARD, OVERSAMPLE * bits)
        link.pass_time(OVERSAMPLE * bits + BYTE)
        link.write(Side.CARD, b"after")
        settle(link)
        assert link.counts(Side.CLIENT).breaks == breaks
        assert link.read(Side.CLIENT) == (b"after" if breaks else b"\0after")


@pytest.mark.parametrize(("ticks", "bytes_that_come"), [(1, b""), (8, b""), (9, b"\xff")])
def test_a_low_of_half_a_bit_is_no_start(library: ctypes.CDLL, ticks: int, bytes_that_come: bytes) -> None:
    with BitTrueLink(library) as link:
        link.disturb(Side.CLIENT, ticks)
        settle(link)
        assert link.read(Side.CARD) == bytes_that_come
        assert link.counts(Side.CARD).framing == 0


@given(
    st.binary(min_size=1, max_size=20),
    st.lists(st.tuples(st.sampled_from(BOTH), st.integers(0, 400), st.integers(0, 400)), max_size=12),
    st.booleans(),
)
def test_whatever_disturbs_it_the_line_comes_to_rest_and_then_works(
    library: ctypes.CDLL, data: bytes, trouble: list[tuple[Side, int, int]], flow_control: bool
) -> None:
    with BitTrueLink(library, flow_control=flow_control) as link:
        for side in BOTH:
            link.write(side, data)
        for side, clocks, flipped in trouble:
            link.disturb(side, flipped)
            link.pass_time(clocks)
        settle(link)
        link.pass_time(400)  # the last disturbance is over
        settle(link)
        struck = {OTHER[side] for side, _, flipped in trouble if flipped}
        for side in BOTH:
            heard, met = link.read(side), link.counts(side)
            assert (met.sent, met.overruns, met.received) == (len(data), 0, len(heard))
            if side not in struck:
                assert (heard, met) == (data, EndCounts(len(data), len(data), 0, 0, 0))
            # Each byte, wrong start, error or break takes a start bit of the line's.
            assert len(heard) + met.framing + met.breaks <= len(data) + sum(f > 0 for _, _, f in trouble) * 2
            link.write(OTHER[side], b"and now")
        settle(link)
        assert [link.read(side) for side in BOTH] == [b"and now"] * 2


def test_a_disturbance_can_be_ended_and_strikes_one_way_only(library: ctypes.CDLL) -> None:
    with BitTrueLink(library) as link:
        link.disturb(Side.CLIENT, 10**12)
        link.pass_time(10**9)
        link.write(Side.CARD, b"up")
        settle(link)
        assert (link.read(Side.CLIENT), link.counts(Side.CARD).breaks) == (b"up", 1)
        link.disturb(Side.CLIENT, 0)
        link.pass_time(BYTE)
        link.write(Side.CLIENT, b"down")
        settle(link)
        assert link.read(Side.CARD) == b"down"


def test_the_same_calls_give_the_same_bytes_in_the_same_clocks(library: ctypes.CDLL) -> None:
    def play() -> tuple[object, ...]:
        with BitTrueLink(library, divisor=700, card_divisor=713, room=3) as link:
            assert (link.now, link.idle, link.counts(Side.CARD)) == (0, True, QUIET)
            found = list[object]()
            for number in range(50):
                link.write(BOTH[number % 2], bytes([number, 255 - number]))
                link.disturb(Side.CARD, number * 7 % 40)
                link.pass_time(number * 97 % 800)
                found += [link.read(side, 1) for side in BOTH]
            return (*found, link.counts(Side.CLIENT), link.counts(Side.CARD), link.now)

    assert play() == play()


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"divisor": 255}, "divisor: found 255; allowed are 256 .. 16777215"),
        ({"card_divisor": 1 << 24}, "card_divisor: found 16777216; allowed are 256 .. 16777215"),
        ({"room": 0}, "room: found 0; allowed are 1 .. 1048576"),
    ],
)
def test_what_cannot_be_is_refused(library: ctypes.CDLL, given: dict[str, int], found: str) -> None:
    with pytest.raises(ValueError, match=found):
        BitTrueLink(library, **given)  # type: ignore[arg-type]


def test_times_and_sizes_that_cannot_be_are_refused_and_so_is_a_link_that_is_closed(library: ctypes.CDLL) -> None:
    link = BitTrueLink(library)
    for clocks in (-1, MOST_CLOCKS + 1):
        with pytest.raises(ValueError, match=f"clocks: found {clocks}"):
            link.pass_time(clocks)
        with pytest.raises(ValueError, match=f"clocks: found {clocks}"):
            link.disturb(Side.CARD, clocks)
    with pytest.raises(ValueError, match="most: found -1"):
        link.read(Side.CARD, -1)
    link.pass_time(MOST_CLOCKS)
    link.close()
    link.close()
    for call in (lambda: link.now, lambda: link.write(Side.CARD, b"x"), lambda: link.read(Side.CARD)):
        with pytest.raises(ValueError, match="the link is closed"):
            call()
