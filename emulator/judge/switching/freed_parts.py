"""Whether the memory of a subtask is given back when its last launch is over, and all of it before its context goes
(docs/howto/switching.md, `pipelined`, W5).

Read off commands and answers: the key of a request's process is its number and one more.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.host.switching.plan import PlannedTask, SwitchPlan
from ringhil.emulator.judge.contexts.commands_seen import Place, SeenCommand
from ringhil.emulator.judge.contexts.context_events import CommandSent
from ringhil.emulator.judge.findings import say
from ringhil.emulator.judge.work.cpu_events import AnswerTaken
from ringhil.emulator.scenario import SwitchPolicyName
from ringhil.protocol.frames import Result
from ringhil.protocol.wire import Compute, ResultStatus


@dataclass(slots=True)
class _Process:
    """A request's, in a context. `ended`: launches that are over, `freed`: parts that were given back."""

    number: int
    task: PlannedTask
    ended: int = 0
    freed: int = 0

    @property
    def to_free(self) -> list[tuple[int, int]]:
        """Each part that takes memory: how many launches must be over before it is given back, and its pages."""
        subtasks = self.task.subtasks
        before_last = (self.task.steps - 1) * len(subtasks)
        return [(before_last + part + 1, each.pages) for part, each in enumerate(subtasks) if each.pages]


class FreedParts:
    """`is_lost`: whether anything was seen that may have cost a GPU its contexts."""

    def __init__(self, stream: Stream, plan: SwitchPlan | None, is_lost: Callable[[Gpu], bool]) -> None:
        pipelined = plan is not None and plan.policy == SwitchPolicyName.PIPELINED
        self._tasks = {w.number: w.task for w in plan.requests} if plan is not None and pipelined else {}
        self._is_lost = is_lost
        self._there: dict[Place, _Process] = {}
        self._launched: dict[tuple[Gpu, int], _Process] = {}  # by unit
        self._seen: set[tuple[Gpu, int]] = set()
        # Launches that were not over when a part was given back: an answer is told after what the CPU does with it.
        self._early: list[tuple[_Process, int, Gpu, str, int]] = []
        self._found: list[tuple[Gpu, str, int]] = []  # that a GPU is lost is told after what the CPU does with it, too
        self._wrong: list[str] = []
        if self._tasks:
            stream.listen(CommandSent, lambda o: self.sent(o.command, o.cycle))
            stream.listen(AnswerTaken, self._taken)

    def _taken(self, o: AnswerTaken) -> None:
        if isinstance(o.message, Result):
            self.heard(o.message, o.cycle)

    def sent(self, command: SeenCommand, now: int) -> None:
        """The CPU sends a command, which counts once however often it is asked for."""
        unit = (command.gpu, command.unit)
        if not self._tasks or unit in self._seen:
            return
        self._look(now)
        self._seen.add(unit)
        if command.compute is Compute.CREATE and command.key - 1 in self._tasks:
            number = command.key - 1
            self._there[command.place] = _Process(number, self._tasks[number])
        process = self._there.get(command.place)
        if process is None:
            return
        if command.compute is Compute.LAUNCH:
            self._launched[unit] = process
        elif command.compute is Compute.FREE:
            self._free(process, command, now)
        elif command.compute is Compute.DESTROY:
            del self._there[command.place]
            if process.freed < len(process.to_free):
                what = say("gives back {} of its {} parts before its context goes", process.freed, len(process.to_free))
                self._found.append(
                    (command.gpu, say("cycle {cycle}: request {} {}", process.number, what, cycle=now), now)
                )

    def _free(self, process: _Process, command: SeenCommand, now: int) -> None:
        name, order = say("cycle {cycle}: request {}", process.number, cycle=now), process.freed
        process.freed += 1
        if order >= len(process.to_free):
            self._found.append((command.gpu, say("{} gives back more parts than it has", name), now))
            return
        launches, pages = process.to_free[order]
        if command.amount != pages:
            what = say("{} gives back {} pages of a part that has {}", name, command.amount, pages)
            self._found.append((command.gpu, what, now))
        if process.ended < launches:
            self._early.append((process, launches, command.gpu, say("{} gives back a part that still runs", name), now))

    def _look(self, now: int) -> None:
        for process, launches, gpu, what, at in self._early:
            if at < now and process.ended < launches:
                self._found.append((gpu, what, at))
        self._early = [each for each in self._early if each[-1] >= now]
        self._wrong += [what for gpu, what, at in self._found if at < now and not self._is_lost(gpu)]
        self._found = [each for each in self._found if each[-1] >= now]

    def heard(self, result: Result, now: int) -> None:
        """The CPU has taken in what a GPU has answered."""
        self._look(now)
        unit = ((result.source_card, result.source), result.unit)
        if result.status == ResultStatus.DONE.code and unit in self._launched:
            self._launched.pop(unit).ended += 1

    def wrong(self, now: int) -> Iterator[str]:
        """What is not as it must be."""
        self._look(now + 1)
        yield from self._wrong
