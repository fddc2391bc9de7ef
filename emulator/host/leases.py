"""Which GPU speaks for each card: leases, and the fence around everybody without one (R10)."""

from collections.abc import Callable, Sequence

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.card import CardView
from ringhil.firmware.actions import Action
from ringhil.firmware.observations import Granted, Lapsed
from ringhil.protocol import codec
from ringhil.protocol.frames import Election, Keepalive

OnChange = Callable[[CardView, Granted | Lapsed], None]


class Leases:
    """Answers keepalives and claims as each card's grantor decides, and ends leases that nobody renews.

    `on_change` is called when a lease has begun or ended, before the answer goes out. A grantor lets a lease lapse
    before it grants the next one.
    """

    def __init__(self, port: CardPort, cards: Sequence[CardView], on_change: OnChange) -> None:
        self._port, self._on_change = port, on_change
        self._links = {cell: (card, rank) for card in cards for rank, cell in enumerate(card.cells)}
        self._alarms: dict[int, int] = {}  # by card number: when to look at its lease

    def answer(self, cell: int, message: Keepalive | Election) -> None:
        """A GPU asks for, renews or gives back a lease: whoever it is, it gets its answer by its own link."""
        card, rank = self._links[cell]
        answer: Keepalive | Election | None
        if isinstance(message, Keepalive):
            answer, actions = card.grantor.on_keepalive(rank, message, self._port.now)
        else:
            answer, actions = card.grantor.on_election(rank, message, self._port.now)
        self._carry_out(card, actions)
        if answer is not None:
            self._port.send(cell, [codec.encode(answer)])

    def __contains__(self, cell: int) -> bool:
        """Whether the GPU has a link to the CPU that the card is known to have."""
        return cell in self._links

    def holder(self, cell: int, epoch: int) -> CardView | None:
        """The card that this GPU speaks for under that epoch; None: it doesn't hold the lease, so it is fenced off."""
        card, rank = self._links[cell]
        return card if (card.rank, card.epoch) == (rank, epoch) else None

    def _carry_out(self, card: CardView, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Granted):
                card.granted(action.rank, action.epoch)
                self._on_change(card, action)
            elif isinstance(action, Lapsed):
                card.rank = None
                self._on_change(card, action)
        self._watch(card)

    def _watch(self, card: CardView) -> None:
        """Look at the lease when it is about to run out; when it has been renewed since, look again then."""
        expiry = card.grantor.next_expiry
        if expiry is None or expiry == self._alarms.get(card.number):
            return
        self._alarms[card.number] = expiry

        def look() -> None:
            if self._alarms.get(card.number) == expiry:
                del self._alarms[card.number]
                self._carry_out(card, card.grantor.on_expire(self._port.now))

        self._port.at(expiry, look)
