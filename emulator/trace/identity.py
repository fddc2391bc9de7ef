"""Which message a frame is, wherever on its way it is seen."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ringhil.protocol.frames import BY_KIND, Statistics
from ringhil.protocol.wire import Flag

# What changes from hop to hop, and so doesn't tell a message from others; of the flags all but the direction.
_CHANGES = {"ttl", "flags", "count", "records", "record_limit"}
_NAMES = {
    number: [each.name for each in fields(kind) if each.name != kind.VARIABLE] for number, kind in BY_KIND.items()
}
_NAMES[Statistics.KIND].insert(_NAMES[Statistics.KIND].index("expected"), "records")  # their number


def same_message(one: bytes, other: bytes) -> bool:
    """Whether two frames are one message, at two places of its way."""
    first, second = identity(one), identity(other)
    return first is not None and first == second


def identity(frame: bytes) -> tuple[object, ...] | None:
    """What stays the same on the way; None: it is no frame."""
    found = header(frame)
    if found is None:
        return None
    kept = (value for name, value in found.items() if name not in _CHANGES)
    return frame[0], found["flags"] & Flag.CCW, *kept


def header(frame: bytes) -> Mapping[str, Any] | None:
    """The fixed fields of a frame by name, whether its CRC is right or not; None: it is no frame."""
    kind = BY_KIND.get(frame[0]) if frame else None
    if kind is None or len(frame) < kind.HEAD.size:
        return None
    return dict(zip(_NAMES[kind.KIND], kind.HEAD.unpack_from(frame)[1:], strict=True))
