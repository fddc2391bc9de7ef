"""Writes `docs/reference/protocol.md`: the reference page of frames and registers."""

from ringhil.protocol import registers, wire
from ringhil.protocol.fields import fixed_fields, variable_field

_INTRO = """# Protocol reference

<!-- Generated from protocol/: do not edit; `make generate` rewrites it. -->

A frame is a sequence of 64-bit flits, most significant byte first. A link carries one flit a cycle each
way, on one of two virtual channels: **control** (statistics, keepalive, election, report: short, always
first) and **data** (work, result, acknowledgement: flow-controlled by credits, one credit a frame).

Every frame begins with the same flit, so that a switch can route, take off, purge or drop it at once, and
ends with two CRCs, both CRC-32 with polynomial 0xF4ACFB13 (CRC-32/AUTOSAR, reflected):

- `link_crc` covers the whole frame except itself; each hop checks it and writes it again.
- `e2e_crc` covers what no hop may change. `ttl` and the mutable flags count as zero in it, and so do
  `count`, `records_count` and the overflow bit of a statistics frame, whose records are left out. Only the
  sender writes it, and only the receiver checks it.

A frame that arrives bad leaves with the error mark set and a link CRC that is wrong on purpose. The GPU at
which it arrived bad counts it as received-bad; GPUs further on count it as marked.
"""


def _frame_table(name: str) -> list[str]:
    definition = wire.FRAMES[name]
    out = [f"## {name} (kind 0x{wire.Kind.parse(name).code:02X})", "", "| byte | field | bits |", "|---:|---|---:|"]
    offset = 0
    variable = variable_field(definition)
    for field, size in fixed_fields(definition):
        if variable is None and field == "e2e_crc":
            break
        out.append(f"| {offset} | {field} | {size * 8} |")
        offset += size
    if variable:
        out.append(f"| {offset} | {variable} | variable |")
    out += ["| last 8 | e2e_crc | 32 |", "| last 4 | link_crc | 32 |", ""]
    return out


def _bits(title: str, table: dict[str, int], mask: bool) -> list[str]:
    out = [f"## {title}", "", "| name | value |", "|---|---:|"]
    out += [f"| {name} | {f'0x{value:04X}' if mask else value} |" for name, value in table.items()]
    return [*out, ""]


def render() -> str:
    """The page's text."""
    out = [_INTRO]
    for name in wire.FRAMES:
        out += _frame_table(name)
    out += ["## statistics record", "", "| byte | field | bits |", "|---:|---|---:|"]
    offset = 0
    for field, size in fixed_fields(wire.Record):
        out.append(f"| {offset} | {field} | {size * 8} |")
        offset += size
    out.append("")
    out += _bits("Ports of a GPU's mailbox", wire.Port.codes(), False)
    out += _bits("Links of a node, as its pins are called", wire.Link.codes(), False)
    out += _bits("Flags of a frame (0xFF00 may be set by a hop)", wire.Flag.codes(), True)
    out += _bits("Flags of a record", wire.RecordFlag.codes(), True)
    out += _bits("State of a GPU in its record", wire.GpuState.codes(), False)
    out += _bits("GPU types", wire.GpuType.codes(), False)
    out += _bits(
        "Status of an acknowledgement (a refusal; a result acknowledges success)", wire.AckStatus.codes(), False
    )
    out += ["## Register map of a node", "", "32-bit registers, word addresses.", ""]
    out += ["| address | name | access | reset | unit | meaning |", "|---:|---|---|---:|---|---|"]
    for r in registers.REGISTERS:
        doc = {"ControlBit": "see below", "StatusBit": "see below"}.get(r.doc, r.doc)
        out.append(f"| 0x{r.address:02X} | {r.name} | {r.access} | {r.reset} | {r.unit} | {doc} |")
    out.append("")
    out += _bits("Bits of control", registers.ControlBit.places(), False)
    out += _bits("Bits of status", registers.StatusBit.places(), False)
    out += _bits("Power states", registers.PowerState.codes(), False)
    out += _bits("Bits of turn (0 to 7: the context)", registers.TurnBit.places(), False)
    out += _bits("Bits of a node's fault port", registers.FaultBit.places(), False)
    out += _bits("Bits of the link channels' fault port", registers.LinkFaultBit.places(), False)
    return "\n".join(out).rstrip() + "\n"
