"""Checks how tasks, contexts and their GPUs keep to what was promised: memory, turns, launches, terms.

It reads the stream, and never acts on the run.
"""

from ringhil.emulator.events.hardware import FromCpu
from ringhil.emulator.events.server import Flapped, PassedOn, Struck
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.host.tasks.training import TaskReport
from ringhil.emulator.judge.contexts.absent_gpus import Away, NoEntry
from ringhil.emulator.judge.contexts.asked_steps import AskedSteps
from ringhil.emulator.judge.contexts.attempts import Attempts
from ringhil.emulator.judge.contexts.commands_seen import TWINS, Place, SeenCommand, seen_command
from ringhil.emulator.judge.contexts.given_back import GivenBack
from ringhil.emulator.judge.contexts.isolation import Isolation
from ringhil.emulator.judge.contexts.left_behind import LeftBehind
from ringhil.emulator.judge.contexts.one_by_one import OneByOne
from ringhil.emulator.judge.contexts.terms_watch import TermsWatch
from ringhil.emulator.judge.contexts.turn_watch import TurnWatch
from ringhil.emulator.judge.switching.freed_parts import FreedParts
from ringhil.emulator.judge.switching.served import LostGpus, Served
from ringhil.emulator.judge.work.beginning import TasksBegin
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server import LiveServer
from ringhil.protocol.frames import Acknowledgement, Result, Work
from ringhil.protocol.wire import CONTEXTS

_STAND_STILL = ("dead", "hang")  # a GPU struck by one, until it leaves the ring; one that flaps says when


