"""A unit of work as frames on the wire."""

import struct
from dataclasses import dataclass

from ringhil.protocol import crc, wire
from ringhil.protocol.frames import Work

_LAST, _CCW = wire.Flag.LAST, wire.Flag.CCW
_HEAD = Work.HEAD
_TTL = struct.Struct(">H")
_TTL_AT = 4
_WORDS = struct.Struct(">II")


@dataclass(frozen=True, slots=True)
class Route:
    """Where a unit goes: from the CPU to the `entry` GPU of card `via`, in its `epoch`, on to GPU `gpu` of `card`,
    clockwise or not (within one card)."""

    card: int
    via: int
    entry: int
    gpu: int
    ccw: bool
    ttl: int
    epoch: int


def segments(
    unit: int, attempt: int, data: bytes, route: Route, compute: wire.Compute = wire.Compute.DIGEST, context: int = 0
) -> list[bytes]:
    """Work frames that carry `data`, in order; a command's, to a context. Their link CRC is left to the link (0).

    The end-to-end CRC is over the header with TTL zero, so the TTL is written last.
    """
    frames = []
    length = len(data)
    for number, start in enumerate(range(0, length, wire.SEGMENT_BYTES)):
        part = data[start : start + wire.SEGMENT_BYTES]
        last = start + wire.SEGMENT_BYTES >= length
        flags = (_LAST if last else 0) | (_CCW if route.ccw else 0)
        head = _HEAD.pack(
            Work.KIND,
            route.card,
            flags,
            0,
            route.gpu,
            route.epoch,
            unit,
            route.entry,
            attempt,
            number,
            len(part),
            length,
            compute.code,
            route.via,
            context,
        )
        body = head + part + bytes(-len(part) % 8)
        frame = bytearray(body + _WORDS.pack(crc.crc32(body), 0))
        _TTL.pack_into(frame, _TTL_AT, route.ttl)
        frames.append(bytes(frame))
    return frames


def flits(length: int) -> int:
    """Flits on the wire of a unit of `length` bytes, headers and trailers included."""
    full, rest = divmod(length, wire.SEGMENT_BYTES)
    total = full * wire.DATA_FRAME_FLITS
    return total + (wire.WORK_HEADER_FLITS + -(-rest // 8) + 1 if rest else 0)
