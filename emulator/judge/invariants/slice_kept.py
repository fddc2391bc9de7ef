"""Nobody has a GPU's engine past its slice while another waits; rounds, priorities and switches are as they must be."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant, first


class SliceKept(Invariant):
    """Judges each turn that the GPU shows, by what the CPU has asked of its contexts (S5)."""

    name = "slice_kept"

    def broken(self) -> Iterator[Broken]:
        """The first ones, and how many there are."""
        yield from first(self.evidence.tasks.turns.wrong, "turns that are not as they must be")
        yield from first(self.evidence.tasks.terms.terms, "slices or priorities that are not those of the groups")
