"""Which link its card's reports must call noisy: the last one before which a GPU's count of damaged messages changed,
until 16 rounds have passed without another change. Read off the records that come home, and held against the reports.
"""

from dataclasses import dataclass, field

from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.hardware import FromFirmware, ToFirmware
from ringhil.emulator.events.server import FirmwareStopped
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.messages import cut_short
from ringhil.emulator.judge.elections.seat_events import RING, SeatDeposed, SeatElected
from ringhil.emulator.judge.findings import FindingList, Name
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.observations import Counted
from ringhil.protocol import codec
from ringhil.protocol.frames import Report, Statistics
from ringhil.protocol.wire import CensusVerdict, Flag, Port, RecordFlag, Role

_NOBODY = 0xFFFF
_NOISY_LINK = 18  # place among a report's fields
_FORGOTTEN = 16  # rounds with records


@dataclass
class _Census:
    """Of an entry GPU since it was elected. `home`: what has come home of a round, by its number and direction."""

    epoch: int
    home: dict[int, dict[bool, Statistics]] = field(default_factory=dict)
    counters: dict[tuple[int, bool], int] = field(default_factory=dict)  # by GPU and port
    noisy: int | None = None
    quiet: int = 0
    unsure: bool = False  # of a round it can't be told which messages were taken


class NoisyLinks:
    """On the ring of each card."""

    def __init__(self, stream: Stream, wiring: Wiring) -> None:
        self._wiring = wiring
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
        """A sound statistics message has come home to it."""
        if o.bad or o.frame[0] != Statistics.KIND or o.port not in RING:
            return
        census = self._censuses.get(o.cell)
        if census is None:
            return
        try:
            message = codec.decode(o.frame, link=False)
        except codec.FrameError:
            return
        if isinstance(message, Statistics) and message.epoch == census.epoch:
            census.home.setdefault(message.sequence, {}).setdefault(bool(message.flags & Flag.CCW), message)

    def _said(self, o: FirmwareSaid) -> None:
        """It has made a count of a round: of both messages, or of the one that came home."""
        what, census = o.what, self._censuses.get(o.cell)
        if census is None or not isinstance(what, Counted):
            return
        size = self._wiring.cards[self._wiring.place(o.cell)[0]].gpus
        home = census.home.get(what.sequence, {})
        census.home = {sequence: found for sequence, found in census.home.items() if sequence > what.sequence}
        if len(home) != (1 if what.verdict is CensusVerdict.SINGLE else 2):
            census.unsure = True
        seen = False
        for ccw in (False, True):
            for record in home[ccw].records[1:] if ccw in home else ():
                seen = True
                port2 = bool(record.flags & RecordFlag.PORT2)
                before = census.counters.get((record.id, port2), record.errors)
                census.counters[record.id, port2] = record.errors
                if record.errors != before:
                    census.noisy, census.quiet = record.id if port2 else (record.id - 1) % size, 0
        census.quiet += seen
        if census.quiet > _FORGOTTEN:
            census.noisy = None

    def _sent(self, o: FromFirmware) -> None:
        """It writes a report to the CPU."""
        if o.frame[0] != Report.KIND or o.port != Port.CPU.code:
            return
        census = self._censuses.get(o.cell)
        if census is None or census.unsure or cut_short(o.frame):
            return
        noisy = Report.HEAD.unpack_from(o.frame)[_NOISY_LINK]
        must = _NOBODY if census.noisy is None else census.noisy
        if noisy != must:
            said, true = (None if link == _NOBODY else link for link in (noisy, must))
            self.wrong.tell(
                o.cycle,
                "{} at cycle {}: the noisy link is {found}, by the records it is {expected}",
                Name(self._wiring.places.gpus[o.cell]),
                o.cycle,
                found=said,
                expected=true,
            )
