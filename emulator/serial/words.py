"""Words that people type and read for what the management protocol knows by number.

The functions `..._of` read what is typed; each raises ValueError with what is allowed. `event_document`,
`census_text` and `register_text` say what came; `RingCensus` is a census as a client sees it.
"""

from dataclasses import asdict, dataclass
from typing import Any, Self

from ringhil.emulator.documents import shown
from ringhil.emulator.scenario.file.faults import FAULTS, PartKind
from ringhil.emulator.scenario.file.names import split_gpu
from ringhil.emulator.scenario.file.topology import LinkRef
from ringhil.protocol import codec, registers
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import EventKind, Injection, LineFault, Way
from ringhil.protocol.line.messages import CensusReply, CountEvent, LastCensusReply
from ringhil.protocol.registers import StatusBit
from ringhil.protocol.wire import CensusVerdict, Port, Role

EVENTS = {kind.name.lower(): kind for kind in EventKind}
_MOST = 0xFFFFFFFF
_REGISTERS = {register.address: register.name for register in registers.REGISTERS}


def number_of(text: str) -> int:
    """Returns a number of 32 bits."""
    try:
        number = int(text, 0)
    except ValueError:
        number = -1
    if not 0 <= number <= _MOST:
        raise ValueError(f"found {text!r}; allowed is a number from 0 to 0x{_MOST:X}, decimal or 0x...")
    return number


def address_of(register: str | int) -> int:
    """Returns the address of a register, which is given by its name, or by a number or its digits."""
    if isinstance(register, int):
        return register
    if register[:1].isdigit():
        return number_of(register)
    try:
        return registers.ADDRESS[register]
    except KeyError:
        raise ValueError(f"register: found {register!r}; allowed are {', '.join(registers.ADDRESS)}") from None


def register_of(text: str) -> str:
    """Name of a register, by its name or its address. An address that isn't known stays as it was typed: a card may
    have more registers than we know."""
    return _REGISTERS.get(address_of(text), text)


def bytes_of(text: str) -> bytes:
    """Returns bytes that are written in hexadecimal."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError(f"found {shown(text)}; allowed are pairs of hexadecimal digits") from None


def port_of(text: str) -> Port:
    """Returns a port of a mailbox."""
    try:
        return Port.parse(text)
    except ValueError:
        raise ValueError(f"found {shown(text)}; allowed are {', '.join(Port)}") from None


def fault_of(text: str) -> LineFault:
    """Returns a fault that can be injected."""
    try:
        return LineFault.parse(text)
    except ValueError:
        raise ValueError(f"found {shown(text)}; allowed are {', '.join(LineFault)}") from None


def gpu_of(text: str, card: str) -> int:
    """Returns the number of a GPU of the card called `card`: `3`, or `a.3`."""
    if text[:1].isdigit():
        return number_of(text)
    name, gpu = split_gpu(text)
    if name != card:
        raise ValueError(f"found {text!r}; this is card {card}")
    return gpu


def place_of(fault: str, text: str, card: str, gpus: int) -> int:
    """Where a fault strikes a card of so many GPUs: a GPU, or a link `a.5-a.6`, by the GPU before it."""
    if "-" not in text:
        return gpu_of(text, card)
    if FAULTS[fault].target is not PartKind.LINK:
        raise ValueError(f"found {text!r}; {fault} strikes a GPU, such as {card}.3")
    link = LinkRef.parse(text, gpus)
    if link.card != card:
        raise ValueError(f"found {text!r}; this is card {card}")
    return link.index


def event_kinds(names: str) -> int:
    """Returns the kinds of events that are named with commas between them."""
    kinds = 0
    for name in names.split(","):
        if name not in EVENTS:
            raise ValueError(f"found {name!r}; allowed are {', '.join(EVENTS)}")
        kinds |= EVENTS[name]
    return kinds


@dataclass(frozen=True)
class RingCensus:
    """`count` of `size` GPUs work: `members`, None where it isn't known who; GPU `entry` counted. `verdict`: ring,
    single or arms, where the ring is cut between `break_after` and `break_before`. Its first message left in cycle
    `sent_at`; it was accepted in `cycle`."""

    count: int
    size: int
    members: tuple[int, ...] | None
    verdict: CensusVerdict
    break_after: int | None
    break_before: int | None
    entry: int
    epoch: int
    sequence: int
    sent_at: int
    cycle: int
    accepted: int
    rejected: int

    @classmethod
    def of(cls, m: CensusReply | LastCensusReply | CountEvent) -> Self:
        """Returns the census in a message. Raises ValueError for an unknown verdict."""
        verdict = CensusVerdict.of(m.verdict)
        cut = verdict is CensusVerdict.ARMS
        members = tuple(gpu for gpu in range(min(m.size, 64 * len(m.members))) if m.members[gpu // 64] >> gpu % 64 & 1)
        return cls(
            m.count,
            m.size,
            members if m.members else None,
            verdict,
            m.break_after if cut else None,
            m.break_before if cut else None,
            m.entry,
            m.epoch,
            m.sequence,
            m.sent_at,
            m.counted_at,
            m.accepted,
            m.rejected,
        )


def event_document(event: m.Message) -> dict[str, Any]:
    """Returns what happened as `event`, and then its fields. A number that has no word stays a number."""
    match event:
        case m.CountEvent():
            return {"event": "count", **_census(event)}
        case m.RoleEvent():
            words = {"role": _word(Role, event.role), "holds": bool(event.holds), "epoch": event.epoch}
            return {"event": "role", "cycle": event.cycle, "gpu": event.gpu, **words}
        case m.FaultEvent():
            fault, done = _word(LineFault, event.fault), _word(Injection, event.injection)
            words = {"fault": fault, "injection": done, "value": event.value}
            return {"event": "fault", "cycle": event.cycle, "gpu": event.gpu, **words}
        case m.FrameEvent():
            place = {"cycle": event.cycle, "gpu": event.gpu, "way": _word(Way, event.way), "port": event.port}
            return {"event": "frame", **place, "bad": bool(event.bad), **_frame(event.frame)}
        case m.MissedEvent():
            return {"event": "missed", "events": event.events}
        case _:
            return {"event": type(event).__name__}


def census_text(found: RingCensus) -> str:
    """Returns a census in words."""
    members = "not known who" if found.members is None else f"GPUs {', '.join(map(str, found.members))}"
    cut = f", cut between {found.break_after} and {found.break_before}" if found.break_after is not None else ""
    return f"{found.count} of {found.size} GPUs work: {members} ({found.verdict}{cut}, cycle {found.cycle})"


def register_text(register: str, value: int) -> str:
    """Returns a register's value as it is printed, with the names of the bits of `status`."""
    words = f"  {StatusBit.show(value)}" if register == "status" else ""
    return f"{register:18}0x{value:08x} {value:10}{words}"


def _census(event: m.CountEvent) -> dict[str, Any]:
    try:
        return asdict(RingCensus.of(event))
    except ValueError:  # of its verdict
        return {name: getattr(event, name) for name in event.__slots__ if name != "id"}


def _frame(data: bytes) -> dict[str, Any]:
    try:
        frame = codec.decode(data, check=False)
    except codec.FrameError as error:
        return {"frame": data.hex(), "error": str(error)}
    return {"kind": type(frame).__name__.lower(), "frame": data.hex()}


def _word(words: "type[Role] | type[Injection] | type[LineFault] | type[Way]", code: int) -> str | int:
    try:
        return str(words.of(code))
    except ValueError:
        return code
