"""The codec against construct, and against everything that is no frame."""

from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.protocol import codec, crc, wire
from ringhil.protocol.codec import FrameError
from ringhil.protocol.fields import fixed_fields
from ringhil.protocol.frames import Frame, Record, Report, Statistics, Work

from .strategies import (
    KINDS,
    built,
    flipped,
    frame_of,
    header_fields,
    known_flags_only,
    plain,
    quick,
    sample,
    unsealed,
    valid,
)

every_kind = pytest.mark.parametrize("kind", KINDS)


def values_of(frame: Frame) -> dict[str, Any]:
    values = asdict(frame)
    return values | {name: list(v) for name, v in values.items() if isinstance(v, tuple)}


# -- construct is the definition -----------------------------------------------------------------------


@pytest.mark.rest(but_one_in=4)
@every_kind
@quick
@given(data=st.data())
def test_encode_builds_what_construct_builds(kind: str, data: st.DataObject) -> None:
    values = data.draw(valid(kind))
    assert codec.encode(frame_of(kind, values)) == built(kind, values)


@pytest.mark.rest(but_one_in=4)
@every_kind
@quick
@given(data=st.data())
def test_decode_parses_what_construct_parses(kind: str, data: st.DataObject) -> None:
    wire_bytes = built(kind, data.draw(valid(kind)))
    decoded = values_of(codec.decode(wire_bytes))
    assert known_flags_only(decoded) == plain(wire.FRAMES[kind].parse(wire_bytes))


@every_kind
@quick
@given(data=st.data())
def test_decode_undoes_encode(kind: str, data: st.DataObject) -> None:
    frame = frame_of(kind, data.draw(valid(kind)))
    assert codec.decode(codec.encode(frame)) == frame


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("statistics", wire.MAX_RING),
        ("work", wire.SEGMENT_BYTES),
        ("report", wire.MAX_RING),
        ("statistics", 0),
        ("work", 0),
        ("report", 0),
    ],
)
def test_the_longest_and_the_emptiest_frame_are_frames(kind: str, count: int) -> None:
    values = sample(kind, count=count)
    frame = frame_of(kind, values)
    assert codec.encode(frame) == built(kind, values)
    assert codec.decode(codec.encode(frame)) == frame


# -- decode refuses whatever is no frame, with FrameError and nothing else ----------------------------------


@st.composite
def almost_frames(draw: st.DrawFn) -> bytes:
    """Any bytes, most of them with a known kind, so that the checks behind it are reached."""
    kind = draw(st.sampled_from([*wire.Kind.codes().values(), None]))
    start = b"" if kind is None else bytes([kind])
    flits = draw(st.integers(0, 8))
    length = draw(st.sampled_from([flits * 8, flits * 8 + draw(st.integers(0, 7))]))
    return (start + draw(st.binary(min_size=length, max_size=length)))[:length]


@quick
@given(data=almost_frames(), check=st.booleans())
def test_any_bytes_are_a_frame_or_a_frame_error(data: bytes, check: bool) -> None:
    try:
        frame = codec.decode(data, check=check)
    except FrameError:
        return
    assert codec.encode(frame)[:-8] == data[:-8]


@every_kind
@quick
@given(data=st.data())
def test_any_header_with_good_crcs_is_a_frame_or_a_frame_error(kind: str, data: st.DataObject) -> None:
    size = 8 * data.draw(st.integers(3, 9))
    rest = data.draw(st.binary(min_size=size - 1, max_size=size - 1))
    sealed = codec.seal(bytes([wire.Kind.parse(kind).code]) + rest)
    try:
        frame = codec.decode(sealed)
    except FrameError:
        return
    assert codec.encode(frame) == sealed


@every_kind
@pytest.mark.parametrize("check", [True, False])
def test_every_truncation_is_refused(kind: str, check: bool) -> None:
    whole = codec.encode(frame_of(kind, sample(kind)))
    for length in range(len(whole)):
        with pytest.raises(FrameError):
            codec.decode(whole[:length], check=check)


@every_kind
def test_every_single_bit_flip_is_refused(kind: str) -> None:
    whole = codec.encode(frame_of(kind, sample(kind)))
    for bit in range(len(whole) * 8):
        with pytest.raises(FrameError):
            codec.decode(flipped(whole, bit))


@every_kind
@pytest.mark.parametrize("check", [True, False])
@quick
@given(garbage=st.binary(min_size=1, max_size=40))
def test_garbage_after_the_end_is_refused(kind: str, check: bool, garbage: bytes) -> None:
    whole = codec.encode(frame_of(kind, sample(kind)))
    with pytest.raises(FrameError):
        codec.decode(whole + garbage, check=check)


@every_kind
def test_a_flit_too_many_is_refused_though_the_crcs_cover_it(kind: str) -> None:
    with pytest.raises(FrameError, match=r"bytes"):
        codec.decode(codec.seal(unsealed(kind, sample(kind)) + bytes(8)))


