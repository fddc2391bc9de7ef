"""A message on its way: what it was on each link that it passed, read off the wires while the run is played again."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from ringhil.emulator.engine.engine import Engine
from ringhil.protocol.frames import BY_KIND, Statistics
from ringhil.protocol.wire import Flag, LinkBit

FLIT = 8  # bytes
# What changes from hop to hop, and so doesn't tell a message from others; of the flags all but the direction.
_CHANGES = {"ttl", "flags", "count", "records", "record_limit"}
_NAMES = {
    number: [each.name for each in fields(kind) if each.name != kind.VARIABLE] for number, kind in BY_KIND.items()
}
_NAMES[Statistics.KIND].insert(_NAMES[Statistics.KIND].index("expected"), "records")  # their number


class Passed(NamedTuple):
    """A frame on a link. `cycle`: of its first flit; `link`: by which GPU `cell` sent it, a code of `wire.Link`; `bad`:
    marked by an earlier hop."""

    cycle: int
    cell: int
    link: int
    frame: bytes
    bad: bool


@dataclass
class _Wires:
    """What a transmitter puts on its link. `since`: from which cycle on it is so."""

    since: int = 0
    data: int = 0
    control: int = 0
    begun: int = 0
    flits: bytearray | None = None


class Links:
    """All links of a run from now on. Call `drain` whenever the engine has run."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._wires: dict[tuple[int, int, int], _Wires] = {}
        self.passed: list[Passed] = []
        engine.watch()

    def drain(self) -> None:
        """Take in how the wires changed."""
        for cycle, data, cell, link, control, _ in self._engine.changes().tolist():
            for channel in (0, LinkBit.DATA):
                self._until(cell, link, channel, cycle)
                wires = self._wires[cell, link, channel]
                wires.since, wires.data, wires.control = cycle, data, control

    def _until(self, cell: int, link: int, channel: int, cycle: int) -> None:
        """The flits of a channel that were sent before this cycle: one a cycle, as long as the wires stay."""
        wires = self._wires.setdefault((cell, link, channel), _Wires())
        if not wires.control & LinkBit.VALID or wires.control & LinkBit.DATA != channel:
            return
        for at in range(wires.since, cycle):
            if wires.control & LinkBit.SOF:
                wires.begun, wires.flits = at, bytearray()
            if wires.flits is None:
                continue
            wires.flits += wires.data.to_bytes(FLIT)
            if wires.control & LinkBit.EOF:
                bad = bool(wires.control & LinkBit.ERR)
                self.passed.append(Passed(wires.begun, cell, link, bytes(wires.flits), bad))
                wires.flits = None


def same_message(one: bytes, other: bytes) -> bool:
    """Whether two frames are one message, at two places of its way."""
    first, second = identity(one), identity(other)
    return first is not None and first == second


def identity(frame: bytes) -> tuple[object, ...] | None:
    """What stays the same on the way; None: it is no frame."""
    found = header(frame)
    if found is None:
        return None
    kept = (value for name, value in found.items() if name not in _CHANGES)
    return frame[0], found["flags"] & Flag.CCW, *kept


def header(frame: bytes) -> Mapping[str, Any] | None:
    """The fixed fields of a frame by name, whether its CRC is right or not; None: it is no frame."""
    kind = BY_KIND.get(frame[0]) if frame else None
    if kind is None or len(frame) < kind.HEAD.size:
        return None
    return dict(zip(_NAMES[kind.KIND], kind.HEAD.unpack_from(frame)[1:], strict=True))
