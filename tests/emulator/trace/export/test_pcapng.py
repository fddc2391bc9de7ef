"""Blocks of a packet capture, byte by byte."""

import io
import struct

import pytest

from ringhil.emulator.trace.export.pcapng import PcapngWriter

_PACKET = 6


@pytest.mark.parametrize("nanoseconds", [0, 0xFFFFFFFF, 1 << 32, (5 << 32) + 7, (1 << 63) - 1])
def test_a_time_has_64_bits_the_high_half_first(nanoseconds: int) -> None:
    file = io.BytesIO()
    writer = PcapngWriter(file, application="x", comment="y", link_type=147)
    interface = writer.interface("a.0", "a GPU")
    start = file.tell()
    writer.packet(interface, nanoseconds, b"frame")
    kind, _, where, high, low, length, _ = struct.unpack_from("<IIIIIII", file.getvalue(), start)
    assert (kind, where, high << 32 | low, length) == (_PACKET, interface, nanoseconds, 5)
