"""What contexts hold, at every change, as the hardware's register says."""

from ringhil.emulator.kernel.observations import RegisterChanged
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server import LiveServer
from ringhil.protocol.registers import ADDRESS

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
