"""No statistics message stays on a ring beyond its bound."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant


class NoOrphan(Invariant):
    """Noticed on the wires while the run was played, and looked for once more at its end."""

    name = "no_orphan"

    def broken(self) -> Iterator[Broken]:
        """Each message once."""
        self.evidence.orphans.look()
        yield from self.evidence.orphans.found.values()
