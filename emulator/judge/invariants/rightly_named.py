"""Who is suspected, slow or noisy has given cause for it."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant


class RightlyNamed(Invariant):
    """Noticed while the run was played; and what the CPU knows at its end."""

    name = "rightly_named"

    def broken(self) -> Iterator[Broken]:
        """In the order in which it was noticed, then the end by card."""
        names = self.evidence.names
        yield from names.wrong
        yield from self.evidence.conduct.noise.wrong
        for card, watch in enumerate(self.evidence.watch.cards):
            text = names.at_the_end(card, self.evidence.now)
            if text is not None:
                yield f"at the end: card {watch.name}: {text}", None
