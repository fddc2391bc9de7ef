"""Which link its card's reports must call noisy: the last one before which a GPU's count of damaged messages changed,
until 16 rounds have passed without another change. Read off the records that come home, and held against the reports.
"""

from dataclasses import dataclass, field

from ringhil.emulator.judge.findings import FindingList
from ringhil.firmware.observations import Counted
from ringhil.protocol import codec
from ringhil.protocol.frames import Report, Statistics
from ringhil.protocol.wire import CensusVerdict, Flag, Port, RecordFlag

_NOBODY = 0xFFFF
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
    """Feed it in the order of time."""

    def __init__(self) -> None:
        self._censuses: dict[int, _Census] = {}
        self.wrong = FindingList()

    def elected(self, cell: int, epoch: int) -> None:
        """A GPU has taken the entry role up, and begins to count anew."""
        self._censuses[cell] = _Census(epoch)

    def over(self, cell: int) -> None:
        """It has laid it down, or failed."""
        self._censuses.pop(cell, None)

    def heard(self, cell: int, frame: bytes) -> None:
        """A sound statistics message has come home to it."""
        census = self._censuses.get(cell)
        if census is None:
            return
        try:
            message = codec.decode(frame, link=False)
        except codec.FrameError:
            return
        if isinstance(message, Statistics) and message.epoch == census.epoch:
            census.home.setdefault(message.sequence, {}).setdefault(bool(message.flags & Flag.CCW), message)

    def counted(self, cell: int, what: Counted, size: int) -> None:
        """It has made a count of a round: of both messages, or of the one that came home."""
        census = self._censuses.get(cell)
        if census is None:
            return
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

    def reported(self, cell: int, name: str, port: int, frame: bytes, now: int) -> None:
        """It writes a report to the CPU."""
        census = self._censuses.get(cell)
        if census is None or census.unsure or port != Port.CPU.code:
            return
        report = codec.decode(frame, link=False)
        must = _NOBODY if census.noisy is None else census.noisy
        if isinstance(report, Report) and report.noisy_link != must:
            said, true = (None if link == _NOBODY else link for link in (report.noisy_link, must))
            self.wrong.tell(
                now,
                "{} at cycle {}: the noisy link is {found}, by the records it is {expected}",
                name,
                now,
                found=said,
                expected=true,
            )
