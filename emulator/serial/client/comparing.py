"""Asks two cards the same, and shows the first answer that differs, field by field.

What may differ between two cards that do the same is declared here, each with its reason. All else must be equal.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ringhil.emulator.documents import one_line
from ringhil.emulator.serial.client import CardClient, SilentError, Strays
from ringhil.emulator.serial.session.format import Session, message_in
from ringhil.emulator.serial.words import RingCensus
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import Damaged
from ringhil.protocol.line.management import MAJOR, MINOR, Capability, Refusal
from ringhil.protocol.registers import ADDRESS, LIVE, REGISTERS, StatusBit
from ringhil.protocol.wire import CensusVerdict

_COUNTING = 10.0  # seconds for a census
_MOST_WAIT = 60.0  # seconds between two requests of a session
_NAMES = {address: name for name, address in ADDRESS.items()}
_UNKNOWN_TYPE, _UNKNOWN_REGISTER = 0x3F, 0x1F
_Row = tuple[str, str, str, bool]  # field, card, emulator; whether they differ
_COUNTED = ("frames", "events", "units")  # units of registers that count


@dataclass(frozen=True)
class Declared:
    """Declares what may differ: fields (`message.field`), values of registers, and bits of hello's capabilities."""

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
    Declared("turn", "who has the compute engine at that moment", registers=("turn",)),
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
    """Returns what is declared of a field of a reply; None means that it must be equal."""
    name = f"{type(reply).__name__}.{field}"
    for each in MAY_DIFFER:
        if name in each.fields:
            return each.what
        read = isinstance(request, m.ReadRequest) and name == "ReadReply.value"
        if read and request.address in (ADDRESS[register] for register in each.registers):  # type: ignore[union-attr]
            return each.what
    return None


def compared(reply: m.Message, field: str) -> object:
    """Returns a field's value without the bits that may differ."""
    value = getattr(reply, field)
    if isinstance(reply, m.HelloReply) and field == "capabilities":
        for each in MAY_DIFFER:
            for bit in each.bits:
                value &= ~bit
    return value


@dataclass(frozen=True)
class Asked:
    """Holds a request as it goes over the line, without its id, and the seconds to wait before it."""

    data: bytes
    wait: float = 0.0

    def __str__(self) -> str:
        message = message_in(self.data)
        if message is None:
            return f"a message of type 0x{self.data[0]:02X}, {len(self.data)} bytes"
        values = [f"{name}={getattr(message, name)!r}" for name in message.__slots__ if name != "id"]
        if isinstance(message, m.ReadRequest | m.WriteRequest) and message.address in _NAMES:
            values.append(f"register {_NAMES[message.address]}")
        return f"{type(message).__name__}({', '.join(values)})"


@dataclass
class CardComparison:
    """Holds the outcome. `rows` are those of the answer to `asked` that differs; there are none while all is equal."""

    requests: int = 0
    fields: int = 0
    may_differ: dict[str, int] = field(default_factory=dict)
    asked: Asked | None = None
    rows: list[_Row] = field(default_factory=list)


def questions(card: CardClient) -> Iterator[Asked]:
    """Returns what can be asked of a card without changing anything, by what it says of itself."""
    yield Asked(encode(m.HelloRequest(0, MAJOR, MINOR, b"ringhil")))
    yield Asked(encode(m.TimeRequest(0)))
    for gpu in range(card.info.gpus):
        for register in REGISTERS:
            yield Asked(encode(m.ReadRequest(0, gpu, register.address)))
    if Capability.CENSUS.word in card.info.capabilities:
        yield Asked(encode(m.CensusRequest(0)))
    yield Asked(encode(m.LastCensusRequest(0)))
    if Capability.EVENTS.word in card.info.capabilities:
        yield Asked(encode(m.SubscribeRequest(0, 0)))
        yield Asked(encode(m.SubscribeRequest(0, 0x8000)))
    yield Asked(encode(m.ReadRequest(0, card.info.gpus, ADDRESS["status"])))
    yield Asked(encode(m.ReadRequest(0, 0, _UNKNOWN_REGISTER)))
    yield Asked(encode(m.ReadRequest(0, 0, 0))[:-1])
    yield Asked(bytes([_UNKNOWN_TYPE, 0, 0]))
    yield Asked(encode(m.LineRequest(0)))


