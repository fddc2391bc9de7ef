"""What SystemVerilog and C++ need to know of the line to a node outside (`line/node_loop.py`)."""

from collections.abc import Iterator

from ringhil.protocol.line import node_loop
from ringhil.protocol.registers import FaultBit

_HEADER = """// The line to a GPU's hardware outside: docs/howto/hil.md.
// Generated from protocol/line/node_loop.py: do not edit; `make generate` rewrites it.
#ifndef RINGHIL_NODE_LOOP_H
#define RINGHIL_NODE_LOOP_H

#include <cstddef>
#include <cstdint>

namespace ringhil::node_loop {
"""


def _places() -> Iterator[tuple[str, int]]:
    for title, row in node_loop.ROWS.items():
        yield f"{title}_groups", node_loop.groups(row)
        for name, place in node_loop.places(row).items():
            yield f"{title}_{name}", place


def systemverilog() -> list[str]:
    """Lines for the package of constants."""
    frame = node_loop.DAMAGED_FRAME
    bits, first_lowest = 8 * len(frame), frame[::-1].hex().upper()
    out = ["  // The line to a node outside: messages, the rows of bytes, and the running CRC after one byte."]
    out += [f"  localparam logic [7:0] HIL_{kind.name} = 8'h{kind.code:X};" for kind in node_loop.NodeMessage]
    out += [f"  localparam logic [7:0] HIL_WHY_{why.name} = 8'h{why.code:X};" for why in node_loop.Why]
    out += [
        f"  localparam logic [7:0] HIL_MAJOR = 8'h{node_loop.MAJOR:X};",
        f"  localparam logic [7:0] HIL_MINOR = 8'h{node_loop.MINOR:X};",
        f"  localparam logic [31:0] HIL_LAYOUT = 32'h{node_loop.LAYOUT:X};",
        f"  localparam logic [15:0] HIL_LONGEST_FRAME = 16'h{node_loop.LONGEST_FRAME:X};",
        f"  localparam int HIL_ROOM = {node_loop.LONGEST_REQUEST};",
        f"  localparam int HIL_DAMAGED_BYTES = {len(frame)};",
        f"  localparam logic [{bits - 1}:0] HIL_DAMAGED_FRAME = {bits}'h{first_lowest};",
    ]
    out += [f"  localparam int HIL_{name.upper()} = {place};" for name, place in _places()]
    out += [
        "  function automatic logic [31:0] crc_byte(input logic [31:0] state, input logic [7:0] data);",
        "    crc_byte = state ^ {24'h0, data};",
        "    for (int i = 0; i < 8; i++) crc_byte = (crc_byte >> 1) ^ (crc_byte[0] ? 32'hC8DF352F : 32'h0);",
        "  endfunction",
    ]
    return out


def cpp() -> str:
    """The engine's header."""
    out = [_HEADER]
    out += [f"constexpr uint8_t {kind.name} = 0x{kind.code:02X};" for kind in node_loop.NodeMessage]
    out += [f"constexpr uint8_t WHY_{why.name} = {why.code};" for why in node_loop.Why]
    out += [f"constexpr uint8_t REPLY = 0x{node_loop.REPLY:02X};"]
    out += [f"constexpr uint16_t DEAD = 0x{FaultBit.DEAD:04X};  // of the fault port"]
    out += [f"constexpr size_t {name.upper()} = {place};" for name, place in _places()]
    return "\n".join([*out, "", "}  // namespace ringhil::node_loop", "", "#endif", ""])
