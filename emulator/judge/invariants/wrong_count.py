"""No count is accepted that was at no time true since its round began, and work is first shared out by true counts."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant, first


class WrongCount(Invariant):
    """Noticed by the watch while the run was played."""

    name = "wrong_count"

    def broken(self) -> Iterator[Broken]:
        """Shares first, then counts by card."""
        watch = self.evidence.watch
        yield from watch.wrong_shares
        for card in watch.cards:
            yield from card.wrong_counts
        yield from first(self.evidence.conduct.weighing.wrong, "counts that weigh their GPUs wrongly")
