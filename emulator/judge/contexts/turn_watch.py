"""Who has the engine of which GPU, at every change, as the hardware's register says; told to whoever judges slices."""

from collections.abc import Callable

from ringhil.emulator.events.hardware import RegisterChanged
from ringhil.emulator.events.server import Flapped
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.judge.contexts.commands_seen import TWINS, SeenCommand
from ringhil.emulator.judge.contexts.context_events import CommandSent, GpuStruck, LeftRing, MixedUp
from ringhil.emulator.judge.contexts.slices import Slices
from ringhil.emulator.judge.findings import FindingList, Name
from ringhil.emulator.judge.recovery.switchover import BYPASSED, STATUS_WATCHED
from ringhil.emulator.judge.work.cpu_events import AnswerTaken
from ringhil.emulator.server import LiveServer
from ringhil.protocol.frames import Result
from ringhil.protocol.registers import ADDRESS

_STAND_STILL = ("dead", "hang")
_TURN, _STATUS = ADDRESS["turn"], ADDRESS["status"]


class TurnWatch:
    """Make it before the server is started. It tells `LeftRing`."""

    def __init__(self, server: LiveServer) -> None:
        stream = server.observations
        self._wiring, self._tell = server.wiring, stream.tell
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
            stream.listen(RegisterChanged, self._seen)
            stream.listen(CommandSent, lambda o: self._sent(o.command, o.cycle))
            stream.listen(AnswerTaken, self._answered)
            stream.listen(GpuStruck, self._struck_by)
            stream.listen(MixedUp, lambda o: self._struck(o.gpu, TWINS, coming=False))
            stream.listen(Flapped, lambda o: self._struck((o.card, o.gpu), "flap has struck it"))

    def _seen(self, o: RegisterChanged) -> None:
        if o.address == _TURN:
            self._changed[o.cell](o.value, o.cycle)
        elif o.address == _STATUS and o.cell in self._slices and o.value & BYPASSED:
            self._slices[o.cell].gone()
            self._tell(LeftRing(o.cycle, self._wiring.place(o.cell)))

    def _sent(self, command: SeenCommand, now: int) -> None:
        """The CPU sends a command."""
        slices = self._gpus.get(command.gpu)
        if slices is not None:
            slices.sent(command, now)

    def _answered(self, o: AnswerTaken) -> None:
        result = o.message
        slices = self._gpus.get((result.source_card, result.source))
        if slices is not None and isinstance(result, Result):
            slices.answered(result, o.cycle)

    def _struck_by(self, o: GpuStruck) -> None:
        """By a fault that makes it slow, or stand still until it leaves the ring; one that flaps says when."""
        if o.kind == "slow" and o.gpu in self._gpus:
            self._gpus[o.gpu].orders.slowed(slow=o.begins)
        elif o.kind in _STAND_STILL:
            self._struck(o.gpu, f"{o.kind} has struck it")

    def _struck(self, gpu: Gpu, why: str, *, coming: bool = True) -> None:
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
