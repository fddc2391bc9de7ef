"""Work in proportion to what the censuses count (R5)."""

from collections.abc import Iterator, Mapping, Sequence

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.policy.policy import Backlog, Policy


def shares(units: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Split `units` in proportion to `weights`; what rounding leaves goes to the largest remainders.

    Equal remainders: the one named first. All weights zero: everybody gets nothing.
    """
    total = sum(weights.values())
    if total == 0:
        return dict.fromkeys(weights, 0)
    result = {name: units * weight // total for name, weight in weights.items()}
    order = sorted(weights, key=lambda name: -(units * weights[name] % total))
    for name in order[: units - sum(result.values())]:
        result[name] += 1
    return result


class Proportional(Policy):
    """Each card gets units in proportion to its weight, by largest remainder; what nobody has begun is split anew when
    a weight changes. Within a card every GPU gets its first unit before one gets a second."""

    def __init__(self, cards: Sequence[CardView]) -> None:
        super().__init__(cards)
        self._backlogs = {card.name: Backlog() for card in cards}

    def begin(self, units: int) -> None:
        start = 0
        for card, share in self._split(units):
            card.share = share
            self._backlogs[card.name].add(start, start + share)
            start += share
        if start < units:  # nobody is there yet: kept for whoever comes
            self._backlogs[self.cards[0].name].add(start, units)

    def recount(self) -> None:
        if not any(card.weight for card in self.cards):
            return
        left = sum(map(len, self._backlogs.values()))
        pieces = iter([piece for backlog in self._backlogs.values() for piece in backlog.take(left)])
        piece = next(pieces, None)
        for card, share in self._split(left):
            while share and piece is not None:
                start, end = piece
                cut = min(end, start + share)
                self._backlogs[card.name].add(start, cut)
                share -= cut - start
                piece = (cut, end) if cut < end else next(pieces, None)

    def turns(self, window: int) -> Iterator[tuple[CardView, int]]:
        for card in self.cards:
            for level in range(window):
                for gpu in [g for g in card.workers if card.load.get(g, 0) <= level < card.window(g, window)]:
                    yield card, gpu

    def take(self, card: CardView, gpu: int) -> int | None:
        return self._backlogs[card.name].pop()

    def _split(self, units: int) -> list[tuple[CardView, int]]:
        by_name = shares(units, {card.name: card.weight for card in self.cards})
        self.on_split(units, tuple(by_name[card.name] for card in self.cards))
        return [(card, by_name[card.name]) for card in self.cards]
