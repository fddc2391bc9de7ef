"""Stop, then start: one process at a time, each from its very beginning to its end."""

from collections.abc import Iterable

from ringhil.emulator.host.switching.plan import WantedTask
from ringhil.emulator.host.switching.policy import RefusedMemoryError, Slot, SwitchPolicy, whole
from ringhil.emulator.host.switching.strands import Strand


class StopStart(SwitchPolicy):
    """No two tasks are on the GPU at a time; each has all its memory before it computes. Training that is stopped is
    cleaned up, and begins anew with the step that it was at."""

    def strands(self) -> Iterable[Strand]:
        """One after the other."""
        yield self._serve()

    def _serve(self) -> Strand:
        while (wanted := self.queue.next(self.serving.port.now)) is not None:
            task = wanted.task
            slot = self.slot(1, wanted.number + 1)
            yield from self.arrival(wanted)
            try:
                yield from self.start(wanted, slot, whole(task))
                yield from self.prepare(wanted.number, slot, task.whole, None)
            except RefusedMemoryError as error:
                self.refused(wanted.number, error)
            else:
                yield from self._compute(wanted, slot)
            yield from self.clean(wanted, slot)

    def _compute(self, wanted: WantedTask, slot: Slot) -> Strand:
        while True:
            yield from self.run(wanted.number, slot, wanted.task.whole.cycles, None)
            self.queue.stepped(wanted)
            if not self.queue.left(wanted):
                self.over(wanted.number)
                return
            if self.must_stop(wanted):
                self.stopped(wanted)
                return
