"""Items of a recording (messages and events) in words, and what differs between two of them, or of two recordings."""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import zip_longest
from typing import Any

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.errors import printable
from ringhil.emulator.trace.recording import RecordedEvent, RecordedMessage, Recording
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.protocol import codec
from ringhil.protocol.frames import Work
from ringhil.protocol.wire import Compute

RecordedItem = RecordedMessage | RecordedEvent

NO_FRAME = "damaged"  # the kind of what can't be decoded
# The fields that tell a message or event from others of its kind.
_TELLING = (
    "sequence",
    "epoch",
    "unit",
    "segment",
    "attempt",
    "status",
    "operation",
    "command",
    "amount",
    "count",
    "members",
    "role",
    "why",
    "reason",
    "state",
    "echo",
    "fault",
    "clear",
    "lend",
    "take_back",
    "peer",
)


# A work unit that is a command to a context has these fields, too: see `wire.Command`.
OF_COMMANDS = ("command", "key", "amount", "slice", "priority", "state")
COMMANDS = {each.code: str(each) for each in Compute if each is not Compute.DIGEST}
_COMMAND = struct.Struct(">IIII")


def decoded(frame: bytes) -> tuple[str, dict[str, Any]]:
    """Name and fields of a frame; of one that is none, its bytes."""
    try:
        found = codec.decode(frame, link=False)  # the link puts its CRC in later, or has checked it already
    except codec.FrameError as error:
        return NO_FRAME, {"bytes": frame.hex(), "why": str(error)}
    about = {each.name: getattr(found, each.name) for each in fields(found)}
    if isinstance(found, Work):
        about |= _command(found)
    return type(found).__name__.lower(), about


def _command(work: Work) -> dict[str, Any]:
    """The first segment of a command says what it is; empty: it is none."""
    if work.compute not in COMMANDS or work.segment or work.segment_bytes < _COMMAND.size:
        return {}
    key, amount, time, last = _COMMAND.unpack_from(work.payload)
    values = (COMMANDS[work.compute], key, amount, time, last >> 24, last & 0xFFFFFF)
    return dict(zip(OF_COMMANDS, values, strict=True))


def gpus_there(gpus: Iterable[str]) -> str:
    """All of them in a line: `a.0 .. a.7, b.0 .. b.5`."""
    cards: dict[str, list[str]] = {}
    for gpu in gpus:
        cards.setdefault(gpu.partition(".")[0], []).append(gpu)
    return ", ".join(f"{members[0]} .. {members[-1]}" for members in cards.values())


def where(item: RecordedItem, gpus: list[str]) -> str:
    """Of a message `cycle 17, a.3 to_firmware statistics`, of anything else who said what."""
    place = "the server" if item.cell is None else gpus[item.cell]
    if isinstance(item, RecordedMessage):
        return f"cycle {item.cycle}, {place} {WAYS[item.way]} {decoded(item.frame)[0]}"
    return f"cycle {item.cycle}, {place}: {item.kind}"


def details(item: RecordedItem) -> dict[str, Any]:
    """Fields by name."""
    if isinstance(item, RecordedMessage):
        return {"port": item.port, "bad": bool(item.bad), **decoded(item.frame)[1]}
    return item.said


def differing(recorded: RecordedItem, found: RecordedItem) -> Iterator[tuple[str, object, object]]:
    """The fields that aren't the same: name, recorded, found; of messages of records, which record's."""
    yield from difference("", details(recorded), details(found))


def difference(name: str, recorded: Any, found: Any) -> Iterator[tuple[str, object, object]]:
    """The places of two values, of dictionaries and lists of them, that aren't the same: name, the one, the other."""
    if recorded == found:
        return
    one, other = _parts(recorded), _parts(found)
    if one is None or other is None or len(one) != len(other) or one.keys() != other.keys():
        yield name, recorded, found
        return
    for key in one:
        yield from difference(f"{name}.{key}" if name else str(key), one[key], other[key])


def _parts(value: Any) -> dict[Any, Any] | None:
    if isinstance(value, dict):
        return value
    if isinstance(value, tuple | list):
        return dict(enumerate(value))
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return None


def said(found: Mapping[str, Any]) -> str:
    """Of the fields of a message or event those that tell it from others, in a line."""
    return printable(", ".join(f"{name} {found[name]}" for name in _TELLING if found.get(name) is not None))


def first_difference(one: Recording, other: Recording) -> tuple[RecordedItem | None, RecordedItem | None] | None:
    """What each has there, None: it has no more; None: they are the same. Raises DebugError when they differ before
    hashes that agree: somebody has changed a row."""
    first = one.unlike(other) if one.gpus == other.gpus else 0
    if first is None:
        return None
    for here, there in zip_longest(one.all(first), other.all(first)):
        if here != there:
            number = min(item.number for item in (here, there) if item is not None)
            _check(one, other, number)
            return here, there
    return None


def _check(one: Recording, other: Recording, number: int) -> None:
    for here, there in zip(one.states(), other.states(), strict=False):
        if here != there:
            return
        if here.number >= number:
            raise DebugError(
                f"{other.path}: number {number} isn't that of {one.path}, though both have the same hash in cycle "
                f"{here.cycle}: one of them was changed"
            )
