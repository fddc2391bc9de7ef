"""Writes `docs/reference/protocol.md`: the reference page of frames and registers."""

from ringhil.protocol import registers, wire
from ringhil.protocol.fields import fixed_fields, variable_field
from ringhil.protocol.generate.words import FRAMES, REGISTERS, field_docs, words_of

_INTRO = """# Protocol reference

<!-- Generated from protocol/: do not edit; `make generate` rewrites it. -->

A frame is a sequence of 64-bit flits, most significant byte first. A link carries one flit a cycle each
way, on one of two virtual channels: **control** (statistics, keepalive, election, report: short, always
first) and **data** (work, result, acknowledgement: flow-controlled by credits, one credit a frame).

Every frame begins with the same flit, so that a switch can route, take off, purge or drop it at once. All numbers are
unsigned, most significant byte first. Times are in cycles.

## Check sums

Every frame ends with two CRCs, both CRC-32 with polynomial 0xF4ACFB13 (CRC-32/AUTOSAR: reflected, initial value and
final exclusive-or all ones):

- `link_crc` covers the whole frame except itself; each hop checks it and writes it again.
- `e2e_crc` covers what no hop may change. `ttl` and the mutable flags count as zero in it, and so do
  `count`, `records_count` and the overflow bit of a statistics frame, whose records are left out. Only the
  sender writes it, and only the receiver checks it.

A frame that arrives bad leaves with the error mark set and a link CRC that is wrong on purpose. The GPU at
which it arrived bad counts it as received-bad; GPUs further on count it as marked.

The `tag` of a record is the same CRC over 20 bytes: epoch and sequence of the message, four bytes each, and the 12
bytes of the record before its tag.
"""
_PAGE = "protocol.md"
_NOTES = {
    "keepalive": [
        "An answer of the CPU has `sequence`, `priority`, `multiplier`, `interval`, `members` and `ttl` of the",
        "keepalive that it answers.",
        "",
    ],
}
_HEAD = ("| byte | field | bits | |", "|---:|---|---:|---|")


def _rows(definition: object, variable: str | None = None) -> list[str]:
    docs, out, offset = field_docs(definition, _PAGE), list[str](), 0
    for field, size in fixed_fields(definition):
        if field != "e2e_crc":
            out.append(f"| {offset} | {field} | {size * 8} | {docs[field]} |")
            offset += size
        elif variable is None:
            break
    return out + ([f"| {offset} | {variable} | variable | {docs[variable]} |"] if variable else [])


def _frame_table(name: str) -> list[str]:
    definition = wire.FRAMES[name]
    docs = field_docs(definition, _PAGE)
    out = [
        f"## {name} (kind 0x{wire.Kind.parse(name).code:02X})",
        "",
        *_HEAD,
        *_rows(definition, variable_field(definition)),
    ]
    out += [f"| last {last} | {field} | 32 | {docs[field]} |" for last, field in ((8, "e2e_crc"), (4, "link_crc"))]
    return [*out, "", *_NOTES.get(name, ())]


def render() -> str:
    """The page's text."""
    out = [_INTRO]
    for name in wire.FRAMES:
        out += _frame_table(name)
    out += ["## statistics record", "", *_HEAD, *_rows(wire.Record), ""]
    out += [
        "## Command to a context",
        "",
        "The payload of `work` begins with it.",
        "",
        *_HEAD,
        *_rows(wire.Command),
        "",
    ]
    out += words_of(FRAMES)
    out += ["## Register map of a node", "", "32-bit registers, word addresses.", ""]
    out += ["| address | name | access | reset | unit | meaning |", "|---:|---|---|---:|---|---|"]
    for r in registers.REGISTERS:
        doc = {"ControlBit": "see below", "StatusBit": "see below"}.get(r.doc, r.doc)
        out.append(f"| 0x{r.address:02X} | {r.name} | {r.access} | {r.reset} | {r.unit} | {doc} |")
    out += ["", *words_of(REGISTERS, places=True)]
    return "\n".join(out).rstrip() + "\n"
