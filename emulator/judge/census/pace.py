"""Rounds of a census, and cards that fall silent: neither sooner nor later than the pages promise.

An entry GPU begins a round in each `census_period`, tries one that has failed again at once, three times in all, and
begins none in between but one that is asked for. The CPU takes a card for unreachable when it has not reported for
`silence` cycles, which it looks for every half of that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.findings import FindingList, Name, say
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.server.times import ATTEMPTS


@dataclass
class _Rounds:
    """Of the entry GPU of a card, since it was elected. `sequence`: of the last round."""

    gpu: int
    elected_at: int
    sequence: int | None = None
    began: int = 0  # the last round
    first: int = 0  # the first round of its period
    attempts: int = 0
    counted: bool = False  # the last round has made a count
    failed_at: int | None = None  # it has failed, and is to be tried again in that very cycle
    asked_at: int = -1  # somebody outside has asked for a round


class Pace:
    """`views` and `bounds`: by card."""

    def __init__(self, names: Sequence[str], views: Sequence[CardView], bounds: Sequence[Bounds]) -> None:
        self._names, self._views, self._bounds = names, views, bounds
        self._rounds: dict[int, _Rounds] = {}  # by card
        slowest = max(b.times.timeout + b.times.ring_time for b in bounds)
        self.silence = 3 * max(bounds[0].times.settings.census_period, slowest) + ATTEMPTS * slowest
        self._reachable = [False] * len(names)
        self.wrong = FindingList()

    def elected(self, card: int, gpu: int, now: int) -> None:
        """A GPU has taken the entry role up."""
        self._rounds[card] = _Rounds(gpu, now)

    def over(self, card: int, gpu: int, now: int) -> None:
        """It has laid it down, or failed."""
        rounds = self._rounds.get(card)
        if rounds is not None and rounds.gpu == gpu:
            self._silent(card, rounds, now)
            del self._rounds[card]

    def sent(self, card: int, gpu: int, sequence: int, now: int) -> None:
        """It sends a statistics message: one of a round goes each way."""
        rounds = self._rounds.get(card)
        if rounds is None or rounds.gpu != gpu:
            self._tell(card, now, say("GPU {} counts, and doesn't hold the role", gpu))
            return
        if sequence == rounds.sequence:
            return
        self._silent(card, rounds, now)
        period, again = self._bounds[card].times.settings.census_period, False
        if rounds.sequence is not None:
            open_yet = rounds.attempts < ATTEMPTS and not rounds.counted
            due_now = (now - rounds.first) % period == 0 or now == rounds.asked_at
            again = now == rounds.failed_at or (open_yet and not due_now)
            if not (again or due_now):
                due = "a count" if rounds.counted else say("{} attempts", ATTEMPTS)
                self._tell(
                    card, now, say("a round begins {} cycles after the last, and after {}", now - rounds.first, due)
                )
        rounds.attempts = rounds.attempts + 1 if again else 1
        rounds.first = rounds.first if again else now
        rounds.sequence, rounds.began, rounds.counted, rounds.failed_at = sequence, now, False, None

    def asked(self, card: int, now: int) -> None:
        """Somebody outside has asked for a count: a period may begin now."""
        rounds = self._rounds.get(card)
        if rounds is not None:
            rounds.asked_at = now

    def counted(self, card: int) -> None:
        """Its last round has made a count."""
        rounds = self._rounds.get(card)
        if rounds is not None:
            rounds.counted = True

    def failed(self, card: int, gpu: int, now: int) -> None:
        """Its last round has been rejected."""
        rounds = self._rounds.get(card)
        if rounds is not None and rounds.gpu == gpu and rounds.attempts < ATTEMPTS:
            rounds.failed_at = now

    def _silent(self, card: int, rounds: _Rounds, now: int) -> None:
        """The next round, or the end, comes now: not too late."""
        times = self._bounds[card].times
        if rounds.failed_at is not None and rounds.failed_at < now:
            failed = say("attempt {} of {} failed at cycle {}", rounds.attempts, ATTEMPTS, rounds.failed_at)
            self._tell(card, now, say("{}, and no other one began at once", failed))
        last = rounds.elected_at if rounds.sequence is None else rounds.began
        most = 0 if rounds.sequence is None else times.timeout + times.settings.census_period
        if now - last > most:
            self._tell(card, now, say("no round has begun since cycle {}; one must within {} cycles", last, most))

    def look(self, now: int) -> None:
        """Whom the CPU takes for reachable, now that it may have changed."""
        for card, view in enumerate(self._views):
            quiet = now - view.reported_at
            gone = self._reachable[card] and not view.reachable
            if (view.reachable or gone) and quiet > self.silence + self.silence // 2:
                self._tell(card, now, say("it is taken for reachable, {} cycles after its last report", quiet))
            if gone and view.rank is not None and quiet < self.silence:
                self._tell(card, now, say("it is taken for unreachable {} cycles after its last report", quiet))
            self._reachable[card] = view.reachable

    def finish(self, now: int) -> None:
        """The run is over."""
        for card, rounds in self._rounds.items():
            self._silent(card, rounds, now)
        self.look(now)

    def _tell(self, card: int, now: int, what: str) -> None:
        self.wrong.tell(now, "card {} at cycle {}: {}", Name(self._names[card]), now, what)
