"""Bytes to frames and back, fast: struct formats generated from the construct definitions of `wire.py`.

The only error that leaves this module for bad bytes or values is `FrameError`. What `decode` accepts,
`encode` builds again.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from ringhil.protocol import crc, wire
from ringhil.protocol.fields import fixed_fields
from ringhil.protocol.frames import BY_KIND, Frame, Record, Report, Statistics, Work

_TRAILER = struct.Struct(">II")
_LONGEST = wire.MAX_FRAME_FLITS * wire.FLIT_BYTES


class FrameError(ValueError):
    """These bytes are no frame, or these values fit in none; the message says why."""


@dataclass(frozen=True)
class _Extent:
    """Length of a variable field: header field `field` counts `what`, at most `limit`; each `per` of them,
    the last ones perhaps fewer, take `size` bytes."""

    field: str
    what: str
    limit: int
    per: int
    size: int

    def length(self, count: int) -> int:
        return -(-count // self.per) * self.size


_EXTENTS: dict[type[Any], _Extent] = {
    Statistics: _Extent("records_count", "records", wire.MAX_RING, 1, Record.HEAD.size),
    Work: _Extent("segment_bytes", "payload bytes", wire.SEGMENT_BYTES, wire.FLIT_BYTES, wire.FLIT_BYTES),
    Report: _Extent("size", "GPUs", wire.MAX_RING, 64, 24),
}


def _title(cls: type[Any]) -> str:
    """The name of a kind as in `wire.FRAMES`."""
    return str(cls.__name__).lower()


def _head_names(cls: type[Any]) -> tuple[str, ...]:
    """The frame's own fields that lie in its header: `kind` and `records_count` follow from the rest."""
    return tuple(f.name for f in fields(cls) if f.name != cls.VARIABLE)


_NAMES = {cls: _head_names(cls) for cls in (*BY_KIND.values(), Record)}
_VALUES: dict[type[Any], Callable[[Any], tuple[int, ...]]] = {cls: attrgetter(*names) for cls, names in _NAMES.items()}
# Where among the header's values, `kind` left out, the length of the variable field is announced.
_ANNOUNCED_AT: dict[type[Any], int] = {
    cls: [name for name, _ in fixed_fields(wire.FRAMES[_title(cls)])].index(extent.field) - 1
    for cls, extent in _EXTENTS.items()
}
_RECORDS_COUNT_AT = _ANNOUNCED_AT[Statistics]


def _check_extent(cls: type[Any], announced: int, found: int) -> None:
    """Refuse a variable field of `found` bytes when the header's `announced` asks for another length."""
    extent = _EXTENTS[cls]
    if announced > extent.limit:
        raise FrameError(f"{_title(cls)}: {announced} {extent.what}, at most {extent.limit} are allowed")
    if found != extent.length(announced):
        raise FrameError(
            f"{_title(cls)}: {announced} {extent.what} take {extent.length(announced)} bytes, found {found}"
        )


def _misfit(title: str, names: Sequence[str], form: str, values: Sequence[object]) -> FrameError:
    """The error that names the first of `values` that doesn't fit its struct code in `form`."""
    for name, code, value in zip(names, form, values, strict=True):
        try:
            struct.pack(f">{code}", value)
        except struct.error:
            limit = 256 ** struct.calcsize(f">{code}") - 1
            return FrameError(f"{title}: {name} = {value!r}, allowed are whole numbers from 0 to {limit}")
    raise AssertionError("every value fits")


def _pack_record(index: int, record: Record) -> bytes:
    values = _VALUES[Record](record)
    try:
        return Record.HEAD.pack(*values)
    except struct.error:
        form = Record.HEAD.format[1:]
        raise _misfit(f"statistics: record {index}", _NAMES[Record], form, values) from None


def _pack_sets(sets: Sequence[int]) -> bytes:
    try:
        return struct.pack(f">{len(sets)}Q", *sets)
    except struct.error:
        names = [f"sets[{i}]" for i in range(len(sets))]
        raise _misfit("report", names, "Q" * len(sets), sets) from None


