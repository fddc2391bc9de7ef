"""What the CPU has made of the frames that have come to it: derived once for all parts of the judge, and told on the
same stream; and when it has looked whether its cards still report.

Of every frame that it has read and that is no election's, exactly one of three events is told.
"""

from collections.abc import Callable
from typing import Annotated, ClassVar

from ringhil.emulator.events.fields import Card, Cycle
from ringhil.emulator.events.server import TakenIn
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.judge.elections.seat_events import ELECTIONS
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol import codec
from ringhil.protocol.frames import Acknowledgement, Report, Result
from ringhil.protocol.values import value


@value(frozen=True, slots=True)
class AnswerTaken:
    """The CPU has taken in what a GPU has answered, sound and not fenced off."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    message: Annotated[Result | Acknowledgement, "the answer"]
    of_work: Annotated[bool, "of a unit of the work; otherwise of a command to a context"]
    booked: Annotated[bool, "the unit counts as done from now on"]


@value(frozen=True, slots=True)
class ReportTaken:
    """The CPU has taken in a report, sound and not fenced off: it knows who is there."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    card: Card


@value(frozen=True, slots=True)
class NothingTaken:
    """The CPU has read a frame of which it makes nothing: damaged, fenced off, or one that it doesn't know."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle


@value(frozen=True, slots=True)
class CpuLooked:
    """The CPU has just looked whether its cards still report; nothing else has happened since."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle


class CpuEvents:
    """The translator. `remind`: have something done at a cycle, before anything else there; `half`: every so many
    cycles the CPU looks."""

    def __init__(
        self,
        stream: Stream,
        wiring: Wiring,
        cpu: Cpu,
        remind: Callable[[int, Callable[[], None]], None],
        half: int,
    ) -> None:
        self._wiring, self._cpu, self._remind, self._half = wiring, cpu, remind, half
        self._tell = stream.tell
        self._completed = self._fenced = 0
        stream.listen(TakenIn, self._taken_in)
        self._look_after(0)

    def _look_after(self, now: int) -> None:
        at = (now // self._half + 1) * self._half + 1
        self._remind(at, lambda: self._look(at))

    def _look(self, now: int) -> None:
        self._tell(CpuLooked(now))
        self._look_after(now)

    def _taken_in(self, o: TakenIn) -> None:
        work, kind = self._cpu.work, o.frame[0]
        booked, fenced = work.completed - self._completed, work.fenced - self._fenced
        self._completed, self._fenced = work.completed, work.fenced
        if kind in ELECTIONS:
            return
        message = None
        if not o.bad and not fenced and kind in (Result.KIND, Acknowledgement.KIND):
            message = _decoded(o.frame)
        if isinstance(message, (Result, Acknowledgement)):
            of_work = message.unit < work.units and message.source_card < len(self._cpu.cards)
            self._tell(AnswerTaken(o.cycle, message, of_work, bool(booked)))
        elif kind == Report.KIND and not o.bad and not fenced:
            self._tell(ReportTaken(o.cycle, self._wiring.place(o.cell)[0]))
        else:
            self._tell(NothingTaken(o.cycle))


def _decoded(frame: bytes) -> object:
    try:
        return codec.decode(frame, link=False)
    except codec.FrameError:
        return None
