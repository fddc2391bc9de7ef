"""Only the GPU that holds a card's entry role is heard."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant, first


class OnlyHolder(Invariant):
    """Noticed while the run was played, by what the members' own firmware says about who holds the role; and by the
    registers that let frames pass."""

    name = "only_holder"

    def broken(self) -> Iterator[Broken]:
        """The reports and results that counted though they should not, and the GPUs that could have passed more."""
        yield from first(self.evidence.acceptance.unheld, "reports and results")
        yield from first(self.evidence.conduct.fence.wrong, "GPUs whose registers let the wrong frames pass")
