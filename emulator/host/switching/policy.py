"""The seam between those who serve requests and how they do it: a class for each policy, and what all of them use."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.host.contexts.command import Command, ContextRef, Reply
from ringhil.emulator.host.switching.plan import PlannedTask, Subtask, SwitchPlan, WantedTask
from ringhil.emulator.host.switching.report import PhaseSpan, RequestReport, Service, SwitchPhase
from ringhil.emulator.host.switching.strands import Sent, Strand, Strands, Until
from ringhil.emulator.host.tasks.process import Busy
from ringhil.protocol.wire import Compute, Query, ResultStatus


class RequestQueue:
    """Requests that have not had a turn have theirs in the order of the file; one that was stopped goes on when the
    next of these has not come yet. `since`: the cycle from which on requests are counted."""

    def __init__(self, requests: Sequence[WantedTask], since: int) -> None:
        self._new, self._since = deque(requests), since
        self._stopped = deque[WantedTask]()
        self._left = {wanted.number: wanted.task.steps for wanted in requests}

    def next(self, now: int) -> WantedTask | None:
        """The one that has the next turn, and may not have come yet; None: all are over."""
        if self._stopped and not self.has_come(now):
            return self._stopped.popleft()
        return self._new.popleft() if self._new else None

    def has_come(self, now: int) -> bool:
        """Whether a request that has not had a turn is there, and next."""
        return bool(self._new) and self._since + self._new[0].at <= now

    def left(self, wanted: WantedTask) -> int:
        """Steps that are not done."""
        return self._left[wanted.number]

    def stepped(self, wanted: WantedTask) -> None:
        """One more is done."""
        self._left[wanted.number] -= 1

    def stopped(self, wanted: WantedTask) -> None:
        """It waits for another turn."""
        self._stopped.append(wanted)


Answered = Generator[Busy | Sent | Until, Reply | None, Reply]


class RefusedMemoryError(RinghilError):
    """The GPU has no room for what the task can't do without."""


@dataclass
class ServingGpu:
    """What a policy has of the world: a GPU (`card`, `gpu`, and its `number` in the plan), the strands in which
    it works, and where it says what it does. `since`: the cycle from which on requests are counted."""

    port: CardPort
    strands: Strands
    card: int
    gpu: int
    number: int
    since: int
    reports: Sequence[RequestReport]
    spans: list[PhaseSpan]
    open: list[PhaseSpan]  # what is under way: `ended` is not known yet
    stepped: Callable[[], None]


class Slot:
    """A context of the GPU in the hands of a policy. `held`: pages that it may hold, from when they are asked for until
    they are known to be free."""

    def __init__(self, serving: ServingGpu, context: int, key: int) -> None:
        self._serving, self._key = serving, key
        self._place = ContextRef(serving.card, serving.gpu, context)
        self.context = context
        self.held = 0

    def ask(self, compute: Compute, amount: int = 0, data: bytes = b"") -> Answered:
        """Have one command carried out."""
        answer = yield Sent(self._place, Command(compute, self._key, amount, data=data))
        assert answer is not None  # a command has an answer
        return answer

    def create(self, limit: int) -> Strand:
        """Make the context, with a limit in pages."""
        yield from self.ask(Compute.CREATE, limit)

    def allocate(self, pages: int) -> Strand:
        """Raises RefusedMemoryError."""
        if not pages:
            return
        self.held += pages
        answer = yield from self.ask(Compute.ALLOCATE, pages)
        if answer.status in (ResultStatus.NO_MEMORY, ResultStatus.OVER_LIMIT):
            self.held -= pages
            raise RefusedMemoryError("the GPU has no room for it")

    def copy(self, size: int, piece: int, needed: Callable[[], bool] = lambda: True) -> Strand:
        """Bring so many bytes to the GPU, piece by piece, to the pages that were allocated last, as long as they are
        needed."""
        while size > 0 and needed():
            part = min(size, piece)
            yield from self.ask(Compute.COPY, 0, bytes(part))
            size -= part

    def free(self, pages: int) -> Strand:
        """Give pages back."""
        if pages:
            yield from self.ask(Compute.FREE, pages)
            self.held -= pages

    def destroy(self) -> Strand:
        """Give everything back."""
        yield from self.ask(Compute.DESTROY)
        self.held = 0

    def run_time(self) -> Answered:
        """Ask what it has had of the engine."""
        return (yield from self.ask(Compute.QUERY, Query.RUN_TIME.code))


