"""Names of cards, GPUs and links in a file to the things that they name."""

from collections.abc import Mapping

from ringhil.emulator.scenario.errors import quoted
from ringhil.emulator.scenario.marks import Loc, Source
from ringhil.emulator.scenario.names import split_gpu, split_link
from ringhil.emulator.scenario.suggest import hint, listing
from ringhil.emulator.scenario.topology import Card, GpuRef, LinkRef


class Resolver:
    """Looks names up among `cards`; an unknown one raises the error of its place in the file."""

    def __init__(self, source: Source, cards: Mapping[str, Card]) -> None:
        self.source = source
        self.cards = cards

    def card(self, loc: Loc) -> Card:
        """The card that the last key of `loc` names."""
        return self._card(str(loc[-1]), loc, key=True)

    def index(self, loc: Loc, card: Card, index: int, *, key: bool = False) -> int:
        """`index`, which is a GPU's on this card."""
        if index >= card.gpus:
            problem = f"unknown GPU {index}; card {card.name} has 0 .. {card.gpus - 1}"
            raise self.source.error(loc, problem, key=key)
        return index

    def gpu(self, loc: Loc, text: str, on: Card | None = None) -> GpuRef:
        """The GPU `text`; with `on`, only one of that card."""
        name, index = split_gpu(text)
        card = self._card(name, loc)
        if index >= card.gpus:
            raise self.source.error(loc, f"unknown GPU {quoted(text)}; card {name} has {_range(card)}")
        if on is not None and card != on:
            raise self.source.error(loc, f"{text} is not on card {on.name}, which has {_range(on)}")
        return GpuRef(name, index)

    def link(self, loc: Loc, text: str, on: Card | None = None) -> LinkRef:
        """The ring link `text`, its GPUs in either order; where both fit (a ring of two) as given."""
        first, second = (self.gpu(loc, half, on) for half in split_link(text))
        card = self.cards[first.card]
        if first.card == second.card:
            for before, after in ((first, second), (second, first)):
                if after.index == (before.index + 1) % card.gpus:
                    return LinkRef(card.name, before.index, card.gpus)
        neighbours = {GpuRef(card.name, (first.index + step) % card.gpus): None for step in (-1, 1)}
        problem = f"no ring link {quoted(text)}; {first} is linked with {listing(map(str, neighbours))}"
        raise self.source.error(loc, problem)

    def _card(self, name: str, loc: Loc, *, key: bool = False) -> Card:
        card = self.cards.get(name)
        if card is None:
            has = "cards are" if len(self.cards) > 1 else "the only card is"
            problem = f"unknown card {quoted(name)}; {hint(name, self.cards)}{has} {listing(self.cards)}"
            raise self.source.error(loc, problem, key=key)
        return card


def _range(card: Card) -> str:
    return f"{GpuRef(card.name, 0)} .. {GpuRef(card.name, card.gpus - 1)}"
