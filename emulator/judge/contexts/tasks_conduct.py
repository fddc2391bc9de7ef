"""Checks how tasks, contexts and their GPUs keep to what was promised: memory, turns, launches, terms.

It reads the stream, and never acts on the run. Its parts listen themselves. Where a file has no tasks, those that are
about tasks hear nothing: they could find nothing.
"""

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.host.tasks.training import TaskReport
from ringhil.emulator.judge.contexts.absent_gpus import Away, NoEntry
from ringhil.emulator.judge.contexts.asked_steps import AskedSteps
from ringhil.emulator.judge.contexts.attempts import Attempts
from ringhil.emulator.judge.contexts.commands_seen import Place
from ringhil.emulator.judge.contexts.context_events import ContextEvents
from ringhil.emulator.judge.contexts.given_back import GivenBack
from ringhil.emulator.judge.contexts.isolation import Isolation
from ringhil.emulator.judge.contexts.left_behind import LeftBehind
from ringhil.emulator.judge.contexts.one_by_one import OneByOne
from ringhil.emulator.judge.contexts.terms_watch import TermsWatch
from ringhil.emulator.judge.contexts.turn_watch import TurnWatch
from ringhil.emulator.judge.switching.freed_parts import FreedParts
from ringhil.emulator.judge.switching.served import LostGpus, Served
from ringhil.emulator.judge.work.beginning import TasksBegin
from ringhil.emulator.server import LiveServer
from ringhil.protocol.wire import CONTEXTS


class TasksConduct:
    """`counted`: when tasks may begin. The order in which parts are made is the one in which they hear of an event: who
    asks another one what it knows is made after it."""

    def __init__(self, server: LiveServer, counted: TasksBegin) -> None:
        self._server, self._wiring = server, server.wiring
        stream, cards, patience = server.observations, server.cpu.cards, server.cpu.config.patience
        places, plan = _places(server), server.switching.plan
        of_tasks = stream if places else Stream()
        ContextEvents(stream, server.wiring)
        self._no_entry, self._away = NoEntry(of_tasks, patience), Away(of_tasks, cards)
        self.attempts = Attempts(of_tasks, cards, places, self._no_entry, patience)
        # Drivers outside have contexts without tasks, and a GPU may hold what nobody has asked it for.
        self.isolation = Isolation(stream, server.scenario.server.settings.device_memory, cards)
        self.one_by_one = OneByOne(of_tasks, cards, places, self._no_entry.excuses, _of_requests(server))
        self.terms = _terms(server)
        self.steps = AskedSteps(of_tasks, server.scenario.sharing, _used(server), counted)
        self.given_back = GivenBack(of_tasks, cards, places, self._no_entry.lasts)
        self.left_behind = LeftBehind(stream, cards, places, self._held)
        lost = LostGpus(
            plan,
            counted,
            lambda: server.kernel.now,
            given_back=self.given_back,
            away=self._away,
            no_entry=self._no_entry,
        )
        self.served = Served(of_tasks, plan, lost.is_lost, counted)
        self.freed_parts = FreedParts(of_tasks, plan, lost.is_lost)
        self.turns = TurnWatch(server)

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

    return TermsWatch(server.observations, server.cpu.cards, sharing, server.process_groups, _used(server), gpus, works)


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
