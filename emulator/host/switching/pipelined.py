"""Pipelined preparation (W2 to W5): the next tasks get ready while one runs, part by part, within preset values.

What it decides (W2 to W4) are functions by themselves, in pages.
"""

from collections.abc import Iterable, Sequence

from ringhil.emulator.host.switching.plan import SwitchPlan, WantedTask
from ringhil.emulator.host.switching.policy import ServingGpu, Slot, SwitchPolicy
from ringhil.emulator.host.switching.strands import Strand, Until
from ringhil.protocol.wire import CONTEXTS


def may_initialise(environments: Sequence[int], rests: Sequence[int], held: int, owed: int, first: int) -> bool:
    """W2: whether one more task may begin its first stage; it is the last of `environments`, which are those of all
    initialised tasks, and of `rests`, what each may hold beside at most. Each of them in turn has room for all of it;
    now `held` pages are held, and the current task is `owed` so many more.
    """
    return sum(environments) + max(rests) <= first and held + owed + environments[-1] <= first


def may_prepare(request: int, held: int, owed: int, first: int) -> bool:
    """Whether memory can be asked for now, so that the sum stays within the first preset value and the current task
    gets what it is `owed`."""
    return held + owed + request <= first


def is_near_its_end(left: int, preset: int) -> bool:
    """W3: whether an execution has reached the preset progress: fewer subtasks are left than `preset`."""
    return left < preset


def marked(requests: Sequence[int], second: int) -> tuple[int, ...]:
    """W3: which of the subtasks that are left the next task's first one has to wait for: those that ask for more than
    the second preset value."""
    return tuple(number for number, request in enumerate(requests) if request > second)


def may_run_beside(request: int, running: int, second: int) -> bool:
    """W4: whether a subtask that is ready may run while one of the current task does."""
    return request + running <= second


class _Job:
    """A request on its way through the GPU. Numbers of parts: for `asked` memory has been asked, `prepared` are
    ready, `launched` have been begun, `done` are over, in all steps together; `freed` have given their memory back."""

    def __init__(self, wanted: WantedTask) -> None:
        self.wanted, self.task = wanted, wanted.task
        self.parts = len(self.task.subtasks)
        self.slot: Slot | None = None  # it is being initialised, or has been
        self.initialised = False
        self.asked = self.prepared = self.launched = self.done = self.freed = 0
        self.over = False  # computed
        self.gone = False  # cleaned up

    @property
    def launches(self) -> int:
        return self.parts * self.task.steps

    @property
    def left(self) -> int:
        """Subtasks that aren't done, in all steps together."""
        return self.launches - self.done

    @property
    def waiting(self) -> list[int]:
        """What each of those asks for."""
        return [self.task.subtasks[number % self.parts].pages for number in range(self.done, self.launches)]

    @property
    def held(self) -> int:
        """Pages that it holds, and those of its environment from the beginning of its first stage on."""
        if self.slot is None:
            return 0
        return self.slot.held if self.initialised else max(self.slot.held, self.task.environment)

    @property
    def owed(self) -> int:
        """Pages that it may still ask for."""
        return 0 if self.asked == self.parts else self.task.most - self.held