class TasksConduct:
    """`silence`: cycles without a report after which a card isn't counted. Give it what the CPU takes in (`answered`,
    `reported`); the rest it hears itself."""

    def __init__(self, server: LiveServer, silence: int) -> None:
        self._server, self._wiring, self._cpu = server, server.wiring, server.cpu
        cards, places, plan = server.cpu.cards, _places(server), server.switching.plan
        self.isolation = Isolation(server.scenario.server.settings.device_memory)
        self.turns = TurnWatch(server, self._left_ring)
        self._twins: dict[Gpu, set[Gpu]] = {}  # by who answers by another one's number: both of them
        patience = server.cpu.config.patience
        self._no_entry, self._away = NoEntry(patience), Away(cards)
        self.attempts = Attempts(cards, places, self._no_entry, patience, self._fell_silent)
        self.one_by_one = OneByOne(cards, places, self._no_entry.excuses, _of_requests(server))
        self.given_back = GivenBack(cards, places, self._no_entry.lasts)
        self.left_behind = LeftBehind(cards, places, self._held)
        self.counted = TasksBegin(cards, silence)
        lost = LostGpus(
            plan,
            self.counted,
            lambda: server.kernel.now,
            given_back=self.given_back,
            away=self._away,
            no_entry=self._no_entry,
        )
        self.served = Served(plan, lost.is_lost, self.counted)
        self.freed_parts = FreedParts(plan, lost.is_lost)
        self.terms = _terms(server)
        self.steps = AskedSteps(server.scenario.sharing, _used(server), self.counted)
        listen = server.observations.listen
        listen(Struck, self._struck)
        listen(Flapped, lambda o: self.turns.struck((o.card, o.gpu), "flap has struck it"))
        listen(PassedOn, self._passed_on)
        listen(FromCpu, self._from_cpu)

    def _from_cpu(self, o: FromCpu) -> None:
        command = seen_command(o.frame)
        if command is not None:
            self._command_sent(command, o.cycle)
        elif o.frame[0] == Work.KIND:
            self.served.look(o.cycle)

    def _command_sent(self, command: SeenCommand, now: int) -> None:
        if self._no_entry.anywhere:
            self.attempts.look(now)
        self.attempts.sent(command, now)
        self.isolation.sent(command, now)
        self.one_by_one.sent(command, now)
        self.terms.sent(command, now)
        self.steps.sent(command, now)
        self.given_back.sent(command, now)
        self.left_behind.sent(command, now)
        self.served.sent(command, now)
        self.freed_parts.sent(command, now)
        self.turns.sent(command, now)

    def _fell_silent(self, command: SeenCommand, since: int, now: int) -> None:
        """It may have been given up between these cycles."""
        self.one_by_one.fell_silent(command, since, now)
        self.given_back.fell_silent(command, now)
        self.left_behind.fell_silent(command)

    def granted(self, card: int, now: int) -> None:
        """The CPU has granted the lease of this card's entry GPU."""
        self._no_entry.granted(card, now)
        self.attempts.look(now)

    def lapsed(self, card: int, now: int) -> None:
        """It has run out."""
        self._no_entry.lapsed(card, now)

    def _passed_on(self, o: PassedOn) -> None:
        place = (o.card, o.gpu, o.context)
        self.attempts.passed_on(place)
        self.one_by_one.passed_on(place)
        self.given_back.passed_on(place, o.cycle)
        self.left_behind.passed_on(place)
        self.terms.passed_on(place)
        self.steps.passed_on(place)
        self.served.passed_on(place)

    def _struck(self, o: Struck) -> None:
        if not isinstance(o.event.target, GpuRef):
            return
        gpu = (self._wiring.number(o.event.target.card), o.event.target.index)
        kind, begins = o.event.kind, o.event.begins
        if kind == "slow":
            self.isolation.slowed(gpu, o.cycle, slow=begins)
            self.turns.slowed(gpu, slow=begins)
        elif kind in _STAND_STILL:
            self.turns.struck(gpu, f"{kind} has struck it")
        elif kind == "duplicate_id":
            self._mixes_up(gpu, begins=begins)

    def _mixes_up(self, gpu: Gpu, *, begins: bool) -> None:
        """This GPU, and the one before it, answer by one number; which of them does what it is asked isn't known."""
        card, number = gpu
        pair = {gpu, (card, (number - 1) % self._cpu.cards[card].size)}
        if begins:
            self._twins[gpu] = pair
        else:
            self._twins.pop(gpu, None)
        for each in sorted(pair):
            self.isolation.doubt(each)
            self.left_behind.mixed_up(each)
            self.one_by_one.mixed_up(each)
            self.turns.struck(each, TWINS, coming=False)

    def _left_ring(self, gpu: Gpu, now: int) -> None:
        """Its contexts are gone."""
        doubtful = any(gpu in pair for pair in self._twins.values())
        self.isolation.gone(gpu, now, known=not doubtful)
        if not doubtful:
            self.left_behind.emptied(gpu)
            self.one_by_one.emptied(gpu)

    def reported(self, card: int, now: int) -> None:
        """The CPU has taken in a report of this card."""
        self._away.counted(card, now)
        self.attempts.counted(card)
        self.one_by_one.counted(card, now)
        self.given_back.counted(card)
        self.left_behind.counted(card, now)
        self.isolation.counted(self._cpu.cards[card])
        self.terms.counted(self._cpu.cards[card])

    def answered(self, message: Result | Acknowledgement, now: int) -> None:
        """The CPU has taken in what a GPU has answered."""
        self.attempts.heard(message)
        self.one_by_one.heard(message, now)
        self.terms.heard(message, now)
        self.steps.heard(message, now)
        self.given_back.heard(message, now)
        self.left_behind.heard(message, now)
        if isinstance(message, Result):
            self.isolation.answered(message, now)
            self.served.heard(message)
            self.freed_parts.heard(message, now)
            self.turns.answered(message, now)
        else:
            self.isolation.refused(message)

    def excused(self, place: Place, report: TaskReport, by: int | None = None) -> bool:
        """Whether anything was seen, while it worked, for which an application with this context may end early; `by`:
        or until then, as it asked what its steps had taken."""
        if report.began is None:
            return False
        end = report.ended if by is None else by
        end = self._server.kernel.now if end is None else end
        gpu = place[:2]
        seen = self.one_by_one.excused(place) or self.one_by_one.waits_in_vain(gpu, report.began, end)
        return seen or self._away.within(gpu, report.began, end)

    def _held(self, gpu: Gpu) -> int:
        """Pages, as its register says."""
        return self._server.engine.peek(self._wiring.cell(*gpu), "memory_held")

    def doubts(self) -> dict[str, str]:
        """What of memory, turns and launches can't be judged, and why; by that the invariant that it might break."""
        memory = (*self.terms.doubts, *self.given_back.doubts, *self.left_behind.doubts)
        told = dict.fromkeys((*self.isolation.doubts,), "memory_isolated")
        for invariant, doubts in (("slice_kept", self.turns.doubts), ("memory_isolated", memory)):
            told |= {text: invariant for text in doubts if text not in told}
        return told

    def finish(self, now: int, *, whole: bool) -> None:
        """The run is over. `whole`: it was played until its tasks had ended."""
        self.attempts.look(now)
        self.turns.finish(now)
        self.terms.finish(now)
        self.served.look(now + 1)
        ended = self._server.applications.finished and self._server.switching.finished
        self.one_by_one.finish(now, ended=ended)
        self.given_back.finish(now, ended=ended)
        self.left_behind.finish(now)
        reports = {name: report for name, (_, report) in self._server.applications.by_context().items()}
        excused = {place for name, place in _used(self._server).items() if self.excused(place, reports[name])}
        self.steps.finish(reports, excused, now, whole=whole)


def _terms(server: LiveServer) -> TermsWatch:
    sharing, wiring = server.scenario.sharing, server.wiring
    gpus = {a.name: wiring.place(wiring.cell_of(a.gpu)) for a in (sharing.applications if sharing else ())}
    reports = {name: report for name, (_, report) in server.applications.by_context().items()}

    def works(name: str) -> bool:
        return reports[name].began is not None and reports[name].ended is None

    return TermsWatch(sharing, server.process_groups, _used(server), gpus, works)


def _used(server: LiveServer) -> dict[str, Place]:
    """By application, its context."""
    return {name: (p.card, p.gpu, p.context) for name, (p, _) in server.applications.by_context().items()}


def _places(server: LiveServer) -> list[Place]:
    """Contexts of the file's tasks."""
    return [*_used(server).values(), *_of_requests(server)]


def _of_requests(server: LiveServer) -> list[Place]:
    """Contexts that a policy may use for them."""
    if server.scenario.switching is None:
        return []
    cells = map(server.wiring.cell_of, server.scenario.gpus_with_contexts)
    return [(*server.wiring.place(cell), context) for cell in cells for context in range(1, CONTEXTS)]
