"""A message on its way: what it was on each link that it passed, read off the wires while the run is played again."""

from dataclasses import dataclass
from typing import NamedTuple

from ringhil.emulator.engine.engine import Engine
from ringhil.protocol.wire import LinkBit

FLIT = 8  # bytes


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
