"""Stop, then start: one process at a time, each from its very beginning to its end."""

from collections.abc import Iterable

from ringhil.emulator.host.sharing.switching.policy import RefusedMemoryError, SwitchPolicy, whole
from ringhil.emulator.host.sharing.switching.strands import Strand


class StopStart(SwitchPolicy):
    """No two tasks are on the GPU at a time; each has all its memory before it computes."""

    def strands(self) -> Iterable[Strand]:
        """One after the other."""
        yield self._serve()

    def _serve(self) -> Strand:
        for wanted in self.requests:
            task = wanted.task
            slot = self.slot(1, wanted.number + 1)
            yield from self.arrival(wanted)
            try:
                yield from self.start(wanted, slot, whole(task))
                yield from self.prepare(wanted.number, slot, task.whole, None)
            except RefusedMemoryError as error:
                self.refused(wanted.number, error)
            else:
                for _ in range(task.steps):
                    yield from self.run(wanted.number, slot, task.whole.cycles, None)
                self.over(wanted.number)
            yield from self.clean(wanted, slot)
