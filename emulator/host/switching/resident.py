"""Everything resident: all tasks stay on the GPU, and each request only computes. The least overhead that there can be,
as long as there is memory for it."""

from collections.abc import Iterable

from ringhil.emulator.host.switching.plan import PlannedTask
from ringhil.emulator.host.switching.policy import RefusedMemoryError, Slot, SwitchPolicy, whole
from ringhil.emulator.host.switching.strands import Strand
from ringhil.protocol.wire import CONTEXTS


class Resident(SwitchPolicy):
    """Tasks are loaded in the order of the requests, before any of them is served."""

    def strands(self) -> Iterable[Strand]:
        """Load, then serve."""
        yield self._serve()

    def _serve(self) -> Strand:
        slots: dict[PlannedTask, Slot] = {}
        refused: dict[PlannedTask, RefusedMemoryError] = {}
        for wanted in self.requests:
            task = wanted.task
            if task in slots or task in refused:
                continue
            context = len(slots) + 1
            if context == CONTEXTS:
                refused[task] = RefusedMemoryError("the GPU has no context for it")
                continue
            slot = self.slot(context, context)
            try:
                yield from self.start(wanted, slot, whole(task))
                yield from self.prepare(wanted.number, slot, task.whole, None)
                slots[task] = slot
            except RefusedMemoryError as error:
                refused[task] = error
                yield from slot.destroy()
        for wanted in self.requests:
            yield from self.arrival(wanted)
            if wanted.task in refused:
                self.refused(wanted.number, refused[wanted.task])
                continue
            for _ in range(wanted.task.steps):
                yield from self.run(wanted.number, slots[wanted.task], wanted.task.whole.cycles, None)
            self.over(wanted.number)
        for slot in slots.values():
            yield from slot.destroy()
