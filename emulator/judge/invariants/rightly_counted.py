"""The numbers of the result that say what became of the work are what has happened."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant


class RightlyCounted(Invariant):
    """Holds the CPU's books against the judge's own count, at the end."""

    name = "rightly_counted"

    def broken(self) -> Iterator[Broken]:
        """A line for each number that differs."""
        for text in self.evidence.conduct.ledger.count.differs(self.evidence.cpu.work):
            yield text, None
