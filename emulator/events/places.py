"""Where an event has happened, by its name."""

from ringhil.emulator.events.server import Struck
from ringhil.emulator.scenario import Server


class Places:
    """Names of a server's GPUs and cards. `gpus`: by cell, as `a.3`; cells count through the cards of the file."""

    def __init__(self, server: Server) -> None:
        self.cards = tuple(card.name for card in server.cards)
        self._by_card = [[f"{card.name}.{gpu}" for gpu in range(card.gpus)] for card in server.cards]
        self.gpus = tuple(name for names in self._by_card for name in names)

    def of(self, event: object) -> str | None:
        """The GPU, card or link that an event of the stream is about; None: it names none."""
        if isinstance(event, Struck):
            return event.event.where
        cell, card, gpu = (getattr(event, name, None) for name in ("cell", "card", "gpu"))
        if isinstance(cell, int):
            return self.gpus[cell]
        if isinstance(gpu, tuple):
            card, gpu = gpu
        if not isinstance(card, int):
            return None
        return self._by_card[card][gpu] if isinstance(gpu, int) else self.cards[card]
