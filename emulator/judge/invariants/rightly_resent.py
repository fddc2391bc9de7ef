"""Work goes out again when there is a reason, in time, and to another GPU; no GPU has more of it than its window, and
none has less while there is work for it."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant, first


class RightlyResent(Invariant):
    """Noticed with every unit that the CPU sends, by the judge's own account of the work."""

    name = "rightly_resent"

    def broken(self) -> Iterator[Broken]:
        """The first few, in the order of time."""
        yield from first(self.evidence.conduct.ledger.wrong, "units that were sent wrongly")
        yield from first(self.evidence.conduct.ledger.idle, "times that a GPU was left without work")
