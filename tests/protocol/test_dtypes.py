"""Structured arrays of frames against construct."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.protocol import wire
from ringhil.protocol.dtypes import RECORD_DTYPE, dtype_of
from ringhil.protocol.fields import fixed_fields, variable_field
from ringhil.protocol.frames import BY_KIND, Record

from .strategies import KINDS, Values, built, quick, valid

every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.rest(but_one_in=4)
@every_kind
@quick
@given(data=st.data())
def test_an_array_of_frames_reads_as_construct_parses_it(kind: str, data: st.DataObject) -> None:
    dtype = dtype_of(wire.FRAMES[kind])
    frames: list[Values] = data.draw(st.lists(valid(kind), max_size=4))
    wire_bytes = [built(kind, values) for values in frames]
    array = np.frombuffer(b"".join(frame[: dtype.itemsize] for frame in wire_bytes), dtype)
    assert len(array) == len(frames)
    for row, frame, values in zip(array, wire_bytes, frames, strict=True):
        parsed = wire.FRAMES[kind].parse(frame)
        for name in array.dtype.names or ():
            # construct drops the flags that have no name
            assert row[name] == (values["flags"] if name == "flags" else int(parsed[name]))


@pytest.mark.rest(but_one_in=4)
@every_kind
@quick
@given(data=st.data())
def test_an_array_of_frames_writes_what_construct_builds(kind: str, data: st.DataObject) -> None:
    frame = built(kind, data.draw(valid(kind)))
    dtype = dtype_of(wire.FRAMES[kind])
    read = np.frombuffer(frame[: dtype.itemsize], dtype)
    written = np.zeros(1, dtype)
    for name in dtype.names or ():
        written[name] = int(read[name][0])
    assert written.tobytes() == frame[: dtype.itemsize]


@quick
@given(values=valid("statistics"))
def test_the_records_of_a_frame_are_an_array(values: Values) -> None:
    array = np.frombuffer(built("statistics", values)[32:-8], RECORD_DTYPE)
    assert [{name: int(row[name]) for name in RECORD_DTYPE.names or ()} for row in array] == values["records"]


@every_kind
def test_the_type_covers_the_header_or_the_whole_frame(kind: str) -> None:
    definition = wire.FRAMES[kind]
    trailer = 0 if variable_field(definition) else 8
    assert dtype_of(definition).itemsize == BY_KIND[wire.Kind.parse(kind).code].HEAD.size + trailer


def test_a_record_is_its_16_bytes() -> None:
    assert RECORD_DTYPE.itemsize == Record.HEAD.size == wire.Record.sizeof() == 16


@every_kind
def test_every_field_is_big_endian_and_without_gaps(kind: str) -> None:
    dtype = dtype_of(wire.FRAMES[kind])
    fields = fixed_fields(wire.FRAMES[kind])
    assert dtype.itemsize == sum(size for _, size in fields)
    assert [(name, dtype[name].str) for name, _ in fields] == [
        (name, f">u{size}" if size > 1 else "|u1") for name, size in fields
    ]
