"""Who has the engine of which GPU, at every change, as the hardware's register says; told to whoever judges slices."""

from collections.abc import Callable

from ringhil.emulator.events.hardware import RegisterChanged
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.judge.contexts.commands_seen import SeenCommand
from ringhil.emulator.judge.contexts.slices import Slices
from ringhil.emulator.judge.findings import FindingList, Name
from ringhil.emulator.judge.recovery.switchover import BYPASSED, STATUS_WATCHED
from ringhil.emulator.server import LiveServer
from ringhil.protocol.frames import Result
from ringhil.protocol.registers import ADDRESS

_TURN, _STATUS = ADDRESS["turn"], ADDRESS["status"]


class TurnWatch:
    """Make it before the server is started. It is told of commands, answers and faults, as `Isolation` is. `left_ring`:
    a GPU has, and has lost its contexts."""

    def __init__(self, server: LiveServer, left_ring: Callable[[Gpu, int], None]) -> None:
        self._left_ring, self._wiring = left_ring, server.wiring
        wiring, settings = server.wiring, server.scenario.server.settings
        wake = server.scenario.server.longest_wake
        self._gpus: dict[Gpu, Slices] = {}
        self._changed: dict[int, Callable[[int, int], None]] = {}  # by cell
        self._slices: dict[int, Slices] = {}
        for gpu in server.scenario.gpus_with_contexts:
            cell = wiring.cell_of(gpu)
            slices = Slices(Name(str(gpu)), settings.context_switch, settings.default_slice, wake)
            self._gpus[wiring.place(cell)] = self._slices[cell] = slices
            self._changed[cell] = slices.changed
            server.engine.watch_register(cell, "turn")
            server.engine.watch_register(cell, "status", STATUS_WATCHED)
        if self._gpus:
            server.observations.listen(RegisterChanged, self._seen)

    def _seen(self, o: RegisterChanged) -> None:
        if o.address == _TURN:
            self._changed[o.cell](o.value, o.cycle)
        elif o.address == _STATUS and o.cell in self._slices and o.value & BYPASSED:
            self._slices[o.cell].gone()
            self._left_ring(self._wiring.place(o.cell), o.cycle)

    def sent(self, command: SeenCommand, now: int) -> None:
        """The CPU sends a command."""
        slices = self._gpus.get(command.gpu)
        if slices is not None:
            slices.sent(command, now)

    def answered(self, result: Result, now: int) -> None:
        """The CPU has taken a result in."""
        slices = self._gpus.get((result.source_card, result.source))
        if slices is not None:
            slices.answered(result, now)

    def slowed(self, gpu: Gpu, *, slow: bool) -> None:
        """From now on this GPU is slow, or isn't any more."""
        if gpu in self._gpus:
            self._gpus[gpu].orders.slowed(slow=slow)

    def struck(self, gpu: Gpu, why: str, *, coming: bool = True) -> None:
        """Something has made it impossible to say what this GPU's contexts are set to and wait for. `coming`: but for
        those that are being created."""
        if gpu in self._gpus:
            self._gpus[gpu].struck(why, coming=coming)

    def finish(self, now: int) -> None:
        """The run is over."""
        for slices in self._gpus.values():
            slices.finish(now)

    @property
    def wrong(self) -> FindingList:
        """Turns that are not as they must be, and when."""
        return FindingList.in_time(*(slices.wrong for slices in self._gpus.values()))

    @property
    def doubts(self) -> list[str]:
        """Turns of which it isn't known how they must be."""
        return [what for slices in self._gpus.values() for what in slices.doubts]