def asked_in(session: Session) -> Iterator[Asked]:
    """Returns the requests of a session, with the time that passed before each. A repeated request comes once."""
    before = b""
    answered = [burst.at for burst in session.bursts]
    for at, data in session.messages(sent=True):
        if isinstance(data, Damaged) or len(data) < 3 or data == before:
            continue
        before_it = bisect_left(answered, at) - 1
        latest = answered[before_it] if before_it >= 0 else at
        yield Asked(data, min(_MOST_WAIT, at - latest))
        before = data


def compare(card: CardClient, emulator: CardClient, asked: Iterator[Asked]) -> CardComparison:
    """Asks both cards until they differ. Raises CardError when a line goes."""
    found = CardComparison()
    for each in asked:
        answers = _answer(card, each), _answer(emulator, each)
        found.requests += 1
        rows = [*_rows(found, message_in(each.data), *answers), *_unasked(card.strays, emulator.strays)]
        if any(differs for *_, differs in rows):
            found.asked, found.rows = each, rows
            break
    return found


def _unasked(card: Strays, emulator: Strays) -> list[_Row]:
    """Compares what came unasked so far. A card that was asked again may have answered twice, and is not compared."""
    if card.repeats or emulator.repeats:
        return []
    both = (("unasked answers", "answers"), ("bytes of no message", "nonsense"))
    counts = [(words, getattr(card, name), getattr(emulator, name)) for words, name in both]
    return [(words, str(ours), str(theirs), True) for words, ours, theirs in counts if ours != theirs]


def _answer(card: CardClient, asked: Asked) -> m.Message | None:
    for _ in card.events(asked.wait) if asked.wait else ():
        pass  # what happens meanwhile is not compared
    try:
        return card.exchange(asked.data, timeout=_COUNTING if asked.data[0] == m.CensusRequest.TYPE else None)
    except SilentError:
        return None


def _rows(
    found: CardComparison, request: m.Message | None, card: m.Message | None, emulator: m.Message | None
) -> list[_Row]:
    names = ["none" if each is None else type(each).__name__ for each in (card, emulator)]
    rows: list[_Row] = [("answer", *names, names[0] != names[1])]  # type: ignore[list-item]
    found.fields += 1
    shown = dict.fromkeys(name for each in (card, emulator) if each is not None for name in each.__slots__)
    for name in shown:
        if name == "id":
            continue
        both = [each for each in (card, emulator) if each is not None and hasattr(each, name)]
        declared = names[0] == names[1] and may_differ(request, both[0], name)
        differs = len(both) < 2 or compared(both[0], name) != compared(both[1], name)
        words = [
            _word(request, each, name) if each is not None and hasattr(each, name) else "-" for each in (card, emulator)
        ]
        if declared:
            found.may_differ[declared] = found.may_differ.get(declared, 0) + 1
        else:
            found.fields += 1
        rows.append((name, words[0], words[1], differs and not declared and names[0] == names[1]))
    return rows


def _word(request: m.Message | None, reply: m.Message, name: str) -> str:
    """Returns a value as people read it."""
    value: Any = getattr(reply, name)
    try:
        match name:
            case "value" if isinstance(request, m.ReadRequest):
                bits = f" {StatusBit.show(value)}" if _NAMES.get(request.address) == "status" else ""
                return f"0x{value:08x} {value}{bits}"
            case "members" if isinstance(reply, m.CensusReply | m.LastCensusReply):
                return ", ".join(map(str, RingCensus.of(reply).members or ())) or "not known"
            case "verdict":
                return str(CensusVerdict.of(value))
            case "why":
                return str(Refusal.of(value))
            case "capabilities":
                return Capability.show(value)
    except ValueError:
        return str(value)
    return one_line(value.decode(errors="replace")) if isinstance(value, bytes) else str(value)
