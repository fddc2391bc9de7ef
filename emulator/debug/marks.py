"""What of a run belongs on its time line: faults, and roles that were taken up and laid down."""

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ringhil.emulator.errors import printable
from ringhil.emulator.scenario import EventAction
from ringhil.emulator.scenario.file.faults import LENDINGS, LENT
from ringhil.emulator.trace.recording import RecordedEvent, Recording

_KINDS = ("Struck", "Elected", "Deposed", "FirmwareStopped", "FirmwareLost", "NodeLost")
_STEP = 1000  # events that are read at a time
MOST = 50_000  # that are kept


class TimeMark(NamedTuple):
    """`sign`: on the time line. `what` and `where`: `dead` of `a.3`, `entry` of `b.0`."""

    number: int
    cycle: int
    sign: str
    what: str
    where: str

    @property
    def text(self) -> str:
        """In words."""
        return f"{_WORDS[self.sign]} {self.what} {self.where}"


_WORDS = {"x": "fault", "o": "end of", "E": "role", "B": "role", "-": "lost role", "!": ""}


@dataclass
class Known:
    """What is so after all marks up to a number. `faults`: by the GPU or link that they strike; `roles`: by GPU."""

    faults: dict[str, set[str]] = field(default_factory=dict)
    roles: dict[str, set[str]] = field(default_factory=dict)

    def take(self, mark: TimeMark) -> None:
        """One more."""
        if mark.sign == "x":
            self.faults.setdefault(mark.where, set()).add(mark.what)
        elif mark.sign == "o":
            self.faults.get(mark.where, set()).discard(mark.what)
        elif mark.sign in "EB":
            self.roles.setdefault(mark.where, set()).add(mark.what)
        elif mark.sign == "-":
            self.roles.get(mark.where, set()).discard(mark.what)
        else:  # its firmware is gone, and its roles with it
            self.roles.pop(mark.where, None)


class TimeMarks:
    """Of a recording, as far as it has been read; `full`: there are more, which aren't kept."""

    def __init__(self, recording: Recording) -> None:
        self.all: list[TimeMark] = []
        self.full = False
        self._gpus = recording.gpus
        self._next = 1
        self._known, self._at = Known(), 0

    def read(self, recording: Recording) -> bool:
        """Some more of them; False: there are no more at present. Raises RecordingError."""
        found = recording.events_of(_KINDS, self._next, _STEP)
        self.all += map(self._mark, found)
        self.full = len(self.all) >= MOST
        if found:
            self._next = found[-1].number + 1
        return len(found) == _STEP and not self.full

    def _mark(self, event: RecordedEvent) -> TimeMark:
        said = json.loads(event.fields)
        gpu = "" if event.cell is None else self._gpus[event.cell]
        if event.kind == "Struck":
            where = next((str(said[name]) for name in ("gpu", "link", "card", *LENDINGS) if name in said), "")
            begins = "fault" in said or EventAction.LEND in said
            kind = said.get("fault") or said.get("clear") or LENT
            sign, what = "x" if begins else "o", kind
            return TimeMark(event.number, event.cycle, sign, printable(str(what)), printable(where))
        if event.kind in ("Elected", "Deposed"):
            role = printable(str(said.get("role")))
            sign = "-" if event.kind == "Deposed" else "E" if role == "entry" else "B"
            return TimeMark(event.number, event.cycle, sign, role, gpu)
        return TimeMark(event.number, event.cycle, "!", event.kind, gpu)

    def last(self, number: int) -> TimeMark | None:
        """The last one up to a number."""
        place = self._place(number)
        return self.all[place - 1] if place else None

    def known(self, number: int) -> Known:
        """What is so there."""
        place = self._place(number)
        if place < self._at:
            self._known, self._at = Known(), 0
        for mark in self.all[self._at : place]:
            self._known.take(mark)
        self._at = place
        return self._known

    def _place(self, number: int) -> int:
        return bisect_right(self.all, number, key=lambda mark: mark.number)


def strongest(marks: Sequence[TimeMark]) -> str:
    """The sign of several in one place."""
    return strongest_sign(mark.sign for mark in marks)


def strongest_sign(signs: Iterable[str]) -> str:
    """That which tells most."""
    return min(signs, key="x!oEB-".index)