def _pack_head(frame: Frame) -> bytes:
    cls = type(frame)
    values = _VALUES[cls](frame)
    if isinstance(frame, Statistics):
        values = (*values[:_RECORDS_COUNT_AT], len(frame.records), *values[_RECORDS_COUNT_AT:])
    try:
        return frame.HEAD.pack(frame.KIND, *values)
    except struct.error:
        names = list(_NAMES[cls])
        if isinstance(frame, Statistics):
            names.insert(_RECORDS_COUNT_AT, "records_count")
        raise _misfit(_title(cls), names, frame.HEAD.format[2:], values) from None


def encode(frame: Frame) -> bytes:
    """Wire bytes of `frame`, both CRCs computed.

    Raises FrameError when a value doesn't fit its field, or the variable field isn't as long as the header
    says: a work payload is `segment_bytes` padded to whole flits, a report has three words for each 64 GPUs.
    """
    head = _pack_head(frame)
    if type(frame) not in _EXTENTS:
        return seal(head)
    if isinstance(frame, Statistics):
        _check_extent(Statistics, len(frame.records), len(frame.records) * Record.HEAD.size)
        return seal(head + b"".join(_pack_record(i, r) for i, r in enumerate(frame.records)))
    if isinstance(frame, Work):
        _check_extent(Work, frame.segment_bytes, len(frame.payload))
        return seal(head + frame.payload)
    if isinstance(frame, Report):
        _check_extent(Report, frame.size, len(frame.sets) * 8)
        return seal(head + _pack_sets(frame.sets))
    return seal(head)


def seal(body: bytes) -> bytes:
    """`body` (header and payload, whole flits) with the trailer of both CRCs."""
    e2e = crc.e2e_crc(body + bytes(_TRAILER.size))
    signed = body + e2e.to_bytes(4, "big")
    return signed + crc.crc32(signed).to_bytes(4, "big")


def decode(data: bytes, *, check: bool = True, link: bool = True) -> Frame:
    """The frame in `data` (its bytes exactly).

    `link=False` leaves the link CRC unchecked: a receiver's hardware has checked it and then counted down
    the TTL. `check=False` checks neither, for diagnosis of damaged frames.
    Raises FrameError on anything that is no frame: length, kind, version, counts or CRC.
    """
    length = len(data)
    if length % wire.FLIT_BYTES or length > _LONGEST:
        raise FrameError(f"{length} bytes: not whole flits, or longer than the longest frame")
    cls = BY_KIND.get(data[0]) if data else None
    if cls is None:
        found = f"0x{data[0]:02X}" if data else "nothing"
        raise FrameError(f"kind {found}: allowed are " + ", ".join(f"0x{k:02X}" for k in BY_KIND))
    head = cls.HEAD
    end = length - _TRAILER.size
    if end < head.size:
        raise FrameError(f"{length} bytes: too short for a {_title(cls)} frame")
    if check:
        e2e, link_crc = _TRAILER.unpack_from(data, end)
        if link and link_crc != crc.link_crc(data):
            raise FrameError("link CRC is wrong")
        if e2e != crc.e2e_crc(data):
            raise FrameError("end-to-end CRC is wrong")
    make: Callable[..., Frame] = cls
    if cls in _EXTENTS:
        return _build(cls, make, list(head.unpack_from(data)[1:]), data[head.size : end])
    if end > head.size:
        raise FrameError(f"{_title(cls)}: {end - head.size} bytes too many")
    return make(*head.unpack_from(data)[1:])


def _build(cls: type[Frame], make: Callable[..., Frame], values: list[int], variable: bytes) -> Frame:
    _check_extent(cls, values[_ANNOUNCED_AT[cls]], len(variable))
    if cls is Statistics:
        del values[_RECORDS_COUNT_AT]
        return make(*values, tuple(Record(*v) for v in Record.HEAD.iter_unpack(variable)))
    if cls is Report:
        return make(*values, struct.unpack(f">{len(variable) // 8}Q", variable))
    return make(*values, variable)
