"""Packet captures as Wireshark and tshark read them: pcapng (draft-ietf-opsawg-pcapng), times in nanoseconds."""

import struct
from typing import BinaryIO

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_BYTE_ORDER = 0x1A2B3C4D
_COMMENT, _APPLICATION, _NAME, _DESCRIPTION, _RESOLUTION = 1, 4, 2, 3, 9
_NANOSECONDS = b"\x09"
_LONGEST = 60_000  # bytes of an option


class PcapngWriter:
    """To a file that is written from its beginning. Raises OSError."""

    def __init__(self, file: BinaryIO, *, application: str, comment: str, link_type: int) -> None:
        self._file, self._link_type, self._interfaces = file, link_type, 0
        options = _option(_COMMENT, comment.encode()) + _option(_APPLICATION, application.encode())
        self._block(_SECTION, struct.pack("<IHHq", _BYTE_ORDER, 1, 0, -1) + _end(options))

    def interface(self, name: str, description: str) -> int:
        """Its number, for the packets that were seen there."""
        options = _option(_NAME, name.encode()) + _option(_DESCRIPTION, description.encode())
        options += _option(_RESOLUTION, _NANOSECONDS)
        self._block(_INTERFACE, struct.pack("<HHI", self._link_type, 0, 0) + _end(options))
        self._interfaces += 1
        return self._interfaces - 1

    def packet(self, interface: int, nanoseconds: int, data: bytes, comment: str = "") -> None:
        """A packet of an interface; `comment`: of people who look at it."""
        head = struct.pack("<IIIII", interface, nanoseconds >> 32, nanoseconds & 0xFFFFFFFF, len(data), len(data))
        options = _end(_option(_COMMENT, comment.encode())) if comment else b""
        self._block(_PACKET, head + _padded(data) + options)

    def _block(self, kind: int, body: bytes) -> None:
        length = struct.pack("<I", len(body) + 12)
        self._file.write(struct.pack("<I", kind) + length + body + length)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value[:_LONGEST])) + _padded(value[:_LONGEST])


def _end(options: bytes) -> bytes:
    return options + struct.pack("<HH", 0, 0)
