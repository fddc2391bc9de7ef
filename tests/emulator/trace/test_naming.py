"""Frames in words: by the names of the definitions, for whole frames, parts of them, and bytes that are none."""

import random
from dataclasses import fields, replace

import pytest

from ringhil.emulator.conformance.frames import statistics
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.trace.naming import described, differing, fields_of
from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Acknowledgement, Election, Frame, Keepalive, Report, Result, Statistics, Work

HEAD = (3, 0, 5, 2, 9, 7)  # card, flags, ttl, home, epoch, sequence or unit
FRAMES: list[tuple[Frame, str]] = [
    (Statistics(*HEAD, 1, 4, 4, 0), "statistics from GPU 2 of card 3, sequence 7"),
    (Keepalive(*HEAD, 6 << 16, 0, 1, 0, 3, 0, 9, 0, 0, 0), "keepalive from GPU 6 for GPU 2 of card 3, sequence 7"),
    (Election(*HEAD, 6, 1, 1, 9, 0), "election from GPU 6 for GPU 2 of card 3, sequence 7"),
    (Work(*HEAD, 6, 0, 0, 8, 8, 0, 0, 0, bytes(8)), "work from GPU 6 for GPU 2 of card 3, unit 7"),
    (Result(*HEAD, 6, 0, 0, 0, 0, 0, 8, 9), "result from GPU 6 for GPU 2 of card 3, unit 7"),
    (Acknowledgement(*HEAD, 6, 0, 1, 0, 0), "acknowledgement from GPU 6 for GPU 2 of card 3, unit 7"),
    (Report(*HEAD, 6, 4, 4, 1, *[0] * 10, (1, 2, 3)), "report from GPU 6 for GPU 2 of card 3, sequence 7"),
]


@pytest.mark.parametrize(("frame", "text"), FRAMES, ids=lambda value: type(value).__name__)
def test_a_frame_by_kind_sender_and_receiver(frame: Frame, text: str) -> None:
    data = codec.encode(frame)
    assert described(data) == text
    assert RingFrame.of(data).title == text
    assert described(data[:4]) == f"{text.split()[0]} of card 3"  # no more of it has come


def test_every_kind_is_tried() -> None:
    assert {frame.KIND for frame, _ in FRAMES} == {kind.code for kind in wire.Kind}


@pytest.mark.parametrize("frame", [frame for frame, _ in FRAMES], ids=lambda frame: type(frame).__name__)
def test_each_field_is_named_where_it_differs(frame: Frame) -> None:
    """By the codec, which is generated: what it encodes differently has the field's name here."""
    data = codec.encode(frame)
    for field in fields(frame):
        value = getattr(frame, field.name)
        if not isinstance(value, int) or field.name in ("segment_bytes", "size"):  # these give a length
            continue
        other = codec.encode(replace(frame, **{field.name: value ^ 1}))
        assert differing(other, data).startswith(f"{field.name} is ")
        assert ";" not in differing(other, data)


def test_fields_cover_a_frame_without_gaps() -> None:
    rng = random.Random(1)
    for data in [codec.encode(frame) for frame, _ in FRAMES] + [statistics(rng, records=n) for n in range(4)]:
        at = 0
        for field in fields_of(data):
            assert field.start == at, field
            at = field.end
        assert at == len(data)


def test_a_record_by_its_number() -> None:
    data = statistics(random.Random(1), records=3)
    frame = codec.decode(data)
    assert isinstance(frame, Statistics)
    *others, last = frame.records
    changed = replace(frame, records=(*others, replace(last, tag=7)))
    assert differing(codec.encode(changed), data) == f"record 2: tag is 7, must be 0x{last.tag:X}"
    back = codec.encode(replace(frame, records=(*others, replace(last, state=2))))
    assert differing(back, data) == "record 2: state is degraded, must be working"
    fewer = codec.encode(replace(frame, records=tuple(others), count=9))
    assert (
        differing(fewer, data) == "count is 9, must be 4; records_count is 2, must be 3; it has 9 flits, must have 11"
    )


def test_flags_by_name() -> None:
    frame = Statistics(*HEAD, 1, 4, 4, 0)
    sent = codec.encode(replace(frame, flags=wire.Flag.CCW | wire.Flag.WRAPPED))
    assert differing(sent, codec.encode(frame)) == "flags is ccw+wrapped, must be none"
    crossed = codec.encode(replace(frame, flags=2 << wire.CROSSINGS_SHIFT | wire.Flag.CCW))
    assert differing(crossed, codec.encode(frame)) == "flags is ccw+0x2000, must be none"


def test_check_sums_only_if_nothing_else_differs() -> None:
    data = codec.encode(Statistics(*HEAD, 1, 4, 4, 0))
    frame = RingFrame.of(data)
    assert differing(frame.with_bad_link_crc().data, data).startswith("link_crc is 0x")
    assert "crc" not in differing(frame.with_ttl(4).data, data)


def test_bytes_that_are_no_frame() -> None:
    assert described(b"") == "nothing"
    assert described(bytes.fromhex("ff00112233445566ab")) == "no known kind: 0xff00112233445566"
    rest = RingFrame.of(Statistics(*HEAD, 1, 4, 4, 0)).headless(3)
    assert rest.title == "the last 2 flits of a frame"
    assert differing(b"\xff" + bytes(15), bytes(16)) == "flit 0 is 0xff00000000000000, must be 0x0000000000000000"
    assert differing(bytes(16), bytes(16)) == "the same"
