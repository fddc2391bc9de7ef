"""Rows that the C++ engine fills in and Python reads: one definition for both.

`python -m ringhil.emulator.engine.layout` (as part of `make generate`) writes csrc/layout.h from it.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ringhil.protocol.registers import ADDRESS, LIVE

HEADER = Path(__file__).resolve().parent / "csrc" / "layout.h"

# Kinds of event.
FROM_RING = 0  # a control frame reached the mailbox of a GPU's firmware; port: `wire.Port.code`
TO_CPU = 1  # a frame reached the CPU from a GPU; port is the virtual channel, 0 control or 1 data

REGISTER = 0x100  # of places of a `Difference`: the first register's

_TYPES = {
    8: ("u1", "B", "uint8_t"),
    16: ("u2", "H", "uint16_t"),
    32: ("u4", "I", "uint32_t"),
    64: ("u8", "Q", "uint64_t"),
}


@dataclass(frozen=True)
class Field:
    """An unsigned number of `bits` bits, or `count` of them one behind the other."""

    name: str
    bits: int
    doc: str
    count: int = 1


@dataclass(frozen=True)
class RowLayout:
    """A C struct without gaps: each field lies at a multiple of its own size, the whole has a multiple of 8 bytes."""

    name: str
    doc: str
    fields: tuple[Field, ...]

    @property
    def dtype(self) -> "np.dtype[np.void]":
        """The same for numpy."""
        columns = [
            (f.name, _TYPES[f.bits][0], (f.count,)) if f.count > 1 else (f.name, _TYPES[f.bits][0]) for f in self.fields
        ]
        return np.dtype(columns)

    @property
    def packed(self) -> struct.Struct:
        """The same for `struct`."""
        return struct.Struct("=" + "".join(_TYPES[f.bits][1] * f.count for f in self.fields))

    def render(self) -> str:
        """The struct's text."""
        members = []
        for f in self.fields:
            kind = _TYPES[f.bits][2]
            members.append(f"    {f'std::array<{kind}, {f.count}>' if f.count > 1 else kind} {f.name};  // {f.doc}")
        checks = [f"static_assert(sizeof({self.name}) == {self.packed.size});"]
        return "\n".join([f"// {self.doc}", f"struct {self.name} {{", *members, "};", *checks, ""])


EVENT = RowLayout(
    "Event",
    "A frame has arrived.",
    (
        Field("cycle", 64, "in which the last flit was there"),
        Field("cell", 32, "the GPU"),
        Field("kind", 8, "FROM_RING or TO_CPU"),
        Field("port", 8, "or virtual channel"),
        Field("bad", 8, "it arrived damaged"),
        Field("reserved", 8, "0"),
        Field("offset", 64, "bytes, in the frame buffer"),
        Field("length", 64, "bytes"),
    ),
)
CHANGE = RowLayout(
    "Change",
    "A transmitter has put something else on its wires.",
    (
        Field("cycle", 64, "from which on it is so"),
        Field("data", 64, "a flit"),
        Field("cell", 32, "the GPU"),
        Field("port", 8, "0, 1: ring ports 1 and 2; 2: to the CPU; 3: to another card"),
        Field("ctl", 8, "bits of `wire.LinkBit`"),
        Field("reserved", 16, "0"),
    ),
)
OBSERVATION = RowLayout(
    "Observation",
    "A register that is watched has changed.",
    (
        Field("cycle", 64, "from which on it reads so"),
        Field("cell", 32, "the GPU"),
        Field("mask", 32, "bits that are watched"),
        Field("value", 32, "what they read"),
        Field("address", 32, "of the register"),
    ),
)
MESSAGE = RowLayout(
    "Message",
    "A statistics message that a ring port has sent.",
    (
        Field("since", 64, "cycle from which on its first flit was on the wire"),
        Field("flits", 64, "the first ones", 4),
    ),
)
ENDED = RowLayout(
    "Ended",
    "How a run or trace has ended, and where what it brought lies: Python reads it without a call.",
    (
        Field("now", 64, "the cycle that is next"),
        Field("events", 64, "number of them"),
        Field("events_at", 64, "address"),
        Field("bytes", 64, "number of them, in the frame buffer"),
        Field("bytes_at", 64, "address"),
        Field("changes", 64, "number of them"),
        Field("changes_at", 64, "address"),
        Field("observations", 64, "number of them"),
        Field("observations_at", 64, "address"),
        Field("evaluations", 64, "of nodes, since power-up"),
        Field("busy_cycles", 64, "in which a node was evaluated, since power-up"),
        Field("lost", 64, "nodes outside that were lost, since power-up"),
        Field("differences", 64, "of nodes outside and their twins, that nobody has asked for yet"),
    ),
)
OUTSIDE = RowLayout(
    "OutsideNode",
    "A node outside: how it is, since power-up.",
    (
        Field("cell", 32, "the GPU"),
        Field("lost", 32, "1: nothing more comes of it"),
        Field("lost_at", 64, "cycle of which nothing came"),
        Field("why_at", 64, "address of a text: what is the matter with it"),
        Field("steps", 64, "cycles in which it was clocked"),
        Field("differing", 64, "cycles in which its twin here did otherwise, or a register of it read otherwise"),
        Field("first_differing", 64, "the first of them"),
        Field("sent", 64, "bytes to it"),
        Field("received", 64, "bytes from it"),
    ),
)
DIFFERENCE = RowLayout(
    "Difference",
    "A node outside did otherwise than its twin.",
    (
        Field("cycle", 64, "in which it was clocked, or its register was read"),
        Field("value", 64, "what it put out there, or what its register read"),
        Field("cell", 32, "the GPU"),
        Field("place", 32, "8 bytes of its outputs, counted from 0 (`node_loop.OUTPUTS`); or REGISTER + an address"),
    ),
)

_HEAD = """// Rows that Python reads as they lie in memory.
// Generated from emulator/engine/layout.py: do not edit; `make generate` rewrites it.
#ifndef RINGHIL_LAYOUT_H
#define RINGHIL_LAYOUT_H

#include <array>
#include <cstdint>

namespace ringhil {

"""


def render() -> str:
    """Text of the header."""
    kinds = {n: globals()[n] for n in ("FROM_RING", "TO_CPU")}
    constants = "".join(f"constexpr uint8_t {name} = {value};\n" for name, value in kinds.items())
    constants += f"constexpr uint32_t REGISTER = 0x{REGISTER:X};\n"
    live = [ADDRESS[name] for name in LIVE]
    assert live == list(range(live[0], live[0] + len(live)))
    constants += f"constexpr uint8_t FIRST_LIVE = 0x{live[0]:X}, LAST_LIVE = 0x{live[-1]:X};  // registers\n"
    rows = "\n".join(row.render() for row in (EVENT, CHANGE, OBSERVATION, MESSAGE, ENDED, OUTSIDE, DIFFERENCE))
    return f"{_HEAD}{constants}\n{rows}\n}}  // namespace ringhil\n\n#endif\n"


if __name__ == "__main__":
    HEADER.write_text(render(), encoding="utf-8")
    print(HEADER.name)
