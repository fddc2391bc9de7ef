"""What an entry GPU ought to find on a ring, given who has failed and which links are cut."""

from dataclasses import dataclass
from functools import lru_cache


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
        return _seen(self, entry)


@lru_cache(256)  # a run asks for the same few again and again
def _seen(ring: RingTruth, entry: int) -> View:
    out = ring.failed | ring.blocked
    if entry in out:
        return View(frozenset(), frozenset())
    cuts = ring.cuts | ring.blocked | {(gpu - 1) % ring.size for gpu in ring.blocked}
    reached, borders = {entry}, set()
    for step in (1, -1):
        position = entry
        while True:
            link = position if step == 1 else (position - 1) % ring.size
            if link in cuts:
                borders.add(link)
                break
            position = (position + step) % ring.size
            if position == entry:
                break
            reached.add(position)
    return View(frozenset(reached - out), frozenset(borders))
