"""What each of a group may have of its memory, as docs/howto/sharing.md says: evenly, none more than its limit or less
than it holds, and what one may not have the others get."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass
class Sharer:
    """A context (`held` pages; `name` says which) or a group of them, with its `limit`."""

    limit: int | None = None
    held: int = 0
    name: int | None = None
    inside: "list[Sharer]" = field(default_factory=list)

    @property
    def least(self) -> int:
        """Pages that it keeps."""
        return self.held + sum(each.least for each in self.inside)

    @property
    def most(self) -> int | None:
        """Pages that it can have at most; None: any number."""
        wanted = [each.most for each in self.inside]
        inner = None if not self.inside or None in wanted else sum(most for most in wanted if most is not None)
        return min((bound for bound in (self.limit, inner) if bound is not None), default=None)


def fair_shares(one: Sharer, budget: Fraction | None = None) -> dict[int, Fraction | None]:
    """By name of a context, its part; None: as much as there is."""
    if one.name is not None:
        return {one.name: budget}
    bounds = [Fraction(bound) for bound in (budget, one.limit) if bound is not None]
    parts = _even(min(bounds), one.inside) if bounds else [None] * len(one.inside)
    return {
        name: part
        for each, share in zip(one.inside, parts, strict=True)
        for name, part in fair_shares(each, share).items()
    }


def _even(budget: Fraction, sharers: Sequence[Sharer]) -> list[Fraction | None]:
    """Those who can't take an even part are served first, those who keep too much or those who may have too little,
    whichever weigh more; the others share the rest."""
    parts: list[Fraction | None] = [None] * len(sharers)
    left = list(range(len(sharers)))
    while left:
        even = budget / len(left)
        full = [n for n in left if sharers[n].least > even]
        small = [n for n in left if (most := sharers[n].most) is not None and max(most, sharers[n].least) < even]
        over = sum((sharers[n].least - even for n in full), Fraction())
        under = sum((even - _bound(sharers[n]) for n in small), Fraction())
        for n in full if over >= under and full else small:
            parts[n] = Fraction(sharers[n].least) if n in full else Fraction(_bound(sharers[n]))
            budget -= parts[n] or 0
            left.remove(n)
        if not full and not small:
            for n in left:
                parts[n] = max(even, Fraction())
            break
        budget = max(budget, Fraction())
    return parts


def _bound(sharer: Sharer) -> int:
    return max(sharer.most or 0, sharer.least)
