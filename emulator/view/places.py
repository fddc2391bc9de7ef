"""Who is wired to whom, by name: what the page draws."""

from ringhil.emulator.scenario import Server
from ringhil.emulator.view.messages import CardAbout, CrossAbout
from ringhil.protocol.wire import Link

CPU = "cpu"


class Wires:
    """Of a server, as its file has it."""

    def __init__(self, server: Server) -> None:
        self.cards = [
            CardAbout(
                name=card.name,
                gpus=[f"{card.name}.{gpu}" for gpu in range(card.gpus)],
                host=[f"{card.name}.{gpu}" for gpu in card.host_links],
            )
            for card in server.cards
        ]
        pairs = [(str(one), str(other)) for link in server.boundary_links for one, other in link.pairs]
        self.crossings = [CrossAbout(one=one, other=other) for one, other in pairs]
        self._far: dict[tuple[str, str], str] = {}
        for card in self.cards:
            for place, gpu in enumerate(card.gpus):
                self._far[gpu, str(Link.P1)] = card.gpus[place - 1]
                self._far[gpu, str(Link.P2)] = card.gpus[(place + 1) % len(card.gpus)]
                self._far[gpu, str(Link.HOST)] = CPU
        for one, other in pairs:
            self._far[one, str(Link.BOUNDARY)], self._far[other, str(Link.BOUNDARY)] = other, one

    def far(self, gpu: str, link: str) -> str:
        """What a GPU sends to by a link; a link that isn't wired leads back to it."""
        return self._far.get((gpu, link), gpu)
