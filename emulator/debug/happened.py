"""What happens in a run beside its messages, as a recording has it: a kind, where, and its fields."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.hardware import RegisterChanged
from ringhil.emulator.events.server import (
    CountAsked,
    CpuSaid,
    FirmwareLost,
    FirmwareStopped,
    Flapped,
    LossOver,
    NodeLost,
    SharedOut,
    Struck,
)
from ringhil.emulator.judge.contexts.turn_watch import gpus_with_contexts
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import EventAction
from ringhil.emulator.scenario.file.faults import PARAMETERS, PartKind
from ringhil.emulator.scenario.writer import event_entry
from ringhil.firmware.observations import (
    Counted,
    Deposed,
    Elected,
    Granted,
    Lapsed,
    PeerDown,
    PeerUp,
    Rejected,
    Suspected,
)
from ringhil.protocol.registers import ADDRESS, TURN_CONTEXT, TurnBit

Tell = Callable[[int, int | None, str, dict[str, Any]], None]  # cycle, cell, kind, fields

TURN, MEMORY_HELD = "Turn", "MemoryHeld"  # what registers of shared GPUs say

_OF_FIRMWARE = (Counted, Deposed, Elected, Granted, Lapsed, PeerDown, PeerUp, Rejected, Suspected)
_ITSELF = (CountAsked, FirmwareLost, FirmwareStopped, Flapped, LossOver, NodeLost, SharedOut)


def _told(name: str) -> str:
    """By which name `RecordedEvent.said` has a field."""
    return "peer" if name == "gpu" else name


# Kinds, and the names of their fields.
KINDS: dict[str, frozenset[str]] = {
    **{kind.__name__: frozenset({_told(each.name) for each in fields(kind)} | {"card"}) for kind in _OF_FIRMWARE},
    **{kind.__name__: frozenset(each.name for each in fields(kind)) for kind in _ITSELF},
    "Struck": frozenset({"at", "count", *map(str, EventAction), *map(str, PartKind), *PARAMETERS}),
    TURN: frozenset({"context", "switching"}),
    MEMORY_HELD: frozenset({"pages"}),
}


def tell_all(run: Run, tell: Tell) -> None:
    """Have it called with all that happens from now on, in order."""

    def itself(seen: Any) -> None:
        found = _fields(seen)
        cycle, cell = found.pop("cycle"), found.pop("cell", None)
        tell(cycle, cell, type(seen).__name__, found)

    def firmware(seen: FirmwareSaid) -> None:
        tell(seen.cycle, seen.cell, type(seen.what).__name__, _fields(seen.what))

    def cpu(seen: CpuSaid) -> None:
        tell(seen.cycle, None, type(seen.what).__name__, {"card": seen.card, **_fields(seen.what)})

    def struck(seen: Struck) -> None:
        tell(seen.cycle, None, "Struck", event_entry(seen.event))

    cells = {run.server.wiring.cell_of(gpu) for gpu in gpus_with_contexts(run.server.scenario)}

    def register(seen: RegisterChanged) -> None:
        if seen.cell in cells and seen.address in _REGISTERS:
            kind, said = _REGISTERS[seen.address]
            tell(seen.cycle, seen.cell, kind, said(seen.value))

    for cell in cells:
        run.engine.watch_register(cell, "turn")
        run.engine.watch_register(cell, "memory_held")
    if cells:
        run.observations.listen(RegisterChanged, register)
    for kind in _ITSELF:
        run.observations.listen(kind, itself)
    run.observations.listen(FirmwareSaid, firmware)
    run.observations.listen(CpuSaid, cpu)
    run.observations.listen(Struck, struck)


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
