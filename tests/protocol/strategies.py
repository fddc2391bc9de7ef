"""Random valid frames of every kind, and what they must look like on the wire according to construct.

A frame is a dict of plain integers here, named as in `wire.py`, without `kind`, `records_count` and CRCs.
The CRCs are this module's own, bit by bit, so that construct's frames owe nothing to the code under test.
"""

import random
from collections.abc import Callable
from typing import Any

from construct import Container
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ringhil.protocol import wire
from ringhil.protocol.fields import fixed_fields, variable_field
from ringhil.protocol.frames import BY_KIND, Frame, Record

Values = dict[str, Any]

KINDS = list(wire.FRAMES)
# No time limits: on a busy machine they would fail tests that are right.
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

_COMPUTED = ("kind", "records_count", "e2e_crc", "link_crc")


def header_fields(kind: str) -> list[tuple[str, int]]:
    """(name, bytes) of the fields that a frame's maker chooses."""
    return [(name, size) for name, size in fixed_fields(wire.FRAMES[kind]) if name not in _COMPUTED]


def _unsigned(size: int) -> st.SearchStrategy[int]:
    return st.integers(0, 256**size - 1)


def _padded(segment_bytes: int) -> int:
    return -(-segment_bytes // 8) * 8


_records = st.lists(
    st.fixed_dictionaries({name: _unsigned(size) for name, size in fixed_fields(wire.Record)}), max_size=5
)


@st.composite
def valid(draw: st.DrawFn, kind: str) -> Values:
    """A valid frame of `kind`: every field over its whole range, the variable field up to its limit."""
    values: Values = {name: draw(_unsigned(size)) for name, size in header_fields(kind)}
    if kind == "statistics":
        values["records"] = draw(_records)
    elif kind == "work":
        values["segment_bytes"] = draw(st.integers(0, wire.SEGMENT_BYTES))
        size = _padded(values["segment_bytes"])
        values["payload"] = draw(st.binary(min_size=size, max_size=size))
    elif kind == "report":
        values["size"] = draw(st.integers(0, wire.MAX_RING))
        words = 3 * -(-values["size"] // 64)
        values["sets"] = draw(st.lists(_unsigned(8), min_size=words, max_size=words))
    return values


def sample(kind: str, *, count: int = 2) -> Values:
    """One fixed valid frame, with `count` records, payload bytes or GPUs if it is of a kind that has them."""
    rng = random.Random(kind)
    values: Values = {name: rng.randrange(256**size) for name, size in header_fields(kind)}
    if kind == "statistics":
        record = fixed_fields(wire.Record)
        values["records"] = [{n: rng.randrange(256**size) for n, size in record} for _ in range(count)]
    elif kind == "work":
        values.update(segment_bytes=count, payload=rng.randbytes(_padded(count)))
    elif kind == "report":
        values.update(size=count, sets=[rng.randrange(2**64) for _ in range(3 * -(-count // 64))])
    return values


def frame_of(kind: str, values: Values) -> Frame:
    """The typed frame with these values."""
    variable = variable_field(wire.FRAMES[kind])
    make: Callable[..., Frame] = BY_KIND[wire.Kind.parse(kind).code]
    if variable == "records":
        return make(**values | {"records": tuple(Record(**r) for r in values["records"])})
    if variable == "sets":
        return make(**values | {"sets": tuple(values["sets"])})
    return make(**values)


def crc32_autosar(data: bytes) -> int:
    """CRC-32/AUTOSAR by its definition: reflected, a bit at a time."""
    reflected = int(f"{0xF4ACFB13:032b}"[::-1], 2)
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (reflected if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def unsealed(kind: str, values: Values) -> bytes:
    """construct's build without the trailer."""
    return bytes(wire.FRAMES[kind].build(values | {"e2e_crc": 0, "link_crc": 0}))[:-8]


def e2e_reference(kind: str, values: Values) -> int:
    """End-to-end CRC by its definition: `wire.MUTABLE` counts as zero, records are left out."""
    fixed = values | ({"records": []} if kind == "statistics" else {})
    for name, bits in (wire.MUTABLE["*"] | wire.MUTABLE.get(kind, {})).items():
        if name != "records_count":  # construct counts the records, and there are none
            fixed[name] = values[name] & ~bits
    return crc32_autosar(unsealed(kind, fixed))


def built(kind: str, values: Values) -> bytes:
    """construct's build of the whole frame, both CRCs filled in."""
    body = unsealed(kind, values) + e2e_reference(kind, values).to_bytes(4, "big")
    return body + crc32_autosar(body).to_bytes(4, "big")


def plain(value: Any) -> Any:
    """What construct parsed, as integers: enumerations by value, flags as their sum."""
    if isinstance(value, Container):
        if "_flagsenum" in value:
            known = wire.Flag.codes() | wire.RecordFlag.codes()  # no name is in both with different values
            return sum(known[name] for name, on in value.items() if on is True and name != "_flagsenum")
        return {name: plain(v) for name, v in value.items() if name not in (*_COMPUTED, "_io")}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value if isinstance(value, bytes) else int(value)


def known_flags_only(values: Values) -> Values:
    """`values` as construct's parse shows them: it drops the bits of `flags` that have no name."""
    result = values | {"flags": values["flags"] & sum(wire.Flag.codes().values())}
    if "records" in values:
        known = sum(wire.RecordFlag.codes().values())
        result["records"] = [r | {"flags": r["flags"] & known} for r in values["records"]]
    return result


def flipped(data: bytes, bit: int) -> bytes:
    """`data` with one bit turned over; bit 0 is the most significant one of the first byte."""
    changed = bytearray(data)
    changed[bit // 8] ^= 0x80 >> bit % 8
    return bytes(changed)
