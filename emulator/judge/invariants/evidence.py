"""What invariants are judged by when a run is over."""

from collections.abc import Iterator
from dataclasses import dataclass

from ringhil.emulator.host.contexts.command import ContextRef
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.host.tasks.applications import Applications
from ringhil.emulator.host.tasks.training import TaskReport
from ringhil.emulator.judge.acceptance import Acceptance
from ringhil.emulator.judge.commands_seen import TWINS, Gpu
from ringhil.emulator.judge.conduct import Conduct
from ringhil.emulator.judge.names import Names
from ringhil.emulator.judge.orphans import Orphans
from ringhil.emulator.judge.tasks_conduct import TasksConduct
from ringhil.emulator.judge.watch import Watch
from ringhil.emulator.server.wiring import Wiring


@dataclass(frozen=True)
class RunEvidence:
    """`now`: the cycle at which it ended. `switching`: what the policy forbids by which tasks follow one another."""

    now: int
    wiring: Wiring
    cpu: Cpu
    watch: Watch
    orphans: Orphans
    acceptance: Acceptance
    names: Names
    conduct: Conduct
    applications: Applications
    switching: tuple[str, ...] = ()

    @property
    def tasks(self) -> TasksConduct:
        """How tasks, contexts and their GPUs went about it."""
        return self.conduct.tasks

    def launched(self) -> Iterator[tuple[str, int, int]]:
        """Applications whose own count of steps isn't that of the launches that were done: name, said, happened. One
        whose GPU was lost may have missed the last of them."""
        for name, place, report in self._undisturbed():
            happened = self.tasks.isolation.ended.get(((place.card, place.gpu), place.context), 0)
            if not 0 <= happened - report.steps <= (report.failed is not None):
                yield name, report.steps, happened

    def miscounted(self) -> Iterator[tuple[str, int, int]]:
        """Applications whose own account of their time on the GPU isn't what their launches had: name, said, happened.
        Of one whose GPU was lost as it asked, or that has failed, it isn't known."""
        for name, gpu, said, happened in self._accounts():
            if self.tasks.isolation.known(gpu):
                yield name, said, happened

    def doubts(self) -> Iterator[str]:
        """Accounts that might be wrong, and why nobody knows."""
        for name, gpu, said, happened in self._accounts():
            if not self.tasks.isolation.known(gpu):
                yield f"{name} says that it had the GPU for {said} cycles; its launches had {happened}: {TWINS}"

    def _accounts(self) -> Iterator[tuple[str, Gpu, int, int]]:
        isolation = self.tasks.isolation
        for name, place, report in self._undisturbed():
            happened, said = isolation.ran.get(((place.card, place.gpu), place.context), 0), report.run or 0
            lost = report.run is None and self.tasks.excused(
                (place.card, place.gpu, place.context), report, by=self.now
            )
            asked = self.applications.finished and report.failed is None and not lost
            if asked and said != happened:
                yield name, (place.card, place.gpu), said, happened

    def unreasonable(self) -> Iterator[tuple[str, str]]:
        """Applications that have failed though nothing was seen that could be the reason: name, and what they say."""
        for name, (place, report) in self.applications.by_context().items():
            excused = self.tasks.excused((place.card, place.gpu, place.context), report)
            if report.failed is not None and not excused and not self.watch.uncountable(place.card):
                yield name, report.failed

    def unknown(self) -> Iterator[tuple[str, str]]:
        """Applications that have failed on a card that can't be counted: name of application and card."""
        for name, (place, report) in self.applications.by_context().items():
            if report.failed is not None and self.watch.uncountable(place.card):
                yield name, self.wiring.cards[place.card].name

    def _undisturbed(self) -> Iterator[tuple[str, ContextRef, TaskReport]]:
        """Applications, without those to whose context a driver outside has spoken: what happens there isn't theirs."""
        for name, (place, report) in self.applications.by_context().items():
            if (place.card, place.gpu, place.context) not in self.tasks.one_by_one.disturbed:
                yield name, place, report
