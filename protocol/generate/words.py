"""The tables of words in reference pages: what each number of a field means, and where a field finds its table."""

from collections.abc import Mapping

from construct import Const, Enum, FlagsEnum, Rebuild, Renamed

from ringhil.protocol import reasons, registers, wire
from ringhil.protocol.enums import Bits, Coded
from ringhil.protocol.line import firmware_loop, management, node_loop

Words = Mapping[str, type[Coded] | type[Bits]]  # by heading

FRAMES: Words = {
    "Kinds of frames": wire.Kind,
    "Ports of a GPU's mailbox": wire.Port,
    "Links of a node, as its pins are called": wire.Link,
    "Control bits of a link": wire.LinkBit,
    "Flags of a frame": wire.Flag,
    "Flags of a record": wire.RecordFlag,
    "State of a GPU in its record": wire.GpuState,
    "GPU types": wire.GpuType,
    "Roles": wire.Role,
    "State of a member": wire.MemberState,
    "Flags of a member": wire.MemberFlag,
    "Operations of an election frame": wire.Operation,
    "Verdict of a census": wire.CensusVerdict,
    "What work asks for": wire.Compute,
    "What a query asks for": wire.Query,
    "Status of a result": wire.ResultStatus,
    "Status of an acknowledgement": wire.AckStatus,
}
REGISTERS: Words = {
    "Bits of control": registers.ControlBit,
    "Bits of status": registers.StatusBit,
    "Power states": registers.PowerState,
    "Bits of turn": registers.TurnBit,
    "Bits of a node's fault port": registers.FaultBit,
    "Bits of the link channels' fault port": registers.LinkFaultBit,
}
MANAGEMENT: Words = {
    "Capabilities of a card": management.Capability,
    "Kinds of events": management.EventKind,
    "Why a request is refused": management.Refusal,
    "Faults": management.LineFault,
    "What becomes of a fault": management.Injection,
    "To whom a context belongs": management.Belongs,
    "Ways of a frame": management.Way,
}
FIRMWARE_LOOP: Words = {
    "Options of a boot": firmware_loop.BootOption,
    "Why a request is declined": firmware_loop.Declined,
    "Why a lease is over": reasons.LeaseEnd,
    "Why a census is rejected": reasons.Rejection,
}
NODE_LOOP: Words = {"Why a request is refused": node_loop.Why}
_PAGES = {
    "protocol.md": {**FRAMES, **REGISTERS},
    "management.md": MANAGEMENT,
    "firmware-loop.md": FIRMWARE_LOOP,
    "node-loop.md": NODE_LOOP,
}


def words_of(tables: Words, *, places: bool = False) -> list[str]:
    """A section for each kind of word: its numbers, of bits their masks or, with `places`, their places from 0."""
    out = list[str]()
    for heading, words in tables.items():
        numbers = words.places() if places and issubclass(words, Bits) else words.codes()
        mask = issubclass(words, Bits) and not places
        docs = [cell(word.doc) for word in _members(words)]
        out += [f"## {heading}", "", f"| name | value |{' |' * any(docs)}", f"|---|---:|{'---|' * any(docs)}"]
        for doc, (name, value) in zip(docs, numbers.items(), strict=True):
            meaning = f" {doc} |" if any(docs) else ""
            out.append(f"| {name} | {f'0x{value:04X}' if mask else value} |{meaning}")
        out.append("")
    return out


def _members(words: type[Coded] | type[Bits]) -> list[Coded | Bits]:
    return [*words]


def field_docs(definition: object, page: str) -> dict[str, str]:
    """What a definition says of each of its fields, as a cell of `page`; with a link to the table of its words."""
    return {
        str(sub.name): cell("; ".join(filter(None, (_link(sub, page), sub.docs))))
        for sub in definition.subcons  # type: ignore[attr-defined]
    }


def cell(text: str) -> str:
    """As it stands in a table."""
    return text.replace("|", "\\|")


def _link(field: object, page: str) -> str:
    while isinstance(field, Renamed | Const | Rebuild):
        field = field.subcon
    if not isinstance(field, Enum | FlagsEnum):
        return ""
    codes = {
        str(word): int(code) for word, code in (field.encmapping if isinstance(field, Enum) else field.flags).items()
    }
    for where, tables in _PAGES.items():
        for heading, words in tables.items():
            if words.codes() == codes:
                anchor = heading.lower().replace(" ", "-").replace("'", "").replace(",", "")
                return f"[{heading}]({'' if where == page else where}#{anchor})"
    raise AssertionError(f"no page has a table of {', '.join(codes)}")
