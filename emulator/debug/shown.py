"""Messages and events in a line each, as lists have them."""

from typing import Any, NamedTuple

from ringhil.emulator.debug.items import RecordedItem, decoded, difference, said
from ringhil.emulator.errors import printable
from ringhil.emulator.trace.recording import RecordedMessage
from ringhil.emulator.trace.recording.tables import WAYS

_WAY = {"to_firmware": "→ fw", "from_firmware": "← fw", "to_cpu": "→ cpu", "from_cpu": "← cpu"}
_EVENT = "•"


class ShownLine(NamedTuple):
    """Of the list. `bad`: the frame has come damaged."""

    cycle: int
    way: str
    gpu: str
    kind: str
    said: str
    bad: bool

    @property
    def text(self) -> str:
        """As it is searched."""
        return f"{self.cycle} {self.way} {self.gpu} {self.kind} {self.said}"


def line(item: RecordedItem, gpus: list[str]) -> ShownLine:
    """Of a message or event."""
    gpu = "" if item.cell is None else gpus[item.cell]
    if isinstance(item, RecordedMessage):
        kind, found = decoded(item.frame)
        return ShownLine(item.cycle, _WAY[WAYS[item.way]], gpu, kind, said(found), bool(item.bad))
    found = item.said
    where = [printable(f"{name} {found[name]}") for name in ("gpu", "link", "card") if name in found]
    return ShownLine(item.cycle, _EVENT, gpu, item.kind, ", ".join(filter(None, (said(found), *where))), False)


def in_line(value: Any) -> str:
    """A field's value, short: of records how many there are."""
    if isinstance(value, bytes):
        return value.hex() if len(value) <= 8 else f"{len(value)} bytes"
    if isinstance(value, tuple | list) and value and not isinstance(value[0], int):
        return str(len(value))
    return printable("".join(str(value).split()) if isinstance(value, tuple | list) else str(value))


def differences(one: bytes, other: bytes) -> list[tuple[str, str, str]]:
    """The fields that aren't the same in two frames: name, what it is in the one, in the other."""
    found = difference("", decoded(one)[1], decoded(other)[1])
    return [(name, in_line(was), in_line(now)) for name, was, now in found]
