"""Who is wired to whom: numbers for the cards, GPUs and links that a scenario names."""

from dataclasses import dataclass
from functools import cached_property

from ringhil.emulator.engine.engine import Topology
from ringhil.emulator.events.places import Places
from ringhil.emulator.scenario import BoundaryLink, GpuRef, Server
from ringhil.emulator.server.routing import Hop, hops


@dataclass(frozen=True)
class Crossing:
    """A GPU's end of a link between cards. `group`: number of the logical link; `rank` in it; `leads`: it is on the
    side that elects (the file's `from`), the other one grants."""

    group: int
    rank: int
    leads: bool
    members: tuple[int, ...]  # GPUs of this card in the group, by rank
    peer_card: int
    peer_gpu: int


class Wiring:
    """The wiring of a server as a scenario describes it."""

    def __init__(self, server: Server) -> None:
        self.server, self.cards = server, server.cards
        self.links = server.boundary_links
        self._number = {card.name: number for number, card in enumerate(server.cards)}
        bare = Topology(tuple(card.gpus for card in server.cards))
        self._bare = bare
        pairs = tuple((self.cell_of(a), self.cell_of(b)) for link in self.links for a, b in link.pairs)
        self.topology = Topology(bare.rings, pairs)
        self.places = Places(server)

    def number(self, card: str) -> int:
        """Number of a card by its name."""
        return self._number[card]

    def cell(self, card: int, gpu: int) -> int:
        """Cell of a GPU."""
        return self._bare.cell(card, gpu)

    @property
    def cells(self) -> int:
        """GPUs in all."""
        return self._bare.cells

    def place(self, cell: int) -> tuple[int, int]:
        """Card and GPU of a cell."""
        return self._places[cell]

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        return [(number, gpu) for number, card in enumerate(self.cards) for gpu in range(card.gpus)]

    def cell_of(self, gpu: GpuRef) -> int:
        """Cell of a GPU by its name."""
        return self.cell(self._number[gpu.card], gpu.index)

    def gpu_of(self, cell: int) -> GpuRef:
        """Name of the GPU of a cell."""
        card, gpu = self.place(cell)
        return GpuRef(self.cards[card].name, gpu)

    @cached_property
    def crossings(self) -> dict[int, Crossing]:
        """The end of a link between cards that a cell is, by cell."""
        result = {}
        for group, link in enumerate(self.links):
            for side, other, leads in ((link.from_, link.to, True), (link.to, link.from_, False)):
                members = tuple(gpu.index for gpu in side)
                for rank, (gpu, peer) in enumerate(zip(side, other, strict=True)):
                    far = self._number[peer.card]
                    result[self.cell_of(gpu)] = Crossing(group, rank, leads, members, far, peer.index)
        return result

    @cached_property
    def hops(self) -> dict[tuple[int, int], Hop]:
        """The hops between neighbouring cards, by (card, neighbouring card)."""
        return hops(len(self.cards), [self.ends(link) for link in self.links])

    def ends(self, link: BoundaryLink) -> tuple[int, int]:
        """The two cards that a logical link joins: the one that elects, the one that grants."""
        return self._number[link.from_[0].card], self._number[link.to[0].card]

    def next_hop(self, card: int, target: int) -> int | None:
        """The neighbour over which `card` sends what is for `target`."""
        direct = self.hops.get((card, target))
        if direct is not None:
            return target
        return next((other for (own, other), hop in self.hops.items() if own == card and hop.cards >> target & 1), None)
