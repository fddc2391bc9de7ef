"""Frames as flits, and the ways in which they are spoilt."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.protocol import codec
from ringhil.protocol.frames import Election, Statistics

MESSAGE = Election(0, 0, 5, 2, 7, 1, 1, 1, 1, 100, 3)
FRAME = RingFrame.of(MESSAGE)


def test_a_frame_knows_its_channel_and_kind() -> None:
    assert (FRAME.channel, FRAME.kind, FRAME.ttl, FRAME.good) == ("control", "election", 5, True)
    assert FRAME.message() == MESSAGE


def test_flits_carry_the_bytes_with_beginning_and_end() -> None:
    flits = list(FRAME.flits())
    assert b"".join(f.data.to_bytes(8, "big") for f in flits) == FRAME.data
    assert [f.sof for f in flits] == [True] + [False] * (len(flits) - 1)
    assert [f.eof for f in flits] == [False] * (len(flits) - 1) + [True]
    assert not any(f.err for f in flits)


def test_a_truncated_frame_has_no_end_and_a_headless_one_no_beginning() -> None:
    cut = list(FRAME.truncated(2).flits())
    assert [(f.sof, f.eof) for f in cut] == [(True, False), (False, False)]
    rest = list(FRAME.headless(2).flits())
    assert rest[0].data.to_bytes(8, "big") == FRAME.data[16:24]
    assert not any(f.sof for f in rest)
    assert rest[-1].eof


def test_a_mark_goes_with_an_inverted_crc() -> None:
    marked = FRAME.marked()
    assert marked.err
    assert list(marked.flits())[-1].err
    inverted = int.from_bytes(FRAME.data[-4:], "big") ^ 0xFFFFFFFF
    assert int.from_bytes(marked.data[-4:], "big") == inverted


def test_a_bad_end_to_end_crc_leaves_the_link_crc_right() -> None:
    bad = FRAME.with_bad_e2e_crc()
    assert bad.link_ok
    with pytest.raises(codec.FrameError, match="end-to-end"):
        bad.message()


def test_a_stale_epoch_is_a_good_frame_of_an_older_one() -> None:
    stale = FRAME.with_stale_epoch(3)
    message = stale.message()
    assert stale.good
    assert isinstance(message, Election)
    assert message.epoch == MESSAGE.epoch - 3


@given(st.integers(0, 8 * len(FRAME.data) - 1))
def test_any_single_wrong_bit_is_seen(bit: int) -> None:
    assert not FRAME.with_bit_flip(bit).link_ok


@given(st.integers(), st.integers(0, 0xFFFF))
def test_damage_is_always_damage(seed: int, ttl: int) -> None:
    message = Statistics(0, 0, ttl, 0, 1, seed & 0xFFFFFFFF, 1, 4, 4, 0)
    assert not RingFrame.of(message).damaged(random.Random(seed)).good
