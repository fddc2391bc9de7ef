"""What an entry GPU makes of a round, held against the statistics messages that came home to it.

A round is lost only if no message of it came home to be believed, and half only if one alone did, turned round at a
cut. A link is called slow after four rounds with records at the earliest. Without records each member weighs the same.
"""

from dataclasses import dataclass, field

from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.hardware import FromFirmware, ToFirmware
from ringhil.emulator.events.places import Places
from ringhil.emulator.events.server import FirmwareStopped
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.messages import cut_short
from ringhil.emulator.judge.elections.seat_events import RING, SeatDeposed, SeatElected
from ringhil.emulator.judge.findings import FindingList, Name, say
from ringhil.firmware.observations import Counted, Rejected
from ringhil.protocol.frames import Report, Statistics
from ringhil.protocol.reasons import Rejection
from ringhil.protocol.wire import Flag, Role

_NOBODY = 0xFFFF
_ROUNDS = 4  # that have found a link slow, at least
_QUARTERS = 4  # weight of a GPU by default


@dataclass
class _Census:
    """Of an entry GPU since it was elected. `home`: of the messages of a round when it reads them, and whether they
    were turned round."""

    epoch: int
    home: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)
    refused: int = 0  # messages, since the last round was over
    recorded: set[int] = field(default_factory=set)  # rounds with records, the first few


class Rounds:
    """`latency`: cycles until firmware reads a frame that has arrived. `never`: the server's messages carry no
    records."""

    def __init__(self, stream: Stream, places: Places, latency: int, *, never: bool) -> None:
        self._places, self._latency, self._never = places, latency, never
        self._censuses: dict[int, _Census] = {}
        self.wrong = FindingList()
        stream.listen(ToFirmware, self._heard)
        stream.listen(FromFirmware, self._sent)
        stream.listen(FirmwareSaid, self._said)
        stream.listen(SeatElected, self._elected)
        stream.listen(SeatDeposed, self._deposed)
        stream.listen(FirmwareStopped, lambda o: self._censuses.pop(o.cell, None))

    def _elected(self, o: SeatElected) -> None:
        """A GPU has taken the entry role up, and begins to count anew."""
        if o.seat.role is Role.ENTRY:
            self._censuses[o.cell] = _Census(o.what.epoch)

    def _deposed(self, o: SeatDeposed) -> None:
        if o.seat.role is Role.ENTRY:
            self._censuses.pop(o.cell, None)

    def _heard(self, o: ToFirmware) -> None:
        """A statistics message, sound or damaged, has come home to it."""
        frame = o.frame
        if frame[0] != Statistics.KIND or o.port not in RING:
            return
        census = self._censuses.get(o.cell)
        if census is None or cut_short(frame):
            return
        _, _, flags, _, _, epoch, sequence, _, records, *_ = Statistics.HEAD.unpack_from(frame)
        if epoch == census.epoch:
            census.home.setdefault(sequence, []).append((o.cycle + self._latency, bool(flags & Flag.WRAPPED)))
            if records and len(census.recorded) < _ROUNDS:
                census.recorded.add(sequence)

    def _said(self, o: FirmwareSaid) -> None:
        if isinstance(o.what, Counted):
            self._next(o.cell)
        elif isinstance(o.what, Rejected):
            self._rejected(o.cell, Name(self._places.gpus[o.cell]), o.what, o.cycle)

    def _rejected(self, cell: int, name: str, what: Rejected, now: int) -> None:
        """It has rejected a message, or a round."""
        census = self._censuses.get(cell)
        if census is None:
            return
        if not what.reason.ends_round:
            census.refused += 1
            return
        home = [wrapped for at, wrapped in census.home.get(what.sequence, ()) if at < now]
        if what.reason is Rejection.LOST and len(home) > census.refused:
            self._tell(
                name, now, say("round {} is lost, and {} of its messages had come home", what.sequence, len(home))
            )
        elif what.reason is Rejection.HALF and not census.refused and home not in ([], [True]):
            self._tell(name, now, say("half of round {} is lost, and it came home so: {}", what.sequence, _told(home)))
        self._next(cell)

    def _sent(self, o: FromFirmware) -> None:
        """It writes a report to the CPU."""
        if o.frame[0] != Report.KIND:
            return
        census, frame, now = self._censuses.get(o.cell), o.frame, o.cycle
        if census is None or cut_short(frame):
            return
        name = Name(self._places.gpus[o.cell])
        report = Report.HEAD.unpack_from(frame)
        count, slow, weight = report[8], report[17], report[19]
        if slow != _NOBODY and len(census.recorded) < _ROUNDS:
            few = say("after {} rounds with records; {} must agree", len(census.recorded), _ROUNDS)
            self._tell(name, now, say("link {} is called slow {}", slow, few))
        if self._never and weight != _QUARTERS * count:
            self._tell(
                name,
                now,
                say(
                    "the weight of {} GPUs is {found}; without records it is {expected}",
                    count,
                    found=weight,
                    expected=_QUARTERS * count,
                ),
            )

    def _next(self, cell: int) -> None:
        census = self._censuses.get(cell)
        if census is not None:
            census.refused = 0
            for sequence in sorted(census.home)[:-1]:
                del census.home[sequence]

    def _tell(self, name: str, now: int, what: str) -> None:
        self.wrong.tell(now, "{} at cycle {}: {}", name, now, what)


def _told(home: list[bool]) -> str:
    return " and ".join("turned round" if wrapped else "by the way it was sent" for wrapped in home)
