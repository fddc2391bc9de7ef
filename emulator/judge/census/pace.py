"""Rounds of a census, and cards that fall silent: neither sooner nor later than the pages promise.

An entry GPU begins a round in each `census_period`, tries one that has failed again at once, three times in all, and
begins none in between but one that is asked for. The CPU takes a card for unreachable when it has not reported for
`silence` cycles, which it looks for every half of that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.hardware import FromFirmware
from ringhil.emulator.events.server import CountAsked, CpuSaid, FirmwareStopped, TakenIn
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.elections.seat_events import ELECTIONS, UPLINKS, SeatDeposed, SeatElected
from ringhil.emulator.judge.findings import FindingList, Name, say
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.judge.work.cpu_events import CpuLooked
from ringhil.emulator.server.times import ATTEMPTS
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.observations import Counted, Rejected
from ringhil.protocol.frames import Statistics
from ringhil.protocol.wire import Role

_SEQUENCE = slice(12, 16)  # bytes of a statistics message


def silence_of(bounds: Sequence[Bounds]) -> int:
    """Cycles without a report after which a card isn't counted."""
    slowest = max(b.times.timeout + b.times.ring_time for b in bounds)
    return 3 * max(bounds[0].times.settings.census_period, slowest) + ATTEMPTS * slowest


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

    def __init__(self, stream: Stream, wiring: Wiring, views: Sequence[CardView], bounds: Sequence[Bounds]) -> None:
        self._place, self._names = wiring.place, wiring.places.cards
        self._views, self._bounds = views, bounds
        self._rounds: dict[int, _Rounds] = {}  # by card
        self._silence = silence_of(bounds)
        self._reachable = [False] * len(self._names)
        self.wrong = FindingList()
        stream.listen(SeatElected, self._elected)
        stream.listen(SeatDeposed, self._deposed)
        stream.listen(FirmwareStopped, lambda o: self._over(*self._place(o.cell), o.cycle))
        stream.listen(FirmwareSaid, self._said)
        stream.listen(FromFirmware, self._from_firmware)
        stream.listen(CountAsked, self._asked)
        stream.listen(CpuLooked, lambda o: self._look(o.cycle))
        stream.listen(CpuSaid, lambda o: self._look(o.cycle))
        stream.listen(TakenIn, self._taken_in)

    def _taken_in(self, o: TakenIn) -> None:
        if o.frame[0] not in ELECTIONS:
            self._look(o.cycle)

    def _elected(self, o: SeatElected) -> None:
        if o.seat.role is Role.ENTRY:
            self._rounds[o.seat.number] = _Rounds(o.seat.gpu, o.cycle)

    def _deposed(self, o: SeatDeposed) -> None:
        if o.seat.role is Role.ENTRY:
            self._over(o.seat.number, o.seat.gpu, o.cycle)

    def _over(self, card: int, gpu: int, now: int) -> None:
        """It has laid it down, or failed."""
        rounds = self._rounds.get(card)
        if rounds is not None and rounds.gpu == gpu:
            self._silent(card, rounds, now)
            del self._rounds[card]

    def _from_firmware(self, o: FromFirmware) -> None:
        if o.frame[0] == Statistics.KIND and o.port not in UPLINKS:
            self._sent(*self._place(o.cell), int.from_bytes(o.frame[_SEQUENCE]), o.cycle)

    def _sent(self, card: int, gpu: int, sequence: int, now: int) -> None:
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

    def _asked(self, o: CountAsked) -> None:
        """A period may begin now."""
        rounds = self._rounds.get(o.card)
        if rounds is not None:
            rounds.asked_at = o.cycle

    def _said(self, o: FirmwareSaid) -> None:
        """Its last round has made a count, or has been rejected."""
        card, gpu = self._place(o.cell)
        rounds, what = self._rounds.get(card), o.what
        if rounds is None:
            return
        if isinstance(what, Counted):
            rounds.counted = True
        elif isinstance(what, Rejected) and rounds.gpu == gpu and rounds.attempts < ATTEMPTS and what.reason.ends_round:
            rounds.failed_at = o.cycle

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

    def _look(self, now: int) -> None:
        """Whom the CPU takes for reachable, now that it may have changed."""
        for card, view in enumerate(self._views):
            quiet = now - view.reported_at
            gone = self._reachable[card] and not view.reachable
            if (view.reachable or gone) and quiet > self._silence + self._silence // 2:
                self._tell(card, now, say("it is taken for reachable, {} cycles after its last report", quiet))
            if gone and view.rank is not None and quiet < self._silence:
                self._tell(card, now, say("it is taken for unreachable {} cycles after its last report", quiet))
            self._reachable[card] = view.reachable

    def finish(self, now: int) -> None:
        """The run is over."""
        for card, rounds in self._rounds.items():
            self._silent(card, rounds, now)
        self._look(now)

    def _tell(self, card: int, now: int, what: str) -> None:
        self.wrong.tell(now, "card {} at cycle {}: {}", Name(self._names[card]), now, what)
