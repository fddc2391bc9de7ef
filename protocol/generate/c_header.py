"""Writes `ringhil_wire.h`: what the C++ engine knows of the wire (link layer only)."""

from ringhil.protocol import wire
from ringhil.protocol.generate import crc_equations

_HEAD = """// The link layer's constants for C and C++.
// Generated from protocol/: do not edit; `make generate` rewrites it.
#ifndef RINGHIL_WIRE_H
#define RINGHIL_WIRE_H

#include <stdint.h>
"""

_CRC = """
// Running CRC-32/AUTOSAR over `count` bytes of a flit, most significant byte first.
static inline uint32_t ringhil_crc(uint32_t state, uint64_t flit, int count) {
    for (int i = 0; i < count; ++i) {
        const uint8_t byte = (uint8_t)(flit >> (56 - 8 * i));
        state = (state >> 8) ^ RINGHIL_CRC_TABLE[(state ^ byte) & 0xff];
    }
    return state;
}

#endif
"""


def render() -> str:
    """The header's text."""
    out = [_HEAD]
    out += [f"#define RINGHIL_KIND_{name.upper()} 0x{value:02X}u" for name, value in wire.Kind.codes().items()]
    out += [f"#define RINGHIL_FLAG_{name.upper()} 0x{value:04X}u" for name, value in wire.Flag.codes().items()]
    out += [f"#define RINGHIL_LINK_{name.upper()} 0x{value:02X}u" for name, value in wire.LinkBit.codes().items()]
    out.append(f"#define RINGHIL_DATA_FRAME_FLITS {wire.DATA_FRAME_FLITS}u")
    out.append(f"#define RINGHIL_DATA_SLOTS {wire.DATA_SLOTS}")
    out.append(f"#define RINGHIL_MAX_FRAME_FLITS {wire.MAX_FRAME_FLITS}u")
    out.append("#define RINGHIL_CRC_INITIAL 0xFFFFFFFFu")
    table = [crc_equations.step(0, bytes([i])) for i in range(256)]
    out.append("static const uint32_t RINGHIL_CRC_TABLE[256] = {")
    for i in range(0, 256, 6):
        out.append("    " + " ".join(f"0x{value:08X}u," for value in table[i : i + 6]))
    out.append("};")
    return "\n".join(out) + _CRC
