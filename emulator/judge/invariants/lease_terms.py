"""Leases and epochs are as their terms say: they last no longer and no shorter, and nobody skips an epoch."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant, first


class LeaseTerms(Invariant):
    """Noticed while the run was played, by grantors and by members; and what still runs at its end."""

    name = "lease_terms"

    def broken(self) -> Iterator[Broken]:
        """The first few, in the order of time."""
        yield from first(self.evidence.conduct.off_terms, "findings about leases")
