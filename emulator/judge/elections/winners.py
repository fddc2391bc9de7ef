"""Who is elected, held against who may be.

Judged is what follows from the faults alone: at power-up the first one listed; after that, while no election can be
under way, nobody but who holds the role: it is not taken from a holder that can keep it.
"""

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.seat_events import SeatElected
from ringhil.emulator.judge.findings import FindingList, Value
from ringhil.emulator.judge.recovery.watch import Watch
from ringhil.protocol.wire import Role


class Elections:
    """Make it after `watch`, which hears of each election and of the faults before it first."""

    def __init__(self, stream: Stream, watch: Watch) -> None:
        self._watch = watch
        self._oracle = watch.oracle
        self.wrong = FindingList()
        stream.listen(SeatElected, self._elected)

    def _elected(self, o: SeatElected) -> None:
        """A member of a card, or of a link between cards, has taken its role up."""
        role, number, gpu, now = o.seat.role, o.seat.number, o.seat.gpu, o.cycle
        entry = role is Role.ENTRY
        truth = (self._oracle.entries if entry else self._oracle.links)[number]
        claiming = self._oracle.claiming(number) if entry else self._oracle.claiming_across(number)
        able = self._oracle.able(number) if entry else self._oracle.able_across(number)
        if gpu in truth.holders or (not able and gpu in claiming):
            return
        cards = (number,) if entry else self._watch.ends(number)
        untouched = all(self._watch.untouched(card) for card in cards)
        if not untouched and not (truth.settled(now) and self._watch.steady(cards, now)):
            return
        if not entry and self._watch.uncertain(number):
            return
        watched = self._watch.cards[number].role if entry else self._watch.links[number]
        must = Value(" or ".join(str(holder) for holder in sorted(truth.holders, key=str)))
        self.wrong.tell(
            now, "{} at cycle {}: GPU {found} was elected, not {expected}", watched.name, now, found=gpu, expected=must
        )
