"""Writes `rtl/ringhil_pkg.sv`: constants of the wire, the register map and the CRC for one flit per cycle."""

from ringhil.protocol import registers, wire
from ringhil.protocol.generate import crc_equations, node_loop

_HEAD = """// Constants of the wire format, the register map and the CRC of one flit per cycle.
// Generated from protocol/: do not edit; `make generate` rewrites it.

package ringhil_pkg;

  // A design that uses only some of the constants is not at fault.
  /* verilator lint_off UNUSEDPARAM */
"""

_PLACES = {
    "PORT": tuple(wire.Link.__members__),
    "LANE": ("CW", "CCW"),
    "WAY": ("CW", "CCW", "HOST", "CARD", "GPU"),
}

# What a compute engine keeps of a unit to answer it, from bit 0 on. Bits.
_REPLY = {
    "UNIT": 64,  # epoch 32 | unit 32
    "HOME": 16,  # the GPU that it came from
    "ATTEMPT": 16,
    "CARD": 8,  # of HOME
    "FROM": (len(wire.Link) - 1).bit_length(),  # the port that it came in by
}


def _const(width: int, name: str, value: int) -> str:
    return f"  localparam logic [{width - 1}:0] {name} = {width}'h{value:X};"


def _crc_function(name: str, bits: int) -> str:
    quotient, remainder = (crc_equations.shared(shifts) for shifts in crc_equations.division(bits))
    in_order = [f"data[{low + 7}:{low}]" for low in range(0, bits, 8)]
    divided = _sum("w", "<<", quotient[-1])
    lines = [
        f"  function automatic logic [31:0] {name}(input logic [31:0] state, input logic [{bits - 1}:0] data);",
        f"    logic [{bits - 1}:0] {', '.join(_words('w', quotient))};",
        f"    logic [31:0] {', '.join(_words('q', remainder))};",
        f"    w = {{{', '.join(in_order)}}}",
        f"        ^ {bits}'(state);",
        *(f"    w{i} = {_sum('w', '<<', terms)};" for i, terms in enumerate(quotient[:-1], 1)),
        f"    q = 32'(({divided}) >> 32);" if bits == 64 else f"    q = {divided};",
        *(f"    q{i} = {_sum('q', '>>', terms)};" for i, terms in enumerate(remainder[:-1], 1)),
        f"    {name} = {_sum('q', '>>', remainder[-1])};",
        "  endfunction",
    ]
    return "\n".join(lines)


def _words(word: str, sums: list[crc_equations.Sum]) -> list[str]:
    return [word, *(f"{word}{number}" for number in range(1, len(sums)))]


def _sum(word: str, operator: str, terms: crc_equations.Sum) -> str:
    """Exclusive or of shifted words, six a line."""
    names = [f"{word}{number or ''}" for number, _ in terms]
    shifted = [f"({name} {operator} {by})" if by else name for name, (_, by) in zip(names, terms, strict=True)]
    return "\n        ^ ".join(" ^ ".join(shifted[i : i + 6]) for i in range(0, len(shifted), 6))


