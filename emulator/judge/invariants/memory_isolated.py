"""No context holds more than it may, all together not more than there is, and refusals for want of memory are true."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant, first


class MemoryIsolated(Invariant):
    """Judges each answer when the CPU has taken it in (S3)."""

    name = "memory_isolated"

    def broken(self) -> Iterator[Broken]:
        """The first one, and how many there are."""
        yield from first(self.evidence.tasks.isolation.memory, "answers of contexts about their memory")
        yield from first(self.evidence.tasks.terms.memory, "limits that are not what a group's memory allows")
        yield from first(self.evidence.tasks.given_back.wrong, "contexts that were not destroyed")
        yield from first(self.evidence.tasks.left_behind.wrong, "times that a GPU kept what its tasks have lost")