@pytest.mark.parametrize(
    ("kind", "count"),
    [("statistics", wire.MAX_RING + 1), ("work", wire.SEGMENT_BYTES + 1), ("report", wire.MAX_RING + 1)],
)
def test_more_than_a_frame_may_carry_is_refused_both_ways(kind: str, count: int) -> None:
    values = sample(kind, count=count)
    with pytest.raises(FrameError, match=str(count - 1)):
        codec.encode(frame_of(kind, values))
    with pytest.raises(FrameError):
        codec.decode(codec.seal(unsealed(kind, values)))


def test_another_version_is_refused() -> None:
    whole = codec.encode(frame_of("keepalive", sample("keepalive")))
    with pytest.raises(FrameError, match="kind 0x22: allowed are 0x11"):
        codec.decode(codec.seal(b"\x22" + whole[1:-8]))


def test_nothing_is_refused() -> None:
    with pytest.raises(FrameError, match="nothing"):
        codec.decode(b"")


@every_kind
def test_the_error_names_the_wrong_crc(kind: str) -> None:
    whole = codec.encode(frame_of(kind, sample(kind)))
    with pytest.raises(FrameError, match="link CRC"):
        codec.decode(flipped(whole, len(whole) * 8 - 1))
    forged = flipped(whole, len(whole) * 8 - 33)[:-4]  # a bit of the end-to-end CRC, under a good link CRC
    with pytest.raises(FrameError, match="end-to-end CRC"):
        codec.decode(forged + crc.crc32(forged).to_bytes(4, "big"))


@every_kind
def test_a_damaged_frame_can_be_looked_at_without_checks(kind: str) -> None:
    frame = frame_of(kind, sample(kind))
    damaged = flipped(codec.encode(frame), 15)  # the lowest bit of `card`
    assert codec.decode(damaged, check=False) == replace(frame, card=frame.card ^ 1)


# -- encode refuses what doesn't fit ---------------------------------------------------------------------


def _too_large(size: int) -> list[object]:
    return [-1, 256**size, -(2**70), 2**70]


@every_kind
def test_a_value_beyond_its_field_is_refused_by_name(kind: str) -> None:
    frame: Any = frame_of(kind, sample(kind))
    for name, size in header_fields(kind):
        for value in [*_too_large(size), 1.5, None, "1"]:
            with pytest.raises(FrameError, match=f"^{kind}: {name} = "):
                codec.encode(replace(frame, **{name: value}))


def test_a_value_beyond_its_field_in_a_record_is_refused_by_name() -> None:
    frame: Any = frame_of("statistics", sample("statistics"))
    for name, size in fixed_fields(wire.Record):
        for value in _too_large(size):
            record: Any = replace(frame.records[1], **{name: value})
            with pytest.raises(FrameError, match=f"^statistics: record 1: {name} = "):
                codec.encode(replace(frame, records=(frame.records[0], record)))


@pytest.mark.parametrize("place", range(6))
def test_a_word_of_a_set_beyond_64_bits_is_refused(place: int) -> None:
    frame: Any = frame_of("report", sample("report", count=128))
    for value in _too_large(8):
        sets: list[Any] = [0] * 6
        sets[place] = value
        with pytest.raises(FrameError, match=rf"^report: sets\[{place}\] = "):
            codec.encode(replace(frame, sets=tuple(sets)))


@pytest.mark.parametrize(
    ("segment_bytes", "payload"), [(0, 8), (1, 0), (1, 1), (8, 9), (8, 16), (9, 8), (256, 248), (256, 264)]
)
def test_a_payload_that_is_not_the_padded_segment_is_refused(segment_bytes: int, payload: int) -> None:
    frame = frame_of("work", sample("work"))
    assert isinstance(frame, Work)
    with pytest.raises(FrameError, match=f"found {payload}$"):
        codec.encode(replace(frame, segment_bytes=segment_bytes, payload=bytes(payload)))


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, 1), (0, 3), (1, 0), (1, 1), (1, 2), (1, 4), (64, 6), (65, 3), (65, 5), (1024, 16), (1024, 47), (1024, 49)],
)
def test_sets_that_are_not_three_words_for_each_64_gpus_are_refused(size: int, words: int) -> None:
    frame = frame_of("report", sample("report"))
    assert isinstance(frame, Report)
    with pytest.raises(FrameError, match=f"{size} GPUs"):
        codec.encode(replace(frame, size=size, sets=(0,) * words))


def test_frames_are_values() -> None:
    one, other = (frame_of("statistics", sample("statistics")) for _ in range(2))
    assert one == other
    assert len({one, other}) == 1
    assert isinstance(one, Statistics)
    assert all(isinstance(record, Record) for record in one.records)
