"""Keepalives, rounds of a census and silence keep to their times, from above and from below."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant, first


class SteadyPace(Invariant):
    """Noticed while the run was played; and who has fallen silent by its end."""

    name = "steady_pace"

    def broken(self) -> Iterator[Broken]:
        """The first few, in the order of time."""
        yield from first(self.evidence.conduct.uneven, "times that were not kept")
