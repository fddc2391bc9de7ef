"""What a GPU's firmware and the CPU write says truly who sends it, to whom, under which number, by which way."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant, first


class RightlyTold(Invariant):
    """Noticed with every message, as it is handed to the hardware."""

    name = "rightly_told"

    def broken(self) -> Iterator[Broken]:
        """The first few, in the order of time."""
        yield from first(self.evidence.conduct.mistold, "messages")