class Pipelined(SwitchPolicy):
    """Each request is a process of its own, with a context of its own; they are computed in their order."""

    def __init__(self, serving: ServingGpu, plan: SwitchPlan, requests: Sequence[WantedTask]) -> None:
        super().__init__(serving, plan, requests)
        self._jobs = [_Job(wanted) for wanted in requests]

    def strands(self) -> Iterable[Strand]:
        """One that begins first stages; for each request one that runs it, one that prepares, one that frees."""
        yield self._initialise()
        for number, job in enumerate(self._jobs):
            before = self._jobs[number - 1] if number else None
            yield self._serve(job, before)

    # ------------------------------------------------------------------------------------------------ first stages (W2)

    def _initialise(self) -> Strand:
        for job in self._jobs:
            yield from self.arrival(job.wanted)
            yield Until(lambda job=job: self._has_room(job))  # type: ignore[misc]
            used = {other.slot.context for other in self._jobs if other.slot and not other.gone}
            context = min(set(range(1, CONTEXTS)) - used)
            job.slot = self.slot(context, job.wanted.number + 1)
            self.serving.strands.begin(self._first_stage(job, job.slot))

    def _first_stage(self, job: _Job, slot: Slot) -> Strand:
        yield from self.start(job.wanted, slot, job.task.most)
        job.initialised = True

    def _has_room(self, job: _Job) -> bool:
        there = [other for other in self._jobs if other.slot and not other.gone]
        if len(there) == CONTEXTS - 1:
            return False
        all_of_them = [*there, job]
        environments = [each.task.environment for each in all_of_them]
        rests = [each.task.most - each.task.environment for each in all_of_them]
        return may_initialise(environments, rests, self._held, self._owed(job), self.plan.first)

    @property
    def _held(self) -> int:
        return sum(job.held for job in self._jobs)

    def _owed(self, asks: _Job) -> int:
        """To the task that is computed now; it needn't leave room for itself."""
        current = next((job for job in self._jobs if not job.over), None)
        return 0 if current is None or current is asks else current.owed

    # --------------------------------------------------------------------------------------------------------- the rest

    def _serve(self, job: _Job, before: _Job | None) -> Strand:
        yield Until(lambda: job.initialised)
        assert job.slot is not None
        if before is not None:
            yield from self._await_progress(job, before)
        yield from self._second_stage(job, job.slot, 0)
        if before is not None and not before.over:
            running = before.waiting[0]
            if not may_run_beside(job.task.subtasks[0].pages, running, self.plan.second):
                yield Until(lambda: before.over)
        for strand in (self._prepare(job, job.slot), self._free(job, job.slot)):
            self.serving.strands.begin(strand)
        yield from self._execute(job, job.slot, before)
        yield from self._after(job)
        yield Until(lambda: job.freed == job.parts)
        yield from self.clean(job.wanted, job.slot)
        job.gone = True

    def _await_progress(self, job: _Job, before: _Job) -> Strand:
        """W3. Only the next task's first part is prepared, not that of the one behind it."""
        number = self._jobs.index(before)
        yield Until(lambda: all(other.over for other in self._jobs[:number]))
        yield Until(lambda: before.over or is_near_its_end(before.left, self.plan.left))
        if before.over:
            return
        done = before.done
        waits_for = marked(before.waiting, self.plan.second)
        if waits_for:
            yield Until(lambda: before.done > done + waits_for[-1])

    def _second_stage(self, job: _Job, slot: Slot, part: int) -> Strand:
        """Memory as soon as there is room for it, then the data."""
        subtask = job.task.subtasks[part]
        yield Until(lambda: may_prepare(subtask.pages, self._held, self._owed(job), self.plan.first))
        job.asked += 1
        yield from self.prepare(job.wanted.number, slot, subtask, part)
        job.prepared += 1

    def _prepare(self, job: _Job, slot: Slot) -> Strand:
        """W5: while a part runs, the next one gets ready."""
        for part in range(1, job.parts):
            yield Until(lambda part=part: job.launched >= part)  # type: ignore[misc]
            yield from self._second_stage(job, slot, part)

    def _free(self, job: _Job, slot: Slot) -> Strand:
        """W5: what runs no more gives its memory back beside the next one."""
        before_last = job.launches - job.parts
        for part, subtask in enumerate(job.task.subtasks):
            yield Until(lambda part=part: job.done > before_last + part)  # type: ignore[misc]
            yield from slot.free(subtask.pages)
            job.freed += 1

    def _execute(self, job: _Job, slot: Slot, before: _Job | None) -> Strand:
        for number in range(job.launches):
            part = number % job.parts
            yield Until(lambda part=part: job.prepared > part)  # type: ignore[misc]
            if number == 1 and before is not None and not before.over:
                # W4 lets the first part run beside the current execution; the others follow it.
                yield Until(lambda: before.over)
            job.launched += 1
            yield from self.run(job.wanted.number, slot, job.task.subtasks[part].cycles, part)
            job.done += 1

    def _after(self, job: _Job) -> Strand:
        """It is over. What another task has had beside it isn't had after it: ask the GPU."""
        following = next((other for other in self._jobs if not other.over and other is not job), None)
        running = following is not None and following.launched > following.done
        job.over = True
        self.over(job.wanted.number)
        if following is not None and following.launched:
            if running and following.slot is not None:
                answer = yield from following.slot.run_time()
                ahead = answer.digest
            else:
                ahead = self.serving.reports[following.wanted.number].ran
            self.serving.reports[job.wanted.number].ahead = ahead
