"""What an entry GPU ought to find on a ring, given who has failed and which links are cut."""

from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """What is to be found from one GPU: working GPUs it can reach, itself included, and the cuts next to them."""

    members: frozenset[int]
    cuts: frozenset[int]  # link i joins GPU i and the next one

    @property
    def count(self) -> int:
        """Working GPUs."""
        return len(self.members)


@dataclass(frozen=True)
class RingTruth:
    """A ring of `size` GPUs. A failed GPU's switch still passes traffic on; a cut link passes nothing."""

    size: int
    failed: frozenset[int] = frozenset()
    cuts: frozenset[int] = frozenset()

    def seen_from(self, entry: int) -> View:
        """What the GPU `entry` must find; nothing when it has failed itself."""
        if entry in self.failed:
            return View(frozenset(), frozenset())
        reached, borders = {entry}, set()
        for step in (1, -1):
            position = entry
            while True:
                link = position if step == 1 else (position - 1) % self.size
                if link in self.cuts:
                    borders.add(link)
                    break
                position = (position + step) % self.size
                if position == entry:
                    break
                reached.add(position)
        return View(frozenset(reached - self.failed), frozenset(borders))
