"""What pages show of contexts: turns on the engine, and memory that is held."""

from dataclasses import dataclass

from ringhil.emulator.events.hardware import RegisterChanged
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server import LiveServer
from ringhil.protocol.registers import ADDRESS, TURN_CONTEXT, TurnBit

_TURN = ADDRESS["turn"]


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """From `began` to `ended`, in cycles; it works from `works` on. Turns of one context without a pause are one."""

    context: int
    began: int
    works: int
    ended: int


class TurnLog:
    """Of these GPUs. `turns`: for each in order of time; one that is under way is not in it. Make it before its
    start."""

    def __init__(self, server: LiveServer, gpus: tuple[GpuRef, ...]) -> None:
        self._cells = {server.wiring.cell_of(gpu): number for number, gpu in enumerate(gpus)}
        self.turns: tuple[list[ShownTurn], ...] = tuple([] for _ in gpus)
        self._now: dict[int, tuple[int, int, int]] = {}  # by cell: context, when it began, and works
        for cell in self._cells:
            server.engine.watch_register(cell, "turn")
        server.observations.listen(RegisterChanged, self._changed)

    def _changed(self, o: RegisterChanged) -> None:
        if o.address != _TURN or o.cell not in self._cells:
            return
        context, taken = o.value & TURN_CONTEXT, o.value & TurnBit.TAKEN
        now = self._now.pop(o.cell, None)
        if now is not None and taken and context == now[0] and not o.value & TurnBit.SWITCHING:
            self._now[o.cell] = (context, now[1], o.cycle)
            return
        if now is not None:
            self.turns[self._cells[o.cell]].append(ShownTurn(*now, o.cycle))
        if taken:
            self._now[o.cell] = (context, o.cycle, o.cycle)


_MEMORY_HELD = ADDRESS["memory_held"]


class MemoryWatch:
    """Of these GPUs. `changes`: for each the pages from a cycle on, in order of time. Make it before its start."""

    def __init__(self, server: LiveServer, gpus: tuple[GpuRef, ...]) -> None:
        self._cells = {server.wiring.cell_of(gpu): number for number, gpu in enumerate(gpus)}
        self.changes: tuple[list[tuple[int, int]], ...] = tuple([] for _ in gpus)
        for cell in self._cells:
            server.engine.watch_register(cell, "memory_held")
        if gpus:
            server.observations.listen(RegisterChanged, self._changed)

    def _changed(self, o: RegisterChanged) -> None:
        if o.address == _MEMORY_HELD and o.cell in self._cells:
            self.changes[self._cells[o.cell]].append((o.cycle, o.value))
