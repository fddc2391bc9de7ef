"""The two check sums of a frame, both CRC-32 with polynomial 0xF4ACFB13 (CRC-32/AUTOSAR).

Up to 274 covered bits this polynomial has Hamming distance 8 (any 7 wrong bits are seen), where
Ethernet's and Castagnoli's have not. The end-to-end sum of a statistics frame covers 256 bits; both sums
together keep the distance over that whole frame. Reflected, initial value and final exclusive-or are all
ones.

| sum      | covers                                                           | rewritten        |
|----------|------------------------------------------------------------------|------------------|
| link_crc | the whole frame, its own 4 bytes left out                        | at every hop     |
| e2e_crc  | all that no hop may change: mutable fields zeroed, no records     | never            |
"""

from collections.abc import Callable

import fastcrc

from ringhil.protocol.wire import FLIT_BYTES, MUTABLE_FLAGS, OVERFLOW, Kind

POLYNOMIAL = 0xF4ACFB13
INITIAL = 0xFFFFFFFF

_STATISTICS = Kind.STATISTICS.code
_FLIT0_MASK = int.from_bytes(
    bytes([0xFF, 0xFF]) + (0xFFFF & ~MUTABLE_FLAGS).to_bytes(2, "big") + b"\0\0\xff\xff", "big"
)
_FLIT2_MASK = int.from_bytes(b"\0\0\0\0\xff\xff" + (0xFFFF & ~OVERFLOW).to_bytes(2, "big"), "big")


crc32: Callable[[bytes], int] = fastcrc.crc32.autosar  # 32 bits


def _masked(flit: bytes, mask: int) -> bytes:
    return (int.from_bytes(flit, "big") & mask).to_bytes(len(flit), "big")


def link_crc(frame: bytes) -> int:
    """Link CRC of a whole frame in bytes (its last 4 bytes, where the CRC itself lies, are left out)."""
    return crc32(frame[:-4])


def e2e_crc(frame: bytes) -> int:
    """End-to-end CRC of a whole frame in bytes: what no hop may change (R4's second check)."""
    first = (int.from_bytes(frame[:FLIT_BYTES], "big") & _FLIT0_MASK).to_bytes(FLIT_BYTES, "big")
    if frame[0] != _STATISTICS:
        return crc32(first + frame[FLIT_BYTES:-8])
    return crc32(first + frame[8:16] + _masked(frame[16:24], _FLIT2_MASK) + frame[24:32])


def record_tag(epoch: int, sequence: int, record: bytes) -> int:
    """Tag of a 16-byte statistics record: CRC over epoch, sequence and the record's first 12 bytes."""
    return crc32(epoch.to_bytes(4, "big") + sequence.to_bytes(4, "big") + record[:12])
