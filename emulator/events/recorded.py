"""What a recording has of the events of a run, beside its messages: a kind, where, and its fields as JSON has them."""

from collections.abc import Callable, Collection
from dataclasses import fields
from typing import Any, get_args

from ringhil.emulator.events.firmware import FirmwareCalled, FirmwareSaid
from ringhil.emulator.events.hardware import FRAMES, Advanced, NodeDiffered, RegisterChanged
from ringhil.emulator.events.server import (
    CountAsked,
    CpuSaid,
    Draining,
    FirmwareLost,
    FirmwareStopped,
    Flapped,
    LoanAsked,
    LossOver,
    NodeLost,
    NotLent,
    PassedOn,
    SharedOut,
    Struck,
    TakenIn,
)
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.scenario import EventAction
from ringhil.emulator.scenario.file.faults import PARAMETERS, PartKind
from ringhil.emulator.scenario.writer import event_entry
from ringhil.firmware.observations import Observation
from ringhil.protocol.registers import ADDRESS, TURN_CONTEXT, TurnBit

Tell = Callable[[int, int | None, str, dict[str, Any]], None]  # cycle, cell, kind, fields

TURN, MEMORY_HELD = "Turn", "MemoryHeld"  # what registers of shared GPUs say
STRUCK = Struck.__name__

_OF_FIRMWARE: tuple[type[Any], ...] = get_args(Observation)
_ITSELF = (
    CountAsked,
    Draining,
    FirmwareLost,
    FirmwareStopped,
    Flapped,
    LoanAsked,
    LossOver,
    NodeLost,
    NotLent,
    SharedOut,
)

# What a recording has of each type of the stream, for the reference.
IN_RECORDINGS: dict[type[Any], str] = {
    **dict.fromkeys(FRAMES, "a message"),
    **{kind: f"`{kind.__name__}`" for kind in _ITSELF},
    Struck: f"`{STRUCK}`, with the keys of the file",
    FirmwareSaid: "the name of what is said, with its fields",
    CpuSaid: "the name of what is said, with its fields and `card`",
    RegisterChanged: f"`{TURN}` and `{MEMORY_HELD}`, of GPUs with contexts of the file; nothing of other registers",
    NodeDiffered: "a row of what came from outside",
    PassedOn: "nothing: the frame from outside is there",
    TakenIn: "nothing: it follows from the message",
    FirmwareCalled: "nothing: it follows from messages and timers",
    Advanced: "nothing: it depends on how the run is played",
}


def _told(name: str) -> str:
    """By which name `RecordedEvent.said` has a field."""
    return "peer" if name == "gpu" else name


# Kinds, and the names of their fields.
KINDS: dict[str, frozenset[str]] = {
    **{kind.__name__: frozenset({_told(each.name) for each in fields(kind)} | {"card"}) for kind in _OF_FIRMWARE},
    **{kind.__name__: frozenset(each.name for each in fields(kind)) for kind in _ITSELF},
    STRUCK: frozenset({"at", "count", *map(str, EventAction), *map(str, PartKind), *PARAMETERS}),
    TURN: frozenset({"context", "switching"}),
    MEMORY_HELD: frozenset({"pages"}),
}


def tell_recorded(stream: Stream, cells: Collection[int], watch: Callable[[int, str], None], tell: Tell) -> None:
    """Have `tell` called with all that happens from now on, in order. `cells`: GPUs with contexts; `watch`: has a
    register of a cell watched."""

    def itself(seen: Any) -> None:
        found = _fields(seen)
        cycle, cell = found.pop("cycle"), found.pop("cell", None)
        tell(cycle, cell, type(seen).__name__, found)

    def firmware(seen: FirmwareSaid) -> None:
        tell(seen.cycle, seen.cell, type(seen.what).__name__, _fields(seen.what))

    def cpu(seen: CpuSaid) -> None:
        tell(seen.cycle, None, type(seen.what).__name__, {"card": seen.card, **_fields(seen.what)})

    def struck(seen: Struck) -> None:
        tell(seen.cycle, None, STRUCK, event_entry(seen.event))

    def register(seen: RegisterChanged) -> None:
        if seen.cell in cells and seen.address in _REGISTERS:
            kind, said = _REGISTERS[seen.address]
            tell(seen.cycle, seen.cell, kind, said(seen.value))

    for cell in cells:
        watch(cell, "turn")
        watch(cell, "memory_held")
    if cells:
        stream.listen(RegisterChanged, register)
    for kind in _ITSELF:
        stream.listen(kind, itself)
    stream.listen(FirmwareSaid, firmware)
    stream.listen(CpuSaid, cpu)
    stream.listen(Struck, struck)


def _turn(value: int) -> dict[str, Any]:
    """No context: nobody has the engine."""
    context = value & TURN_CONTEXT if value & TurnBit.TAKEN else None
    return {"context": context, "switching": bool(value & TurnBit.SWITCHING)}


_REGISTERS: dict[int, tuple[str, Callable[[int], dict[str, Any]]]] = {
    ADDRESS["turn"]: (TURN, _turn),
    ADDRESS["memory_held"]: (MEMORY_HELD, lambda pages: {"pages": pages}),
}


def _fields(seen: Any) -> dict[str, Any]:
    return {each.name: _plain(getattr(seen, each.name)) for each in fields(seen)}


def _plain(value: object) -> object:
    """As JSON has it; words of the protocol by their names."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value if value is None or type(value) in (int, bool, str) else str(value)
