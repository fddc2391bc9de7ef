"""Messages survive whatever comes between them, and nothing that was not sent is ever taken for one."""

import pytest
from cobs import cobs
from hypothesis import given
from hypothesis import strategies as st

from ringhil.protocol import crc
from ringhil.protocol.line.framing import LONGEST, Damaged, Unwrapper, wrap

messages = st.binary(min_size=1, max_size=300)
garbage = st.binary(max_size=300)


def found(data: bytes, unwrapper: Unwrapper | None = None) -> list[bytes]:
    return [message for message in (unwrapper or Unwrapper()).feed(data) if isinstance(message, bytes)]


@given(messages)
def test_what_is_wrapped_is_found_again(message: bytes) -> None:
    wrapped = wrap(message)
    assert (wrapped[0], wrapped[-1], wrapped[1:-1].count(0)) == (0, 0, 0)
    assert Unwrapper().feed(wrapped) == [message]


@given(messages)
def test_it_is_cobs_over_the_message_and_its_crc(message: bytes) -> None:
    assert cobs.decode(wrap(message)[1:-1]) == message + crc.crc32(message).to_bytes(4, "big")


@given(st.lists(messages, max_size=5), st.lists(st.integers(1, 40), max_size=30))
def test_however_a_stream_is_cut_the_same_is_found(sent: list[bytes], sizes: list[int]) -> None:
    stream, unwrapper, heard = b"".join(map(wrap, sent)), Unwrapper(), list[bytes]()
    for size in [*sizes, len(stream)]:
        heard += found(stream[:size], unwrapper)
        stream = stream[size:]
    assert heard == sent


@given(garbage, messages, garbage, messages)
def test_a_message_is_found_after_any_garbage(before: bytes, one: bytes, between: bytes, two: bytes) -> None:
    assert found(before + wrap(one) + between + wrap(two))[-1] == two
    assert one in found(before + wrap(one) + between + wrap(two))


@given(messages, st.data())
def test_a_changed_lost_or_doubled_byte_makes_no_other_message(message: bytes, data: st.DataObject) -> None:
    wrapped = bytearray(wrap(message))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(wrapped) - 1))
        how = data.draw(st.sampled_from(["change", "lose", "double"]))
        if how == "change":
            wrapped[place] ^= data.draw(st.integers(1, 255))
        elif how == "lose":
            del wrapped[place]
        else:
            wrapped.insert(place, wrapped[place])
    assert found(bytes(wrapped) + b"\0") in ([], [message])


@given(st.lists(garbage, max_size=20))
def test_nothing_else_is_ever_said_than_messages_and_damage(pieces: list[bytes]) -> None:
    unwrapper = Unwrapper()
    for piece in pieces:
        for message in unwrapper.feed(piece):
            assert isinstance(message, Damaged)
            assert message.why
            assert message.data
    assert Unwrapper().feed(b"\0\0\0") == []


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (b"\x05ab\0", "is not COBS"),
        (cobs.encode(b"abc") + b"\0", "has 3 bytes, too short for a message"),
        (cobs.encode(crc.crc32(b"").to_bytes(4, "big")) + b"\0", "has 4 bytes, too short for a message"),
        (cobs.encode(b"hello" + bytes(4)) + b"\0", "has a wrong CRC"),
        (b"a" * 40_000 + b"\0", "is longer than the longest message by "),
    ],
)
def test_damage_is_named(stream: bytes, why: str) -> None:
    (damaged,) = Unwrapper().feed(stream)
    assert isinstance(damaged, Damaged)
    assert damaged.why.startswith(why)
    assert stream.startswith(damaged.data)


def test_the_longest_message_goes_through_and_a_longer_one_is_refused() -> None:
    longest = bytes(range(256)) * (LONGEST // 256 + 1)
    assert Unwrapper().feed(wrap(longest[:LONGEST])) == [longest[:LONGEST]]
    with pytest.raises(ValueError, match=f"a message of {LONGEST + 1} bytes; allowed are {LONGEST}"):
        wrap(longest[: LONGEST + 1])


def test_one_byte_more_is_damage_where_its_encoding_is_no_longer() -> None:
    """Stuffing takes fewer bytes of a message with zeros."""
    message = bytes(LONGEST + 1)
    stream = b"\0" + cobs.encode(message + crc.crc32(message).to_bytes(4, "big")) + b"\0"
    (damaged,) = Unwrapper().feed(stream)
    assert isinstance(damaged, Damaged)
    assert damaged.why == "is longer than the longest message"


def test_no_more_is_kept_than_the_longest_message() -> None:
    unwrapper = Unwrapper()
    for _ in range(1000):
        unwrapper.feed(b"a" * 1000)
    assert len(unwrapper._begun) < LONGEST + 200
    (damaged, message) = unwrapper.feed(wrap(b"next"))
    assert isinstance(damaged, Damaged)
    assert len(damaged.data) < LONGEST + 200
    assert message == b"next"


def test_a_sent_message_that_no_zero_ended_is_ended_by_the_next() -> None:
    assert found(wrap(b"one")[:-1] + wrap(b"two")) == [b"one", b"two"]
