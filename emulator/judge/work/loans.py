"""The judge's own account of GPUs that are lent: by what was asked for, by frames and answers, and by the registers.

A GPU without contexts that the census counts is lent when its last unit is done, or has gone elsewhere, and no other
GPU is; until it is back nothing is sent to it. Whether a GPU has contexts is read off commands and answers: for sure,
or only perhaps where an answer is missing. Perhaps is reason enough not to lend it, and none why it may not be lent.
"""

from collections.abc import Callable, Sequence

from ringhil.emulator.events.hardware import FromCpu
from ringhil.emulator.events.server import Draining, LoanAsked, NotLent, Struck
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.judge.contexts.commands_seen import Place, SeenCommand
from ringhil.emulator.judge.contexts.context_events import CommandSent, ContextsGone, FellSilent, MixedUp
from ringhil.emulator.judge.findings import FindingList, Name, say
from ringhil.emulator.judge.oracle import Loan, LoanTruth
from ringhil.emulator.judge.work.cpu_events import AnswerTaken, CpuLooked, ReportTaken
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol.frames import Acknowledgement, Work
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

_AT_ONCE = 1  # cycles after its last unit
_SEEN = 2  # cycles until a register says what was written
_GONE = (AckStatus.NO_CONTEXT.code, AckStatus.FOREIGN.code)


class _Contexts:
    """Contexts of all GPUs, as far as frames tell."""

    def __init__(self, stream: Stream) -> None:
        self.sure: set[Place] = set()
        self.perhaps: set[Place] = set()
        self._asked: dict[tuple[int, Gpu], SeenCommand] = {}
        stream.listen(CommandSent, self._sent)
        stream.listen(AnswerTaken, self._heard)
        stream.listen(ContextsGone, lambda o: self.doubt(o.gpu))
        stream.listen(MixedUp, lambda o: self.doubt(o.gpu))
        stream.listen(FellSilent, lambda o: self.doubt(o.command.gpu))

    def doubt(self, gpu: Gpu) -> None:
        """What was sure there isn't any more."""
        there = {place for place in self.sure if place[:2] == gpu}
        self.sure -= there
        self.perhaps |= there

    def on(self, gpu: Gpu, *, surely: bool) -> bool:
        """Whether a GPU has any."""
        return any(place[:2] == gpu for place in (self.sure if surely else self.sure | self.perhaps))

    def _sent(self, o: CommandSent) -> None:
        self._asked[o.command.unit, o.command.gpu] = o.command
        if o.command.compute is Compute.CREATE and o.command.place not in self.sure:
            self.perhaps.add(o.command.place)
        elif o.command.compute is Compute.DESTROY and o.command.place in self.sure:
            self.sure.discard(o.command.place)
            self.perhaps.add(o.command.place)

    def _heard(self, o: AnswerTaken) -> None:
        message = o.message
        asked = self._asked.get((message.unit, (message.source_card, message.source)))
        if asked is None:
            return
        if isinstance(message, Acknowledgement):
            if message.status in _GONE:
                self._move(asked.place, self.perhaps, there=False)
        elif message.status == ResultStatus.DONE.code and asked.compute is Compute.CREATE:
            self._move(asked.place, self.sure, there=True)
        elif message.status == ResultStatus.DONE.code and asked.compute is Compute.DESTROY:
            self._move(asked.place, self.perhaps, there=False)

    def _move(self, place: Place, to: set[Place], *, there: bool) -> None:
        self.sure.discard(place)
        self.perhaps.discard(place)
        if there:
            to.add(place)


