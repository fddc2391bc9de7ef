"""What may differ between two cards that do the same: declared, each with its reason. All else must be equal."""

from dataclasses import dataclass

from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import Capability
from ringhil.protocol.registers import ADDRESS, LIVE, REGISTERS

_COUNTED = ("frames", "events", "units")  # units of registers that count


@dataclass(frozen=True)
class Declared:
    """`fields`: those that may differ, `message.field`; `registers`: whose values may; `bits`: of hello's capabilities
    that may."""

    what: str
    why: str
    fields: tuple[str, ...] = ()
    registers: tuple[str, ...] = ()
    bits: tuple[Capability, ...] = ()


_CENSUSES = ("CensusReply", "LastCensusReply")
_TIMES = ("sent_at", "counted_at")
_COUNTERS = tuple(each.name for each in REGISTERS if each.access == "ro" and each.unit in _COUNTED)
_NOW = ("HelloReply", "TimeReply", "ReadReply", "WriteReply", "SendReply", "InjectReply", "SubscribeReply")

MAY_DIFFER = (
    Declared(
        "times",
        "cycles since power-up: nobody powers both up, or asks both, in the same one",
        (
            *(f"{name}.now" for name in _NOW),
            *(f"{name}.{at}" for name in _CENSUSES for at in ("sent_at", "counted_at")),
        ),
    ),
    Declared("serial", "each card has a serial number of its own", ("HelloReply.serial",)),
    Declared(
        "clock", "an emulated ring keeps to no clock, or to another one", ("HelloReply.clock",), (), (Capability.PACED,)
    ),
    Declared("faults", "only an emulated card injects faults", (), (), (Capability.FAULTS,)),
    Declared(
        "counters",
        "they count since power-up, and more has happened to one of them",
        registers=(*_COUNTERS, *LIVE),
    ),
    Declared(
        "history",
        "sequence numbers and epochs: how often was counted and elected before",
        tuple(f"{name}.{field}" for name in _CENSUSES for field in ("epoch", "sequence", "accepted", "rejected")),
        ("memory",),
    ),
    Declared(
        "line",
        "what a line has carried: other clients, and tries that were lost",
        tuple(f"LineReply.{name}" for name in m.LineReply.__slots__ if name != "id"),
    ),
    Declared("words", "the sentence of a refusal is for people; its reason is compared", ("RefusedReply.text",)),
)


def may_differ(request: m.Message | None, reply: m.Message, field: str) -> str | None:
    """What is declared of a field of a reply; None: it must be equal."""
    name = f"{type(reply).__name__}.{field}"
    for each in MAY_DIFFER:
        if name in each.fields:
            return each.what
        read = isinstance(request, m.ReadRequest) and name == "ReadReply.value"
        if read and request.address in (ADDRESS[register] for register in each.registers):  # type: ignore[union-attr]
            return each.what
    return None


def compared(reply: m.Message, field: str) -> object:
    """A field's value, without the bits that may differ."""
    value = getattr(reply, field)
    if isinstance(reply, m.HelloReply) and field == "capabilities":
        for each in MAY_DIFFER:
            for bit in each.bits:
                value &= ~bit
    return value
