"""Events and censuses of a management port as plain documents, with words for numbers."""

from dataclasses import asdict
from typing import Any

from ringhil.emulator.serial.counted import RingCensus
from ringhil.protocol import codec
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import Injection, LineFault, Way
from ringhil.protocol.registers import StatusBit
from ringhil.protocol.wire import Role


def told(event: m.Message) -> dict[str, Any]:
    """`event`, what happened; then its fields. A number that nobody knows stays a number."""
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


def counted(found: RingCensus) -> str:
    """A census in words."""
    members = "not known who" if found.members is None else f"GPUs {', '.join(map(str, found.members))}"
    cut = f", cut between {found.break_after} and {found.break_before}" if found.break_after is not None else ""
    return f"{found.count} of {found.size} GPUs work: {members} ({found.verdict}{cut}, cycle {found.cycle})"


def read_out(register: str, value: int) -> str:
    """A register's value, as it is printed; of the status its bits too."""
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
