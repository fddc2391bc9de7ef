"""Only the GPU that holds a card's entry role is heard."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant, first


class OnlyHolder(Invariant):
    """Noticed while the run was played, by what the members' own firmware says about who holds the role."""

    name = "only_holder"

    def broken(self) -> Iterator[Broken]:
        """The reports and results that counted though they should not."""
        yield from first(self.evidence.acceptance.unheld, "reports and results")
