"""What happens to contexts and their GPUs: derived from frames and faults once for all parts of the judge, and told on
the same stream."""

from typing import Annotated, ClassVar

from ringhil.emulator.events.fields import Cycle
from ringhil.emulator.events.hardware import FromCpu
from ringhil.emulator.events.server import Struck
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.judge.contexts.commands_seen import SeenCommand, seen_command
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol.values import value

_Gpu = Annotated[Gpu, "card, and number in it"]


@value(frozen=True, slots=True)
class CommandSent:
    """The CPU sends a command to a context; told with its first segment, each time that it goes out."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    command: Annotated[SeenCommand, "as it is in the frame"]


@value(frozen=True, slots=True)
class FellSilent:
    """A command has had so many attempts that it may have been given up between two cycles."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Annotated[int, "the latter of the two: now"]
    command: Annotated[SeenCommand, "its last attempt that was seen"]
    since: Annotated[int, "cycle of that attempt"]


@value(frozen=True, slots=True)
class GpuStruck:
    """A fault of a GPU begins or ends (`Struck`)."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    gpu: _Gpu
    kind: Annotated[str, "name of the fault"]
    begins: Annotated[bool, "it begins; it ends otherwise"]


@value(frozen=True, slots=True)
class MixedUp:
    """A GPU has begun, or ceased, to share a number with another one: nobody knows which of them does what."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    gpu: _Gpu


@value(frozen=True, slots=True)
class LeftRing:
    """The switch of a GPU with contexts of the file has left the ring: its contexts are gone."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    gpu: _Gpu


@value(frozen=True, slots=True)
class ContextsGone:
    """A GPU has lost its contexts."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    gpu: _Gpu
    known: Annotated[bool, "nobody else answers by its number: there is nothing in it, for sure"]


class ContextEvents:
    """The translator; `LeftRing` is told by `TurnWatch`, which has the register watched."""

    def __init__(self, stream: Stream, wiring: Wiring) -> None:
        self._wiring, self._tell = wiring, stream.tell
        self._twins: dict[Gpu, set[Gpu]] = {}  # by who answers by another one's number: both of them
        stream.listen(FromCpu, self._sent)
        stream.listen(Struck, self._struck)
        stream.listen(LeftRing, self._left_ring)

    def _sent(self, o: FromCpu) -> None:
        command = seen_command(o.frame)
        if command is not None:
            self._tell(CommandSent(o.cycle, command))

    def _struck(self, o: Struck) -> None:
        if not isinstance(o.event.target, GpuRef):
            return
        gpu = self._wiring.place(self._wiring.cell_of(o.event.target))
        self._tell(GpuStruck(o.cycle, gpu, o.event.kind, o.event.begins))
        if o.event.kind == "duplicate_id":
            self._mixes_up(gpu, o.cycle, begins=o.event.begins)

    def _mixes_up(self, gpu: Gpu, now: int, *, begins: bool) -> None:
        """This GPU, and the one before it, answer by one number."""
        card, number = gpu
        pair = {gpu, (card, (number - 1) % self._wiring.cards[card].gpus)}
        if begins:
            self._twins[gpu] = pair
        else:
            self._twins.pop(gpu, None)
        for each in sorted(pair):
            self._tell(MixedUp(now, each))

    def _left_ring(self, o: LeftRing) -> None:
        doubtful = any(o.gpu in pair for pair in self._twins.values())
        self._tell(ContextsGone(o.cycle, o.gpu, not doubtful))
