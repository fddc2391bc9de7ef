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
    """A ring of `size` GPUs. A failed GPU's switch still passes traffic on; a cut link passes nothing, and neither
    does a `blocked` GPU: failed, with a switch that is stuck in THROUGH."""

    size: int
    failed: frozenset[int] = frozenset()
    cuts: frozenset[int] = frozenset()
    blocked: frozenset[int] = frozenset()

    def seen_from(self, entry: int) -> View:
        """What the GPU `entry` must find; nothing when it has failed itself."""
        out = self.failed | self.blocked
        if entry in out:
            return View(frozenset(), frozenset())
        cuts = self.cuts | self.blocked | {(gpu - 1) % self.size for gpu in self.blocked}
        reached, borders = {entry}, set()
        for step in (1, -1):
            position = entry
            while True:
                link = position if step == 1 else (position - 1) % self.size
                if link in cuts:
                    borders.add(link)
                    break
                position = (position + step) % self.size
                if position == entry:
                    break
                reached.add(position)
        return View(frozenset(reached - out), frozenset(borders))