def render() -> str:
    """The package's text."""
    out = [_HEAD]
    out += [_const(8, f"KIND_{name.upper()}", value) for name, value in wire.Kind.codes().items()]
    out.append("")
    out += [
        f"  localparam int FLAG_{name.upper()} = {place};  // bit of the flags field"
        for name, place in wire.Flag.places().items()
    ]
    out.append("")
    out += [
        f"  localparam int RECORD_{name.upper()} = {place};  // bit of a record's flags"
        for name, place in wire.RecordFlag.places().items()
    ]
    out.append("")
    out += [_const(8, f"STATE_{name.upper()}", value) for name, value in wire.GpuState.codes().items()]
    out += [_const(16, f"ACK_{name.upper()}", value) for name, value in wire.AckStatus.codes().items()]
    out += [_const(16, f"RESULT_{name.upper()}", value) for name, value in wire.ResultStatus.codes().items()]
    out += [_const(8, f"COMPUTE_{name.upper()}", value) for name, value in wire.Compute.codes().items()]
    out += [_const(32, f"QUERY_{name.upper()}", value) for name, value in wire.Query.codes().items()]
    out.append(f"  localparam int MAX_CONTEXTS = {wire.CONTEXTS};  // of a compute engine")
    out.append(f"  localparam int COMMAND_BYTES = {wire.COMMAND_FLITS * wire.FLIT_BYTES};  // before a command's data")
    out.append(_const(8, "NO_CARD", wire.NO_CARD))
    out.append("")
    out.append("  // What a compute engine keeps of a unit to answer it: a field is reply[REPLY_X +: REPLY_X_BITS].")
    for place, (name, bits) in enumerate(_REPLY.items()):
        out.append(f"  localparam int REPLY_{name} = {sum(list(_REPLY.values())[:place])};")
        out.append(f"  localparam int REPLY_{name}_BITS = {bits};")
    out.append(f"  localparam int REPLY_BITS = {sum(_REPLY.values())};")
    out.append("")
    out.append(f"  localparam int CROSSINGS = {wire.CROSSINGS_SHIFT};  // lowest of the four flags that count")
    out.append(_const(4, "MAX_CROSSINGS", wire.MAX_CROSSINGS))
    out.append("  // Fields of a flit that no hop may change: the end-to-end CRC sees the others as zero.")
    out.append(_const(64, "E2E_FLIT0", ~((wire.MUTABLE_FLAGS << 32) | (0xFFFF << 16)) & 0xFFFFFFFFFFFFFFFF))
    out.append("")
    out.append(f"  localparam int SEGMENT_FLITS = {wire.SEGMENT_FLITS};")
    out.append(f"  localparam int DATA_FRAME_FLITS = {wire.DATA_FRAME_FLITS};")
    out.append(f"  localparam int DATA_SLOTS = {wire.DATA_SLOTS};")
    out.append(_const(32, "CRC_INITIAL", 0xFFFFFFFF))
    out.append("")
    for register in registers.REGISTERS:
        out.append(_const(8, f"REG_{register.name.upper()}", register.address))
    out.append("")
    for register in registers.REGISTERS:
        if register.access == "rw":
            out.append(_const(32, f"RESET_{register.name.upper()}", register.reset))
    out.append("")
    out += [_const(3, f"POWER_{name.upper()}", value) for name, value in registers.PowerState.codes().items()]
    for prefix, enum in (
        ("CONTROL", registers.ControlBit),
        ("FAULT", registers.FaultBit),
        ("LINK_FAULT", registers.LinkFaultBit),
        ("LINK", wire.LinkBit),
        ("STATUS", registers.StatusBit),
        ("TURN", registers.TurnBit),
    ):
        out += [f"  localparam int {prefix}_{name.upper()} = {place};" for name, place in enum.places().items()]
    out.append(f"  localparam int FAULT_PORT_WIDTH = {registers.FAULT_PORT_WIDTH};")
    out.append("")
    out.append("  // Places in a node's vectors: ports, lanes, and the ways on which the data channel brings a frame.")
    for prefix, names in _PLACES.items():
        out += [f"  localparam int {prefix}_{name} = {place};" for place, name in enumerate(names)]
    out.append("")
    out += [
        "  // Running CRC-32/AUTOSAR (polynomial 0xF4ACFB13, reflected) after one whole flit: w holds the bits in the",
        "  // order sent, first in bit 0; q is the top of w divided by the polynomial; then comes the remainder.",
        "  // Shifts that several terms of a sum share are worked out once (w1, q1, ...).",
    ]
    out.append(_crc_function("crc_flit", 64))
    out.append("")
    out.append("  // The same after half a flit.")
    out.append(_crc_function("crc_half", 32))
    out.append("")
    out += node_loop.systemverilog()
    out.append("")
    out += ["  /* verilator lint_on UNUSEDPARAM */", "endpackage"]
    return "\n".join(out) + "\n"
