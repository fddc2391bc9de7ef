"""What each application asks of its GPU, beside what its file says (docs/howto/sharing.md, S4).

When it begins, how much memory it takes, and what each of its steps copies and computes: read off its commands, which
carry its own key, and their answers. In a step it works on the CPU first, so nothing of the step is asked before that
time has passed since the last answer. An application that goes on `again` ends when all others have done their steps,
and not before.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ringhil.emulator.events.server import PassedOn
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.tasks.training import TaskReport
from ringhil.emulator.judge.contexts.commands_seen import MANAGER, REACHED_NOBODY, Place, SeenCommand
from ringhil.emulator.judge.contexts.context_events import CommandSent
from ringhil.emulator.judge.findings import FindingList, Value, say
from ringhil.emulator.judge.work.beginning import TasksBegin
from ringhil.emulator.judge.work.cpu_events import AnswerTaken
from ringhil.emulator.scenario import Application, Sharing
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import Compute, Query, ResultStatus

_NOT_OF_THE_GPU = [each.code for each in Query if each is not Query.GPU]
_HIGH = 32  # bits below it
_LOW = (1 << _HIGH) - 1


@dataclass(slots=True)
class _Asked:
    command: SeenCommand
    refused: bool = False  # a launch that is asked for under another number


@dataclass(slots=True)
class _Task:
    """`created`: when it asked for its context; `answered`: when it has heard something last; `ready`: when it had its
    memory; `done`: when its launches were over; `switches`: those that the GPU has told it of; `ended`: when it has
    asked for what it asks for at its end."""

    file: Application
    created: int | None = None
    there: dict[bool, int] = field(default_factory=dict)  # pages that it may have, and that the GPU has
    held: int = 0
    asked: dict[int, _Asked] = field(default_factory=dict)  # what isn't answered, by unit
    last: _Asked | None = None
    answered: int = 0
    begun: bool = False  # the GPU part of a step
    copied: bool = False  # in this step
    done: list[int] = field(default_factory=list)
    ready: int | None = None
    switches: int | None = None
    ended: int | None = None

    @property
    def told(self) -> int | None:
        """Pages; None: nobody knows."""
        return min(self.there.values()) if len(self.there) > 1 else None

    @property
    def trained(self) -> int | None:
        """When its own steps were done."""
        return self.done[self.file.steps - 1] if len(self.done) >= self.file.steps else None


class AskedSteps:
    """`places`: by application, the context that it uses. `counted`: when the cards were."""

    def __init__(
        self, stream: Stream, sharing: Sharing | None, places: Mapping[str, Place], counted: TasksBegin
    ) -> None:
        self._tasks = {places[each.name]: _Task(each) for each in (sharing.applications if sharing else ())}
        self._counted = counted
        self._disturbed = False
        self.wrong = FindingList()
        if self._tasks:
            stream.listen(CommandSent, lambda o: self.sent(o.command, o.cycle))
            stream.listen(AnswerTaken, lambda o: self.heard(o.message, o.cycle))
            stream.listen(PassedOn, lambda o: self.passed_on((o.card, o.gpu, o.context)))

    def passed_on(self, place: Place) -> None:
        """A driver outside speaks to this context: what its application does can't be told any more, nor when it
        was the last."""
        if self._tasks.pop(place, None) is not None:
            self._disturbed = True

    def sent(self, command: SeenCommand, now: int) -> None:
        """The CPU sends a command; it is looked at only once."""
        task = self._tasks.get(command.place)
        if task is None or (task.last is not None and command.unit <= task.last.command.unit):
            return
        compute, amount = command.compute, command.amount
        if compute is Compute.CREATE and task.created is None:
            task.created = now
        if command.key == MANAGER or (compute is Compute.DESTROY and task.ended is None):
            return  # the context may have been lost meanwhile, and nobody has told its task
        before = task.last
        if before is not None and not before.refused and before.command.unit in task.asked:
            # An answer is told after what the CPU does with it.
            task.answered = now
            if before.command.compute is Compute.LAUNCH:
                task.begun = task.copied = False
        task.last = task.asked[command.unit] = _Asked(command)
        if compute in (Compute.COPY, Compute.LAUNCH):
            self._step(task, command, now)
        elif compute is Compute.ALLOCATE and amount > task.file.piece:
            self._tell(
                task,
                say(
                    "asks for {found} pages at a time; its file says {expected}", found=amount, expected=task.file.piece
                ),
                now,
            )
        elif compute is Compute.QUERY and amount == Query.RUN_TIME.code and task.ended is None:
            task.ended = now

    def _step(self, task: _Task, command: SeenCommand, now: int) -> None:
        file = task.file
        if not task.begun and now < task.answered + file.host:
            worked = now - task.answered
            self._tell(
                task,
                say(
                    "works on the CPU for {found} cycles in a step; its file says {expected}",
                    found=worked,
                    expected=file.host,
                ),
                now,
            )
        task.begun = True
        if command.compute is Compute.COPY:
            task.copied = True
            if command.data_bytes != file.input:
                self._tell(
                    task,
                    say(
                        "copies {found} bytes in a step; its file says {expected}",
                        found=command.data_bytes,
                        expected=file.input,
                    ),
                    now,
                )
            return
        if command.amount != file.compute:
            self._tell(
                task,
                say(
                    "computes {found} cycles in a step; its file says {expected}",
                    found=command.amount,
                    expected=file.compute,
                ),
                now,
            )
        if file.input and not task.copied:
            self._tell(task, say("copies nothing in a step; its file says {expected} bytes", expected=file.input), now)

    def _tell(self, task: _Task, what: str, now: int) -> None:
        self.wrong.tell(now, "{} {}", Value(task.file.name), what)

    def heard(self, message: Result | Acknowledgement, now: int) -> None:
        """The CPU has taken in what a GPU has answered."""
        for place, task in self._tasks.items():
            asked = task.asked.get(message.unit)
            if asked is not None and place[:2] == (message.source_card, message.source):
                self._answered(task, asked, message, now)

    def _answered(self, task: _Task, asked: _Asked, message: Result | Acknowledgement, now: int) -> None:
        if isinstance(message, Acknowledgement) and message.status in REACHED_NOBODY:
            return
        launch = asked.command.compute is Compute.LAUNCH
        if isinstance(message, Result) and launch and message.status == ResultStatus.STARTED.code:
            return
        del task.asked[message.unit]
        task.answered = now
        if not isinstance(message, Result):
            return
        if launch and message.status == ResultStatus.RUNNING.code:
            asked.refused = True
        elif message.status == ResultStatus.DONE.code:
            self._done(task, asked, message.digest, now)

    def _done(self, task: _Task, asked: _Asked, digest: int, now: int) -> None:
        compute, amount = asked.command.compute, asked.command.amount
        memory = amount == Query.MEMORY.code
        if compute is Compute.QUERY and (memory or amount not in _NOT_OF_THE_GPU):
            task.there.setdefault(memory, digest & _LOW)
            task.ready = now
        elif compute is Compute.QUERY and amount == Query.COUNTS.code:
            task.switches = digest >> _HIGH
        elif compute is Compute.ALLOCATE:
            task.held += amount
            task.ready = now
        elif compute is Compute.LAUNCH:
            task.done.append(now)
            if task.last is asked:
                task.begun = task.copied = False

    # ------------------------------------------------------------------------------------------------------ the end

    def finish(self, reports: Mapping[str, TaskReport], excused: Collection[Place], now: int, *, whole: bool) -> None:
        """The run is over. `reports`: what the applications say themselves; `excused`: where there was a
        reason to end early; `whole`: no file has said when the run ends."""
        for place, task in self._tasks.items():
            file, report = task.file, reports[task.file.name]
            begins = self._counted.cycle
            if task.created is not None and task.created < begins + file.start:
                after = task.created - begins
                self._tell(
                    task,
                    say("begins after {found} cycles; its file says {expected}", found=after, expected=file.start),
                    task.created,
                )
            if report.began not in (None, begins + file.start):
                self._tell(
                    task,
                    say(
                        "says that it began at cycle {found}; it was {expected}",
                        found=report.began,
                        expected=begins + file.start,
                    ),
                    now,
                )
            if report.ended is not None and task.ended is not None and report.ended > task.ended:
                self._tell(
                    task,
                    say(
                        "says that it ended at cycle {found}; it was {expected}",
                        found=report.ended,
                        expected=task.ended,
                    ),
                    now,
                )
            if whole and report.ended is None:
                self._tell(task, say("has not ended, and waits for nothing that will come"), now)
            if report.ended is not None and report.failed is None:
                steps = len(task.done)
                if steps < file.steps or (steps > file.steps and not file.again):
                    self._tell(
                        task,
                        say("has done {found} steps; its file says {expected}", found=steps, expected=file.steps),
                        now,
                    )
            if place in excused:
                continue
            self._memory(task, report, now)
            self._times(task, report, now)
            if file.again and report.failed is None and not self._disturbed:
                others = [each for where, each in self._tasks.items() if where != place]
                self._again(task, others, [e for w, e in self._tasks.items() if w != place and w not in excused])

    def _memory(self, task: _Task, report: TaskReport, now: int) -> None:
        told, file = task.told, task.file
        if told is None:
            return
        wanted = told * file.wants // 100
        if task.done and task.held != wanted:
            self._tell(
                task,
                say(
                    "takes {found} of the {} pages that it is told of; it wants {expected}",
                    told,
                    found=task.held,
                    expected=wanted,
                ),
                now,
            )
        if report.told != told:
            self._tell(
                task,
                say("says that it was told of {found} pages; it was {expected}", found=report.told, expected=told),
                now,
            )
        if report.memory != task.held and not task.asked:
            self._tell(
                task,
                say("says that it has held {found} pages; it was {expected}", found=report.memory, expected=task.held),
                now,
            )

    def _times(self, task: _Task, report: TaskReport, now: int) -> None:
        """What its outcome is computed from: its steps lie between when it was ready and when it had trained."""
        for what, said, seen in (
            ("was ready at cycle", report.ready, task.ready),
            ("had done its steps at cycle", report.trained, task.trained),
            ("had its GPU in turns behind others:", report.switches, task.switches),
        ):
            if said is not None and seen is not None and report.failed is None and said != seen:
                self._tell(
                    task, say("says that it {} {found}; it was {expected}", what, found=said, expected=seen), now
                )

    def _again(self, task: _Task, others: Sequence[_Task], well: Sequence[_Task]) -> None:
        """`well`: those of the others that have no reason to end early."""
        late = [each for each in well if task.ended is not None and (each.trained or task.ended + 1) > task.ended]
        if late and task.ended is not None:
            self._tell(task, say("ends while {} has steps to do", Value(late[0].file.name)), task.ended)
        all_done = max((each.trained for each in others if each.trained is not None), default=0)
        if all(each.trained is not None for each in others):
            more = [at for at in task.done[task.file.steps - 1 : -1] if at > all_done]
            if more:
                self._tell(task, say("begins another step when all others have done theirs"), more[0])
