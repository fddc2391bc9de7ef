"""Who is elected is who may be: at power-up the first one listed, then nobody while a holder can keep its role."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant, first


class BestHolder(Invariant):
    """Noticed at each election."""

    name = "best_holder"

    def broken(self) -> Iterator[Broken]:
        """The first few, in the order of time."""
        yield from first(self.evidence.conduct.elections.wrong, "elections")
