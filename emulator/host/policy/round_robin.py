"""Work in equal parts, whatever a GPU weighs: what R5 is measured against."""

from collections.abc import Iterator, Sequence

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.policy.policy import Backlog, Policy


class RoundRobin(Policy):
    """Every member GPU of every card gets a unit in its turn. One whose window is full is waited for; one that gets
    none, as it is barred or there is no unit for it, is passed over and keeps its turn."""

    def __init__(self, cards: Sequence[CardView]) -> None:
        super().__init__(cards)
        self._left = Backlog()
        self._last = (-1, -1)  # card and GPU that got the last unit

    def begin(self, units: int) -> None:
        self._left.add(0, units)
        circle = self._circle()
        for place, (card, _) in enumerate(circle):
            card.share += len(range(place, units, len(circle)))

    def recount(self) -> None:
        """Nothing is reserved for a card."""

    def turns(self, window: int) -> Iterator[tuple[CardView, int]]:
        circle, passed = self._circle(), 0
        place = next((i for i, (card, gpu) in enumerate(circle) if (card.number, gpu) > self._last), 0)
        while passed < len(circle):
            card, gpu = circle[place]
            before = card.load.get(gpu, 0)
            if before >= card.window(gpu, window):
                return
            place = (place + 1) % len(circle)
            yield card, gpu
            if card.load.get(gpu, 0) > before:
                self._last, passed = (card.number, gpu), 0
            else:
                passed += 1

    def take(self, card: CardView, gpu: int) -> int | None:
        return self._left.pop()

    def _circle(self) -> list[tuple[CardView, int]]:
        return [(card, gpu) for card in self.cards for gpu in card.workers]
