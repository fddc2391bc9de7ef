"""Pipelined switching as PipeSwitch does it (Bai, Zhang, Zhu, Jin, OSDI 2020), built anew.

Workers are started once, and stand by with their environment; one of them is active. The memory for models is one
process's, for all of them. When a task is over, a worker that stands by becomes active at once, and the other one is
cleaned beside it. The next model's layers come over the link in groups, each computed as soon as it is there. Training
that may be stopped is computed group by group in every step: between two of them it is stopped.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle

from ringhil.emulator.host.switching.grouping import Costs, groups
from ringhil.emulator.host.switching.plan import Subtask, SwitchPlan, WantedTask
from ringhil.emulator.host.switching.policy import RefusedMemoryError, ServingGpu, Slot, SwitchPolicy
from ringhil.emulator.host.switching.report import SwitchPhase
from ringhil.emulator.host.switching.strands import Strand, Until
from ringhil.emulator.host.tasks.process import Busy
from ringhil.protocol.wire import Compute

_MEMORY = 1  # the context that holds the models
_SMALL = 8  # bytes of a copy that is measured


@dataclass
class _Standby:
    slot: Slot
    ready: bool = False


@dataclass
class _Coming:
    """A model on its way: how many of its groups are there, and whether it is still needed."""

    arrived: int = 0
    needed: bool = True


class PipeSwitch(SwitchPolicy):
    """Each turn of a request has the next worker in turn."""

    def __init__(self, serving: ServingGpu, plan: SwitchPlan, requests: Sequence[WantedTask]) -> None:
        super().__init__(serving, plan, requests)
        self._memory = self.slot(_MEMORY, _MEMORY)
        self._workers = [_Standby(self.slot(_MEMORY + 1 + n, _MEMORY + 1 + n)) for n in range(plan.workers)]
        self._costs = Costs(0, 1, 0)

    def strands(self) -> Iterable[Strand]:
        """Start, then serve."""
        yield self._serve()

    def _serve(self) -> Strand:
        tasks = [wanted.task for wanted in self.requests]
        environment, models = max(t.environment for t in tasks), max(t.whole.pages for t in tasks)
        made = list[Slot]()
        try:
            for slot in (self._memory, *(worker.slot for worker in self._workers)):
                pages = models if slot is self._memory else environment
                yield from slot.create(pages)
                made.append(slot)
                yield from slot.allocate(pages)
        except RefusedMemoryError as error:
            for request in self.requests:
                self.refused(request.number, error)
            yield from self._destroy(made)
            return
        # All of them start at the same time, and each imports every model.
        longest = max(self.requests, key=lambda wanted: wanted.task.start)
        if longest.task.start:
            yield from self.during(longest.number, SwitchPhase.START, None, self._started(longest.task.start))
        yield from self._measure()
        for worker in self._workers:
            worker.ready = True
        if self.plan.interrupt:
            self.serving.strands.begin(self.arrivals())
        for worker in cycle(self._workers):
            if (wanted := self.queue.next(self.serving.port.now)) is None:
                break
            yield from self.arrival(wanted)
            yield Until(lambda worker=worker: worker.ready)  # type: ignore[misc]
            self.serving.reports[wanted.number].attempts += 1
            yield from self._compute(wanted, worker)
            if self.queue.left(wanted):
                self.stopped(wanted)
            else:
                self.over(wanted.number)
            worker.ready = False
            self.serving.strands.begin(self._clean(wanted, worker))
        yield Until(lambda: all(worker.ready for worker in self._workers))
        yield from self._destroy((*(worker.slot for worker in self._workers), self._memory))

    def _destroy(self, slots: Iterable[Slot]) -> Strand:
        for slot in slots:
            yield from slot.destroy()

    def _started(self, cycles: int) -> Strand:
        yield Busy(cycles)

    def _measure(self) -> Strand:
        """What commands cost here: the groups are chosen for that."""
        port, took = self.serving.port, []
        for command in ((Compute.COPY, 0, bytes(_SMALL)), (Compute.COPY, 0, bytes(self.plan.piece))):
            before = port.now
            yield from self._memory.ask(*command)
            took.append(port.now - before)
        before = port.now
        answer = yield from self._workers[0].slot.ask(Compute.LAUNCH, 1)
        byte = (took[1] - took[0]) / max(1, self.plan.piece - _SMALL)
        self._costs = Costs(took[0], byte, port.now - before - answer.cycles)

    def _compute(self, wanted: WantedTask, worker: _Standby) -> Strand:
        task = wanted.task
        parts = [task.layers[first:end] for first, end in groups(task.layers, self._costs)]
        coming = _Coming()
        sizes = [sum(layer.data for layer in part) for part in parts]
        self.serving.strands.begin(self._bring(wanted.number, sizes, coming))
        yield from self._step(wanted, worker, parts, coming)
        while self.queue.left(wanted) and not self.must_stop(wanted):
            if self.may_stop(wanted):
                yield from self._step(wanted, worker, parts, coming)
            else:
                yield from self.run(wanted.number, worker.slot, task.whole.cycles, None)
                self.queue.stepped(wanted)
        coming.needed = False

    def _step(
        self, wanted: WantedTask, worker: _Standby, parts: Sequence[Sequence[Subtask]], coming: _Coming
    ) -> Strand:
        """All groups, or those until it is stopped."""
        for number, part in enumerate(parts):
            if number:
                yield Until(lambda number=number: coming.arrived > number or self.must_stop(wanted))  # type: ignore[misc]
                if self.must_stop(wanted):
                    return
            else:
                yield Until(lambda: coming.arrived > 0)
            yield from self.run(wanted.number, worker.slot, sum(layer.cycles for layer in part), number)
        self.queue.stepped(wanted)

    def _bring(self, request: int, sizes: Sequence[int], coming: _Coming) -> Strand:
        for number, size in enumerate(sizes):
            copied = self._memory.copy(size, self.plan.piece, lambda: coming.needed)
            yield from self.during(request, SwitchPhase.PREPARE, number, copied, lambda: coming.needed)
            if not coming.needed:
                return
            coming.arrived += 1

    def _clean(self, wanted: WantedTask, worker: _Standby) -> Strand:
        if self.plan.recycle:
            yield from self.during(wanted.number, SwitchPhase.CLEAN, None, self._started(self.plan.recycle))
        worker.ready = True
