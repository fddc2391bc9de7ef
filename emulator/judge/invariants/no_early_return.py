"""What has failed is not taken back before its time: GPUs, links, members of a group, GPUs that were wrong."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant, first


class NoEarlyReturn(Invariant):
    """Noticed while the run was played."""

    name = "no_early_return"

    def broken(self) -> Iterator[Broken]:
        """The first few, in the order of time."""
        yield from first(self.evidence.conduct.too_soon, "early returns")