class SwitchPolicy(ABC):
    """One policy at work on one GPU, until its requests are served or the GPU is lost: then another one begins with
    those that are left. A subclass says in `strands` what is done; the other methods are what it does it with."""

    def __init__(self, serving: ServingGpu, plan: SwitchPlan, requests: Sequence[WantedTask]) -> None:
        self.serving, self.plan, self.requests = serving, plan, requests
        self.queue = RequestQueue(requests, serving.since)

    @abstractmethod
    def strands(self) -> Iterable[Strand]:
        """Those that begin with it."""

    def slot(self, context: int, key: int) -> Slot:
        """A context to work with."""
        return Slot(self.serving, context, key)

    def arrival(self, wanted: WantedTask) -> Strand:
        """Wait for a request."""
        wait = self.serving.since + wanted.at - self.serving.port.now
        if wait > 0:
            yield Busy(wait)

    def arrivals(self) -> Strand:
        """Whoever waits for a request to come looks when one has."""
        for wanted in sorted(self.requests, key=lambda wanted: wanted.at):
            yield from self.arrival(wanted)

    def may_stop(self, wanted: WantedTask) -> bool:
        """Whether it may be stopped for another request."""
        return self.plan.interrupt and wanted.task.training

    def must_stop(self, wanted: WantedTask) -> bool:
        """Whether it is to be stopped now."""
        return self.may_stop(wanted) and self.queue.has_come(self.serving.port.now)

    def stopped(self, wanted: WantedTask) -> None:
        """Its turn is over, before it is."""
        report, gpu = self.serving.reports[wanted.number], self.serving.number
        assert report.began is not None
        before = sum(stop.ran for stop in report.stops_on(gpu))
        report.stops.append(Service(gpu, report.began, self.serving.port.now, report.ran - before))
        report.began = None
        self.queue.stopped(wanted)

    def during(
        self,
        request: int,
        phase: SwitchPhase,
        part: int | None,
        strand: Strand,
        needed: Callable[[], bool] = lambda: True,
    ) -> Strand:
        """Do it, and say from when to when it was done, and whether it was still needed at its end."""
        began = PhaseSpan(request, phase, part, self.serving.number, self.serving.port.now, 0)
        self.serving.open.append(began)
        yield from strand
        self.serving.open.remove(began)
        now, lost = self.serving.port.now, not needed()
        self.serving.spans.append(PhaseSpan(request, phase, part, self.serving.number, began.began, now, lost=lost))

    def start(self, wanted: WantedTask, slot: Slot, limit: int) -> Strand:
        """First stage: the environment."""

        def first_stage() -> Strand:
            if wanted.task.start:
                yield Busy(wanted.task.start)
            yield from slot.create(limit)
            yield from slot.allocate(wanted.task.environment)

        self.serving.reports[wanted.number].attempts += 1
        yield from self.during(wanted.number, SwitchPhase.START, None, first_stage())

    def prepare(self, request: int, slot: Slot, subtask: Subtask, part: int | None) -> Strand:
        """Second stage: memory, then the model's data."""

        def second_stage() -> Strand:
            yield from slot.allocate(subtask.pages)
            yield from slot.copy(subtask.data, self.plan.piece)

        yield from self.during(request, SwitchPhase.PREPARE, part, second_stage())

    def run(self, request: int, slot: Slot, cycles: int, part: int | None) -> Strand:
        """Launch it, and wait for its end."""
        report, serving = self.serving.reports[request], self.serving
        if report.began is None:
            report.began = serving.port.now
        if report.first is None:
            report.first = serving.port.now
        began = PhaseSpan(request, SwitchPhase.RUN, part, serving.number, serving.port.now, 0)
        serving.open.append(began)
        answer = yield from slot.ask(Compute.LAUNCH, cycles)
        serving.open.remove(began)
        assert answer.done, answer
        report.ran += answer.cycles
        report.launches += 1
        ended = serving.port.now
        serving.spans.append(
            PhaseSpan(request, SwitchPhase.RUN, part, serving.number, began.began, ended, answer.cycles)
        )

    def over(self, request: int) -> None:
        """All of it has been computed."""
        report = self.serving.reports[request]
        report.times += 1
        report.ended, report.gpu = self.serving.port.now, self.serving.number
        self.serving.stepped()

    def refused(self, request: int, why: RefusedMemoryError) -> None:
        """It can't be served by this policy."""
        self.serving.reports[request].failed = str(why)
        self.serving.stepped()

    def clean(self, wanted: WantedTask, slot: Slot) -> Strand:
        """Cleanup: what the CPU does, then the context is gone."""

        def cleanup() -> Strand:
            if wanted.task.clean:
                yield Busy(wanted.task.clean)
            yield from slot.destroy()

        yield from self.during(wanted.number, SwitchPhase.CLEAN, None, cleanup())


def whole(task: PlannedTask) -> int:
    """Pages of a task that is on the GPU as a whole."""
    return task.environment + task.whole.pages
