"""How the commands of tasks, contexts and their GPUs go about it: memory, turns, launches, terms. Reads the stream, and
never acts on the run."""

from ringhil.emulator.judge.asked_steps import AskedSteps
from ringhil.emulator.judge.beginning import TasksBegin
from ringhil.emulator.judge.commands_seen import Place, SeenCommand, seen_command
from ringhil.emulator.judge.freed_parts import FreedParts
from ringhil.emulator.judge.given_back import GivenBack
from ringhil.emulator.judge.isolation import Isolation
from ringhil.emulator.judge.left_behind import LeftBehind
from ringhil.emulator.judge.no_entry import NoEntry
from ringhil.emulator.judge.one_by_one import OneByOne
from ringhil.emulator.judge.served import Served
from ringhil.emulator.judge.terms_watch import TermsWatch
from ringhil.emulator.judge.turn_watch import TurnWatch, gpus_with_contexts
from ringhil.emulator.kernel.observations import FromCpu
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server import LiveServer
from ringhil.emulator.server.observations import Flapped, PassedOn, Struck
from ringhil.protocol.frames import Acknowledgement, Result, Work
from ringhil.protocol.wire import CONTEXTS


class TasksConduct:
    """`silence`: cycles without a report after which a card isn't counted. Give it what the CPU takes in (`answered`,
    `reported`); the rest it hears itself."""

    def __init__(self, server: LiveServer, silence: int) -> None:
        self._server, self._wiring, self._cpu = server, server.wiring, server.cpu
        cards, places, plan = server.cpu.cards, _places(server), server.switching.plan
        self.isolation, self.turns = Isolation(server.scenario.server.settings.device_memory), TurnWatch(server)
        self.no_entry = NoEntry(server.cpu.config.patience)
        self.one_by_one = OneByOne(cards, places, self.no_entry.excuses)
        self.given_back, self.left_behind = GivenBack(cards, places), LeftBehind(cards, places, self._held)
        self.counted = TasksBegin(cards, silence)
        self.served = Served(plan, self._is_lost, self.counted)
        self.freed_parts = FreedParts(plan, self._is_lost)
        self.terms = _terms(server)
        self.steps = AskedSteps(server.scenario.sharing, _used(server), self.counted)
        listen = server.observations.listen
        listen(Struck, self._struck)
        listen(Flapped, lambda o: self._gpu_struck((o.card, o.gpu), o.cycle))
        listen(PassedOn, self._passed_on)
        listen(FromCpu, self._from_cpu)

    def _from_cpu(self, o: FromCpu) -> None:
        command = seen_command(o.frame)
        if command is not None:
            self._command_sent(command, o.cycle)
        elif o.frame[0] == Work.KIND:
            self.served.look(o.cycle)

    def _command_sent(self, command: SeenCommand, now: int) -> None:
        self.isolation.sent(command, now)
        self.one_by_one.sent(command, now)
        self.terms.sent(command, now)
        self.steps.sent(command, now)
        self.given_back.sent(command)
        self.left_behind.sent(command, now)
        self.served.sent(command, now)
        self.freed_parts.sent(command, now)
        self.turns.sent(command, now)

    def _passed_on(self, o: PassedOn) -> None:
        place = (o.card, o.gpu, o.context)
        self.one_by_one.passed_on(place)
        self.left_behind.unknown(place[:2])
        self.steps.passed_on(place)

    def _struck(self, o: Struck) -> None:
        if o.event.kind == "duplicate_id":
            self.one_by_one.struck(None)
            self.terms.lost(None)
            self.given_back.lost(None)
            self.left_behind.unknown(None)
            for card in self._cpu.cards:
                for number in range(card.size):
                    self.isolation.struck((card.number, number), o.cycle)
        if isinstance(o.event.target, GpuRef):
            gpu = (self._wiring.number(o.event.target.card), o.event.target.index)
            self._gpu_struck(gpu, o.cycle, slow=o.event.begins if o.event.kind == "slow" else None)

    def _gpu_struck(self, gpu: tuple[int, int], now: int, *, slow: bool | None = None) -> None:
        self.isolation.struck(gpu, now, slow=slow)
        self.one_by_one.struck(gpu)
        self.terms.lost(gpu)
        self.given_back.lost(gpu)
        self.turns.struck(gpu)

    def reported(self, card: int, now: int) -> None:
        """The CPU has taken in a report of this card."""
        self.one_by_one.counted(card, now)
        self.given_back.counted(card)
        self.left_behind.counted(card, now)
        self.isolation.counted(self._cpu.cards[card])
        self.terms.counted(self._cpu.cards[card])

    def answered(self, message: Result | Acknowledgement, now: int) -> None:
        """The CPU has taken in what a GPU has answered."""
        self.one_by_one.heard(message, now)
        self.terms.heard(message, now)
        self.steps.heard(message, now)
        self.given_back.heard(message)
        self.left_behind.heard(message, now)
        if isinstance(message, Result):
            self.isolation.answered(message, now)
            self.served.heard(message)
            self.freed_parts.heard(message, now)
            self.turns.answered(message, now)

    def _is_lost(self, gpu: tuple[int, int]) -> bool:
        return self.given_back.is_lost(gpu) or self.no_entry.excuses(gpu[0], self._server.kernel.now)

    def _held(self, gpu: tuple[int, int]) -> int:
        """Pages, as its register says."""
        return self._server.engine.peek(self._wiring.cell(*gpu), "memory_held")

    def finish(self, now: int, *, whole: bool) -> None:
        """The run is over. `whole`: it was played until its tasks had ended."""
        self.turns.finish(now)
        self.terms.finish(now)
        self.served.look(now + 1)
        ended = self._server.applications.finished and self._server.switching.finished
        self.one_by_one.finish(now, ended=ended)
        self.given_back.finish(now, ended=ended)
        self.left_behind.finish(now)
        reports = {name: report for name, (_, report) in self._server.applications.by_context().items()}
        self.steps.finish(reports, self.one_by_one.excused, now, whole=whole)


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
    shared = (place for place, _ in server.applications.by_context().values())
    places = [(place.card, place.gpu, place.context) for place in shared]
    if server.scenario.switching is not None:
        cells = map(server.wiring.cell_of, gpus_with_contexts(server.scenario))
        places += [(*server.wiring.place(cell), context) for cell in cells for context in range(1, CONTEXTS)]
    return places
