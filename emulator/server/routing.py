"""Which cards lie behind which link between cards: a spanning tree, so that no frame runs in circles.

Cards are numbered; the tree grows from the lowest number of each connected group, breadth first. A link that is
no part of it carries frames for the card at its other end only.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Hop:
    """The way from a card to a neighbour: the cards reached over their link, as bits, and whether the neighbour is
    nearer to the root of the tree (a link beside the tree counts as if it were, at both ends)."""

    cards: int
    from_above: bool


def hops(cards: int, links: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Hop]:
    """The hops by (card, neighbour), for every link both ways. At most one link joins two cards."""
    neighbours: list[list[int]] = [[] for _ in range(cards)]
    for a, b in links:
        neighbours[a].append(b)
        neighbours[b].append(a)
    parent = _tree(neighbours)
    below = [1 << card for card in range(cards)]  # the card and all that hang from it
    whole = [0] * cards  # its connected group
    for card in sorted(range(cards), key=lambda c: -_depth(parent, c)):
        if parent[card] is not None:
            below[parent[card] or 0] |= below[card]
    for card in range(cards):
        whole[card] = below[_root(parent, card)]
    result = {}
    for card, others in enumerate(neighbours):
        for other in others:
            if parent[card] == other:
                result[card, other] = Hop(whole[card] & ~below[card], True)
            elif parent[other] == card:
                result[card, other] = Hop(below[other], False)
            else:
                result[card, other] = Hop(1 << other, True)
    return result


def _tree(neighbours: list[list[int]]) -> list[int | None]:
    parent: list[int | None] = [None] * len(neighbours)
    seen: set[int] = set()
    for root in range(len(neighbours)):
        waiting = deque([root] if root not in seen else [])
        seen.add(root)
        while waiting:
            card = waiting.popleft()
            for other in neighbours[card]:
                if other not in seen:
                    seen.add(other)
                    parent[other] = card
                    waiting.append(other)
    return parent


def _depth(parent: list[int | None], card: int) -> int:
    above = parent[card]
    return 0 if above is None else 1 + _depth(parent, above)


def _root(parent: list[int | None], card: int) -> int:
    above = parent[card]
    return card if above is None else _root(parent, above)
