"""What invariants are judged by when a run is over."""

from collections.abc import Iterator
from dataclasses import dataclass

from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.host.sharing.applications import Applications
from ringhil.emulator.judge.acceptance import Acceptance
from ringhil.emulator.judge.conduct import Conduct
from ringhil.emulator.judge.names import Names
from ringhil.emulator.judge.orphans import Orphans
from ringhil.emulator.judge.watch import Watch
from ringhil.emulator.server.wiring import Wiring


@dataclass(frozen=True)
class RunEvidence:
    """`now`: the cycle at which it ended."""

    now: int
    wiring: Wiring
    cpu: Cpu
    watch: Watch
    orphans: Orphans
    acceptance: Acceptance
    names: Names
    conduct: Conduct
    applications: Applications

    def launched(self) -> Iterator[tuple[str, int, int]]:
        """Applications whose own count of steps isn't that of the launches that were done: name, said, happened. One
        whose GPU was lost may have missed the last of them."""
        for name, (place, report) in self.applications.by_context().items():
            happened = self.conduct.isolation.ended.get(((place.card, place.gpu), place.context), 0)
            if not 0 <= happened - report.steps <= (report.failed is not None):
                yield name, report.steps, happened
