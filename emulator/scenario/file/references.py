"""Names of cards, GPUs and links in a file to the things that they name."""

from collections.abc import Mapping, Sequence

from ringhil.emulator.scenario.file.faults import FaultTarget
from ringhil.emulator.scenario.file.names import split_link
from ringhil.emulator.scenario.file.topology import BoundaryLink, Card, CrossRef, GpuRef, LinkRef
from ringhil.emulator.scenario.yaml.errors import ScenarioError, hint, listing, quoted
from ringhil.emulator.scenario.yaml.marks import Loc, Source


class Resolver:
    """Looks names up among cards and boundary links; an unknown one raises the error of its place in the file."""

    def __init__(self, source: Source, cards: Mapping[str, Card], boundary_links: Sequence[BoundaryLink] = ()) -> None:
        self.source = source
        self.cards = cards
        self.boundary_links = boundary_links
        self._crosses = dict.fromkeys(cross for link in boundary_links for cross in link.refs)

    def card(self, loc: Loc) -> Card:
        """The card that the last key of `loc` names."""
        return self._card(str(loc[-1]), loc, key=True)

    def named_card(self, loc: Loc, name: str) -> Card:
        """The card `name`."""
        return self._card(name, loc)

    def index(self, loc: Loc, card: Card, index: int, *, key: bool = False) -> int:
        """`index`, which is a GPU's on this card."""
        if index >= card.gpus:
            problem = f"unknown GPU {index}; card {card.name} has 0 .. {card.gpus - 1}"
            raise self.source.error(loc, problem, key=key)
        return index

    def gpu(self, loc: Loc, text: str, on: Card | None = None, *, key: bool = False) -> GpuRef:
        """The GPU `text`; with `on`, only one of that card. `key`: it is the last key of `loc`."""
        gpu = GpuRef.parse(text)
        card = self._card(gpu.card, loc, key=key)
        if gpu.index >= card.gpus:
            raise self.source.error(loc, f"unknown GPU {quoted(text)}; card {gpu.card} has {_range(card)}", key=key)
        if on is not None and card != on:
            raise self.source.error(loc, f"{text} is not on card {on.name}, which has {_range(on)}")
        return gpu

    def ring_link(self, loc: Loc, text: str, on: Card) -> LinkRef:
        """The ring link `text` of card `on`, its GPUs in either order; where both fit (a ring of two) as given."""
        first, second = (self.gpu(loc, half, on) for half in split_link(text))
        found = self._ring_link(first, second)
        if found is None:
            raise self._no_link(loc, text, first, FaultTarget.RING_LINK)
        return found[0]

    def link(self, loc: Loc, text: str, kind: FaultTarget) -> tuple[LinkRef | CrossRef, bool]:
        """The link `text`, of any kind, and whether it is written against its own direction.

        `kind` is what is looked for: it matters for what is said when there is no such link.
        """
        first, second = (self.gpu(loc, half) for half in split_link(text))
        found = self._ring_link(first, second) or self._cross(first, second)
        if found is None:
            raise self._no_link(loc, text, first, kind)
        return found

    def host_linked(self, loc: Loc, gpu: GpuRef) -> GpuRef:
        """`gpu`, which has a link to the CPU."""
        if gpu not in (able := _host_linked(self.cards[gpu.card])):
            problem = f"{gpu} has no link to the CPU; host links of card {gpu.card}: {listing(map(str, able))}"
            raise self.source.error(loc, problem)
        return gpu

    def with_keepalives(self, loc: Loc, gpu: GpuRef) -> GpuRef:
        """`gpu`, which sends keepalives: to the other members of a logical link."""
        card = self.cards[gpu.card]
        senders = dict.fromkeys((*_host_linked(card), *self.boundary_members(card)))
        if gpu not in senders:
            problem = (
                f"{gpu} sends no keepalives; host links and boundary members of card {card.name} do: "
                f"{listing(map(str, senders))}"
            )
            raise self.source.error(loc, problem)
        return gpu

    def boundary_members(self, card: Card) -> list[GpuRef]:
        """The GPUs of `card` that are in a boundary link."""
        return [gpu for link in self.boundary_links for gpu in (*link.from_, *link.to) if gpu.card == card.name]

    def _ring_link(self, first: GpuRef, second: GpuRef) -> tuple[LinkRef, bool] | None:
        if first.card == second.card:
            gpus = self.cards[first.card].gpus
            for before, after, reverse in ((first, second, False), (second, first, True)):
                if after.index == (before.index + 1) % gpus:
                    return LinkRef(before.card, before.index, gpus), reverse
        return None

    def _cross(self, first: GpuRef, second: GpuRef) -> tuple[CrossRef, bool] | None:
        for cross, reverse in ((CrossRef(first, second), False), (CrossRef(second, first), True)):
            if cross in self._crosses:
                return cross, reverse
        return None

    def _no_link(self, loc: Loc, text: str, first: GpuRef, kind: FaultTarget) -> ScenarioError:
        gpus = self.cards[first.card].gpus
        linked: dict[GpuRef, None] = {}
        if kind != FaultTarget.BOUNDARY_LINK:
            linked |= {GpuRef(first.card, (first.index + step) % gpus): None for step in (-1, 1)}
        if kind != FaultTarget.RING_LINK:
            ends = [(cross.from_, cross.to) for cross in self._crosses]
            linked |= {to if from_ == first else from_: None for from_, to in ends if first in (from_, to)}
        problem = f"no {kind} {quoted(text)}; "
        if linked:
            problem += f"{first} is linked with {listing(map(str, linked))}"
        else:
            problem += f"boundary links are {listing(map(str, self._crosses))}" if self._crosses else "there are none"
        return self.source.error(loc, problem)

    def _card(self, name: str, loc: Loc, *, key: bool = False) -> Card:
        card = self.cards.get(name)
        if card is None:
            has = "cards are" if len(self.cards) > 1 else "the only card is"
            problem = f"unknown card {quoted(name)}; {hint(name, self.cards)}{has} {listing(self.cards)}"
            raise self.source.error(loc, problem, key=key)
        return card


def _range(card: Card) -> str:
    return f"{GpuRef(card.name, 0)} .. {GpuRef(card.name, card.gpus - 1)}"


def _host_linked(card: Card) -> list[GpuRef]:
    return [GpuRef(card.name, index) for index in card.host_links]
