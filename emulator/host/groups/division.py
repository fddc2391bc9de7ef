"""How what a group may have is divided among those in it.

Evenly; nobody gets more than its own limit allows, or less than it holds already. What one can't use the others get.
A GPU keeps each context to a limit of its own, so that what is divided is never more than what there is.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryClaim:
    """One who shares. Pages; `most`: None: as much as there is."""

    held: int
    most: int | None = None


def divided(budget: int, claims: Sequence[MemoryClaim]) -> list[int]:
    """Pages for each. Together no more than `budget`, unless more than that is held: then each has what it holds."""
    low, high = 0, budget  # the greatest even share for which there is enough
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_share(claim, middle) for claim in claims) <= budget:
            low = middle
        else:
            high = middle - 1
    shares = [_share(claim, low) for claim in claims]
    left = budget - sum(shares)
    for n, claim in enumerate(claims):
        more = _share(claim, low + 1) - shares[n]
        if 0 < more <= left:
            shares[n] += more
            left -= more
    return shares


def _share(claim: MemoryClaim, even: int) -> int:
    return max(claim.held, even if claim.most is None else min(even, claim.most))
