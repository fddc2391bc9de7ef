"""What each application asks of its GPU, beside what its file says (docs/sharing.md, S4).

When it begins, how much memory it takes, and what each of its steps copies and computes: read off its commands, which
carry its own key, and their answers. In a step it works on the CPU first, so nothing of the step is asked before that
time has passed since the last answer. An application that goes on `again` ends when all others have done their steps,
and not before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.sharing.training import TaskReport
from ringhil.emulator.scenario import Application, Sharing
from ringhil.protocol.frames import Acknowledgement, Result, Work

# As docs/contexts.md has them: the judge shares no tables with what it judges.
_CREATE, _ALLOCATE, _COPY, _LAUNCH, _QUERY = 0x10, 0x13, 0x15, 0x16, 0x18
_MEMORY, _RUN_TIME = 0, 1  # what a query asks for
_NOT_OF_THE_GPU = (0, 1, 2, 3, 5, 6)
_DONE, _RUNNING, _STARTED = 0, 4, 6
_REACHED_NOBODY = (1, 2)  # refused, and asked for again
_FIRST_COMMAND = 1 << 31
_MANAGER = 0
_HEAD_BYTES = 16  # of a command, before what a copy brings
_LOW = (1 << 32) - 1
_Place = tuple[int, int, int]  # card, number and context


@dataclass(slots=True)
class _Asked:
    compute: int
    amount: int
    refused: bool = False  # a launch that is asked for under another number


@dataclass(slots=True)
class _Task:
    """`created`: when it asked for its context; `answered`: when it has heard something last; `done`: when its launches
    were over; `ended`: when it has asked for what it asks for at its end."""

    file: Application
    created: int | None = None
    there: dict[bool, int] = field(default_factory=dict)  # pages that it may have, and that the GPU has
    held: int = 0
    asked: dict[int, _Asked] = field(default_factory=dict)  # what isn't answered, by unit
    last: _Asked | None = None
    last_unit: int = 0
    answered: int = 0
    begun: bool = False  # the GPU part of a step
    copied: bool = False  # in this step
    done: list[int] = field(default_factory=list)
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
    """`places`: by application, the context that it uses. `silence`: cycles after which it begins though a card hasn't
    been counted."""

    def __init__(
        self, sharing: Sharing | None, places: Mapping[str, _Place], views: Sequence[CardView], silence: int
    ) -> None:
        self._tasks = {places[each.name]: _Task(each) for each in (sharing.applications if sharing else ())}
        self._views, self._begins, self._known = views, silence, False
        self.wrong: list[tuple[str, int]] = []

    def look(self, now: int) -> None:
        """The CPU has done what follows from a message."""
        if self._tasks and not self._known and all(view.known for view in self._views):
            self._known = True
            self._begins = min(self._begins, now)

    def sent(self, frame: bytes, now: int) -> None:
        """The CPU sends a frame; of a command only the first segment is looked at, and only once."""
        if not self._tasks or frame[0] != Work.KIND or frame[20:22] != b"\0\0":
            return
        _, card, _, _, gpu, _, unit, _, _, _, _, length, compute, _, context = Work.HEAD.unpack_from(frame)
        task = self._tasks.get((card, gpu, context))
        if task is None or unit <= max(task.last_unit, _FIRST_COMMAND - 1):
            return
        at = Work.HEAD.size
        key, amount = (int.from_bytes(frame[at + n : at + n + 4]) for n in (0, 4))
        if compute == _CREATE and task.created is None:
            task.created = now
        if key == _MANAGER:
            return
        before = task.last
        if before is not None and not before.refused and task.last_unit in task.asked:
            # An answer is told after what the CPU does with it.
            task.answered = now
            if before.compute == _LAUNCH:
                task.begun = task.copied = False
        task.last = task.asked[unit] = _Asked(compute, amount)
        task.last_unit = unit
        if compute in (_COPY, _LAUNCH):
            self._step(task, compute, amount, length - _HEAD_BYTES, now)
        elif compute == _ALLOCATE and amount > task.file.piece:
            self._tell(task, f"asks for {amount} pages at a time; its file says {task.file.piece}", now)
        elif compute == _QUERY and amount == _RUN_TIME and task.ended is None:
            task.ended = now

    def _step(self, task: _Task, compute: int, amount: int, size: int, now: int) -> None:
        file = task.file
        if not task.begun and now < task.answered + file.host:
            worked = now - task.answered
            self._tell(task, f"works on the CPU for {worked} cycles in a step; its file says {file.host}", now)
        task.begun = True
        if compute == _COPY:
            task.copied = True
            if size != file.input:
                self._tell(task, f"copies {size} bytes in a step; its file says {file.input}", now)
            return
        if amount != file.compute:
            self._tell(task, f"computes {amount} cycles in a step; its file says {file.compute}", now)
        if file.input and not task.copied:
            self._tell(task, f"copies nothing in a step; its file says {file.input} bytes", now)

    def _tell(self, task: _Task, what: str, now: int) -> None:
        self.wrong.append((f"{task.file.name} {what}", now))

    def heard(self, message: Result | Acknowledgement, now: int) -> None:
        """The CPU has taken in what a GPU has answered."""
        for place, task in self._tasks.items():
            asked = task.asked.get(message.unit)
            if asked is not None and place[:2] == (message.source_card, message.source):
                self._answered(task, asked, message, now)

    def _answered(self, task: _Task, asked: _Asked, message: Result | Acknowledgement, now: int) -> None:
        if isinstance(message, Acknowledgement) and message.status in _REACHED_NOBODY:
            return
        if isinstance(message, Result) and asked.compute == _LAUNCH and message.status == _STARTED:
            return
        del task.asked[message.unit]
        task.answered = now
        if not isinstance(message, Result):
            return
        if asked.compute == _LAUNCH and message.status == _RUNNING:
            asked.refused = True
        elif message.status == _DONE:
            self._done(task, asked, message.digest, now)

    def _done(self, task: _Task, asked: _Asked, digest: int, now: int) -> None:
        if asked.compute == _QUERY and (asked.amount == _MEMORY or asked.amount not in _NOT_OF_THE_GPU):
            task.there.setdefault(asked.amount == _MEMORY, digest & _LOW)
        elif asked.compute == _ALLOCATE:
            task.held += asked.amount
        elif asked.compute == _LAUNCH:
            task.done.append(now)
            if task.last is asked:
                task.begun = task.copied = False

    # ------------------------------------------------------------------------------------------------------ the end

    def finish(self, reports: Mapping[str, TaskReport], excused: Callable[[_Place], bool], now: int) -> None:
        """The run is over. `reports`: what the applications say themselves; `excused`: whether the one there has a
        reason to end early."""
        for place, task in self._tasks.items():
            file, report = task.file, reports[task.file.name]
            if task.created is not None and task.created < self._begins + file.start:
                after = task.created - self._begins
                self._tell(task, f"begins after {after} cycles; its file says {file.start}", task.created)
            if report.ended is not None and report.failed is None:
                steps = len(task.done)
                if steps < file.steps or (steps > file.steps and not file.again):
                    self._tell(task, f"has done {steps} steps; its file says {file.steps}", now)
            if excused(place):
                continue
            self._memory(task, report, now)
            if file.again and report.failed is None:
                others = [each for where, each in self._tasks.items() if where != place]
                self._again(task, others, [e for w, e in self._tasks.items() if w != place and not excused(w)])

    def _memory(self, task: _Task, report: TaskReport, now: int) -> None:
        told, file = task.told, task.file
        if told is None:
            return
        wanted = told * file.wants // 100
        if task.done and task.held != wanted:
            self._tell(task, f"takes {task.held} of the {told} pages that it is told of; it wants {wanted}", now)
        if report.told != told:
            self._tell(task, f"says that it was told of {report.told} pages; it was {told}", now)
        if report.memory != task.held and not task.asked:
            self._tell(task, f"says that it has held {report.memory} pages; it was {task.held}", now)

    def _again(self, task: _Task, others: Sequence[_Task], well: Sequence[_Task]) -> None:
        """`well`: those of the others that have no reason to end early."""
        late = [each for each in well if task.ended is not None and (each.trained or task.ended + 1) > task.ended]
        if late and task.ended is not None:
            self._tell(task, f"ends while {late[0].file.name} has steps to do", task.ended)
        all_done = max((each.trained for each in others if each.trained is not None), default=0)
        if all(each.trained is not None for each in others):
            more = [at for at in task.done[task.file.steps - 1 : -1] if at > all_done]
            if more:
                self._tell(task, "begins another step when all others have done theirs", more[0])