class Loans:
    """`views`: what the CPU knows of its cards. `units`: how many units of work a GPU has by now. `register`: what its
    `lent` says; `reported`: who is lent by the report of a card."""

    def __init__(
        self,
        stream: Stream,
        wiring: Wiring,
        views: Sequence[CardView],
        truth: LoanTruth,
        units: Callable[[Gpu, int], int],
        register: Callable[[int], int],
        reported: Callable[[CardView], tuple[int, ...]],
    ) -> None:
        self._wiring, self._views, self._units = wiring, views, units
        self._register, self._reported = register, reported
        self.truth, self.wrong = truth, FindingList()
        self._contexts = _Contexts(stream)
        self._due: dict[Gpu, tuple[int, Loan]] = {}  # by which cycle something has to follow, and what
        self._written: dict[Gpu, int] = {}  # when its register was last
        self._idle: dict[Gpu, int] = {}  # since when a GPU that leaves has had no work
        stream.listen(LoanAsked, self._asked)
        stream.listen(Draining, self._drains)
        stream.listen(NotLent, self._stays)
        stream.listen(Struck, self._struck)
        stream.listen(FromCpu, self._sent)
        stream.listen(AnswerTaken, lambda o: self._look(o.cycle))
        stream.listen(ReportTaken, self._counted)
        stream.listen(CpuLooked, lambda o: self._look(o.cycle))

    def _asked(self, o: LoanAsked) -> None:
        gpu = self._wiring.place(o.cell)
        self._look(o.cycle)
        # A GPU that has contexts perhaps may stay, or drain: what the CPU says is taken.
        can = self._lendable(gpu)
        wanted = self.truth.asked(gpu, lendable=can is not False) if o.lend else self.truth.taken_back(gpu)
        if wanted is not Loan.NOTHING:
            self._due[gpu] = (o.cycle, wanted)

    def _lendable(self, gpu: Gpu) -> bool | None:
        """None: it can't be told."""
        if gpu[1] not in self._views[gpu[0]].members or self._contexts.on(gpu, surely=True):
            return False
        return None if self._contexts.on(gpu, surely=False) else True

    def _drains(self, o: Draining) -> None:
        gpu = self._wiring.place(o.cell)
        if self._due.pop(gpu, (0, None))[1] is not Loan.DRAINS:
            self._tell(gpu, o.cycle, "drains at cycle {}, and can't be lent", o.cycle)

    def _stays(self, o: NotLent) -> None:
        gpu = self._wiring.place(o.cell)
        due = self._due.pop(gpu, (0, None))[1]
        self._idle.pop(gpu, None)
        if due is Loan.STAYS:
            return
        drained = gpu in self.truth.leaving
        self.truth.leaving.discard(gpu)
        if not drained or self._lendable(gpu):
            self._tell(gpu, o.cycle, "is not lent at cycle {}, and could be", o.cycle)

    def _struck(self, o: Struck) -> None:
        if not o.event.lends or not isinstance(o.event.target, GpuRef):
            return
        cell, now = self._wiring.cell_of(o.event.target), o.cycle
        gpu = self._wiring.place(cell)
        self._written[gpu] = now
        if o.event.begins:
            units = self._units(gpu, now)
            self._idle.pop(gpu, None)
            if gpu not in self.truth.leaving:
                self._tell(gpu, now, "is lent at cycle {}, and nobody has asked for it", now)
            if units:
                self._tell(gpu, now, "is lent at cycle {} with {} units of work", now, units)
            if self.truth.over(gpu, lendable=self._lendable(gpu) is not False) is Loan.STAYS:
                self._tell(gpu, now, "is lent at cycle {}, and can't be", now)
                self.truth.lent.add(gpu)
        elif self._due.pop(gpu, (0, None))[1] is not Loan.COMES_BACK:
            self._tell(gpu, now, "comes back at cycle {}, and nobody has asked for it", now)
            self.truth.lent.discard(gpu)

    def _sent(self, o: FromCpu) -> None:
        if o.frame[0] != Work.KIND or not (self.truth.lent or self.truth.leaving):
            return
        _, card, _, _, number, _, unit, _, _, segment, _, _, compute, _, _ = Work.HEAD.unpack_from(o.frame)
        gpu = (card, number)
        if gpu in self.truth.lent or (gpu in self.truth.leaving and not compute and not segment):
            state = "lent" if gpu in self.truth.lent else "about to be"
            self._tell(gpu, o.cycle, "is {}, and unit {} was sent to it at cycle {}", state, unit, o.cycle)

    def _counted(self, o: ReportTaken) -> None:
        view = self._views[o.card]
        for gpu in range(view.size) if view.members else ():
            if gpu not in view.members:
                self._contexts.doubt((o.card, gpu))
        self._look(o.cycle)

    def _look(self, now: int) -> None:
        """What had to follow by now must have."""
        for gpu, (by, wanted) in [(gpu, due) for gpu, due in self._due.items() if due[0] < now]:
            del self._due[gpu]
            self._tell(gpu, now, "{}: that was due at cycle {}, and nothing followed", wanted, by)
        for gpu in sorted(self.truth.leaving):
            if self._units(gpu, now):
                self._idle.pop(gpu, None)
            elif self._idle.setdefault(gpu, now) + _AT_ONCE < now:
                self._tell(gpu, now, "has had no work since cycle {}, and is not lent yet", self._idle[gpu])
                self._idle[gpu] = now

    def finish(self, now: int) -> None:
        """The run is over."""
        self._look(now)
        for view in self._views:
            reported = self._reported(view)
            for number in range(view.size):
                gpu = (view.number, number)
                if now <= self._written.get(gpu, -_SEEN) + _SEEN:
                    continue
                lent = gpu in self.truth.lent
                said = bool(self._register(self._wiring.cell(*gpu)))
                if said != lent:
                    text = "has {found} in its register `lent`, not {expected}"
                    self._tell(gpu, now, text, found=int(said), expected=int(lent))
                if (number in reported) != lent:
                    self._tell(gpu, now, "is {}, and the report says something else", "lent" if lent else "not lent")

    def _tell(self, gpu: Gpu, now: int, text: str, *values: object, **named: object) -> None:
        name = Name(f"{self._views[gpu[0]].name}.{gpu[1]}")
        self.wrong.tell(now, say("{} {}", name, say(text, *values, **named)))
