"""What the results of all work units must come to, from the work alone (R5)."""

import struct

from ringhil.protocol import crc

_WORD, _FLIT = 4, 8  # bytes
_DIGEST = 64  # bits
_SPREAD, _WORD_BITS = 0x9E3779B1, 32


def digest(data: bytes) -> int:
    """The digest of a unit: CRC-32 of its flits, the last one filled with zeros, and the sum of their 32-bit words."""
    flits = data + b"\0" * (-len(data) % _FLIT)
    words: tuple[int, ...] = struct.unpack(f">{len(flits) // _WORD}I", flits)
    return crc.crc32(flits) << 32 | sum(words) % (1 << 32)


def turned(one: int, unit: int) -> int:
    """The digest of a unit turned left by as many bits as its number says: so it goes into that of all, by
    exclusive-or."""
    wide = one << unit % _DIGEST
    return (wide | wide >> _DIGEST) % (1 << _DIGEST)


def crosses(unit: int, across: int) -> bool:
    """Whether a unit is one of the `across` percent that enter by another card (R8): its number, times a constant that
    spreads neighbours, taken as a fraction of 2^32, is below."""
    return unit * _SPREAD % (1 << _WORD_BITS) * 100 < across << _WORD_BITS
