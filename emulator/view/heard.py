"""What was heard of a card over its management port: the last rows of it, pictures, and the time line.

A card is listened to for as long as the page is open, so what is kept is bounded: `KEPT` rows, `MOST_MARKS` marks of
the time line; the oldest go. One thread hears, another answers: each call is whole.
"""

import json
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from threading import Lock
from typing import Any, NamedTuple

from ringhil.emulator.debug.items import RecordedItem, decoded
from ringhil.emulator.debug.marks import strongest_sign
from ringhil.emulator.events.recorded import STRUCK
from ringhil.emulator.trace.recording import RecordedEvent, RecordedMessage
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.emulator.view.messages import CardAbout, MarkBucket, ViewMarks, ViewPicture
from ringhil.emulator.view.pictures import ToldPicture, drawn
from ringhil.firmware.observations import Counted, Deposed, Elected
from ringhil.protocol.registers import ControlBit, StatusBit

KEPT = 50_000  # rows
MOST_MARKS = 10_000
REGISTERS, MISSED, LINE_LOST, LINE_BACK = "Registers", "Missed", "LineLost", "LineBack"
# What a management port tells of, besides frames.
TOLD = (Counted.__name__, Elected.__name__, Deposed.__name__, STRUCK, REGISTERS, MISSED, LINE_LOST, LINE_BACK)
_APART = 512  # rows between two pictures that are kept
_SPARE = KEPT // 10  # rows that go at a time
_BYPASSED = StatusBit.BYPASS_CW | StatusBit.BYPASS_CCW


class _Mark(NamedTuple):
    """`counted`: GPUs of the card, since then; otherwise a sign with its words."""

    number: int
    cycle: int
    sign: str
    text: str
    counted: int | None


class HeardRows:
    """Of one card, from when it was first heard."""

    def __init__(self, card: CardAbout) -> None:
        self.card, self.gpus = card, card.gpus
        self._lock = Lock()
        self._rows = list[RecordedItem]()
        self._number = 0  # of the last row
        self._cycle = 0  # as far as it was heard
        self._told = ToldPicture()
        self._kept = deque([(0, ToldPicture())])  # after which row
        self._marks = deque[_Mark](maxlen=MOST_MARKS)
        self._count: int | None = None

    # ------------------------------------------------------------------------------------------------ what is heard

    def passed(self, cycle: int) -> None:
        """It is this cycle by now."""
        with self._lock:
            self._cycle = max(self._cycle, cycle)

    def frame(self, cycle: int, cell: int, way: int, port: int, bad: int, frame: bytes) -> None:
        """A frame was told. `way`: a number of `tables.WAYS`."""
        with self._lock:
            number, cycle = self._next(cycle)
            self._add(RecordedMessage(number, cycle, cell, way, port, bad, frame[0] if frame else 0, frame))

    def event(self, cycle: int, cell: int | None, kind: str, fields: dict[str, Any]) -> None:
        """Anything else was; one of `TOLD`. `cell`: the GPU that said it."""
        with self._lock:
            number, cycle = self._next(cycle)
            event = RecordedEvent(number, cycle, cell, kind, json.dumps(fields))
            self._take(self._told, event)
            self._mark(event, fields)
            self._add(event)

    def _next(self, cycle: int) -> tuple[int, int]:
        """The number of a row, and its cycle: what comes late, behind a later one, stands there."""
        self._cycle = max(self._cycle, cycle)
        return self._number + 1, max(cycle, self._rows[-1].cycle if self._rows else 0)

    def _add(self, row: RecordedItem) -> None:
        self._rows.append(row)
        self._number = row.number
        if row.number - self._kept[-1][0] >= _APART:
            self._kept.append((row.number, self._told.copy()))
        if len(self._rows) > KEPT + _SPARE:
            gone = self._rows[_SPARE - 1].number
            told = self._after(gone)
            del self._rows[:_SPARE]
            while self._kept and self._kept[0][0] <= gone:
                self._kept.popleft()
            self._kept.appendleft((gone, told))

    def _after(self, row: int) -> ToldPicture:
        """What was so after a row."""
        number, told = self._kept[bisect_right(self._kept, row, key=lambda kept: kept[0]) - 1]
        told = told.copy()
        for each in self._rows[max(0, number + 1 - self._first) : row + 1 - self._first]:
            if isinstance(each, RecordedEvent):
                self._take(told, each)
        return told

    def _take(self, told: ToldPicture, event: RecordedEvent) -> None:
        said = event.said
        gpu = "" if event.cell is None else self.gpus[event.cell]
        if event.kind == REGISTERS:
            _take_registers(told, gpu, said)
            return
        told.take(event, said, gpu, self.card.name)
        # A port tells nothing of the CPU's leases: the entry GPU, and its epoch, are those of whoever counts.
        if event.kind == Counted.__name__ and gpu in self.card.host:
            told.values["lease", self.card.name] = (self.card.host.index(gpu), said.get("epoch"))

    def _mark(self, event: RecordedEvent, fields: dict[str, Any]) -> None:
        gpu = "" if event.cell is None else self.gpus[event.cell]
        sign, text, count = "", "", None
        if event.kind == Counted.__name__:
            if fields["count"] == self._count:
                return
            count = self._count = fields["count"]
        elif event.kind == STRUCK:
            begins = "fault" in fields
            what, where = fields.get("fault", fields.get("clear")), fields.get("gpu", fields.get("link"))
            sign, text = ("x", f"fault {what} {where}") if begins else ("o", f"end of {what} {where}")
        elif event.kind == Elected.__name__:
            sign, text = "E" if fields["role"] == "entry" else "B", f"role {fields['role']} {gpu}"
        elif event.kind == Deposed.__name__:
            sign, text = "-", f"lost role {fields['role']} {gpu}"
        elif event.kind == LINE_LOST:
            sign, text = "!", "the line was lost"
        else:
            return
        self._marks.append(_Mark(event.number, event.cycle, sign, text, count))

    # ----------------------------------------------------------------------------------------------- what is asked for

    @property
    def reach(self) -> tuple[int, int, int]:
        """The numbers of the first row that is kept and of the last, and the cycle as far as it was heard."""
        with self._lock:
            return self._first, self._number, self._cycle

    @property
    def _first(self) -> int:
        return self._number - len(self._rows) + 1

    def all(self, first: int, last: int) -> list[RecordedItem]:
        """Rows by their numbers, those that are kept."""
        with self._lock:
            here = self._first
            return self._rows[max(0, first - here) : max(0, last - here + 1)]

    def said(self, item: RecordedItem) -> dict[str, Any]:
        """What conditions are about, as `DebugSession.fields`."""
        about: dict[str, Any] = {"number": item.number, "cycle": item.cycle}
        if item.cell is not None:
            about["gpu"] = self.gpus[item.cell]
        if isinstance(item, RecordedMessage):
            kind, found = decoded(item.frame)
            return {**found, **about, "kind": kind, "port": item.port, "bad": bool(item.bad), "way": WAYS[item.way]}
        return {**item.said, **about, "kind": item.kind}

    def picture(self, cycle: int) -> ViewPicture:
        """After this cycle; before the first row that is kept, of that."""
        with self._lock:
            place = max(bisect_right(self._rows, cycle, key=lambda row: row.cycle), min(1, len(self._rows)))
            row = self._first + place - 1
            cycle = min(cycle, self._cycle)
            return drawn(self._after(row), self.gpus, [self.card], cycle, cycle, row)

    def marks(self, buckets: int) -> ViewMarks:
        """So many buckets of the same width over all cycles."""
        with self._lock:
            marks, last, first, rows = list(self._marks), self._cycle, self._first, self._number
        width = max(1, -(-(last + 1) // buckets))
        found = [
            _bucket(place * width, min(last, place * width + width - 1), each, first, self.card.name)
            for place, each in _grouped(marks, width)
        ]
        return ViewMarks(last=last, rows=rows, more=False, buckets=found)


def _grouped(marks: list[_Mark], width: int) -> Iterator[tuple[int, list[_Mark]]]:
    start = 0
    while start < len(marks):
        place = marks[start].cycle // width
        end = bisect_left(marks, (place + 1) * width, start, key=lambda mark: mark.cycle)
        yield place, marks[start:end]
        start = end


def _bucket(first: int, last: int, marks: list[_Mark], kept: int, card: str) -> MarkBucket:
    signs: dict[str, int] = {}
    for mark in marks:
        if mark.sign:
            signs[mark.sign] = signs.get(mark.sign, 0) + 1
    counts = [mark.counted for mark in marks if mark.counted is not None]
    strongest = strongest_sign(signs) if signs else ""
    return MarkBucket(
        first=first,
        last=last,
        row=next((mark.number for mark in marks if mark.number >= kept), None),
        signs=signs,
        text=next((mark.text for mark in marks if mark.sign and mark.sign == strongest), ""),
        counts={card: (min(counts), counts[-1])} if counts else {},
    )


def registers_said(control: int, status: int) -> dict[str, Any]:
    """What two registers of a GPU say of it, as the row has it."""
    roles = [("boundary", ControlBit.BOUNDARY), ("entry", ControlBit.ENTRY)]
    healthy = bool(status & StatusBit.HEALTHY)
    return {
        "roles": [role for role, bit in roles if control & bit and healthy],
        "bypassed": bool(status & _BYPASSED),
        "healthy": healthy,
        "lent": bool(status & StatusBit.LENT),
        "status": StatusBit.show(status),
    }


def _take_registers(told: ToldPicture, gpu: str, said: dict[str, Any]) -> None:
    told.values |= {
        ("roles", gpu): frozenset(said["roles"]),
        ("bypassed", gpu): said["bypassed"],
        ("down", gpu): not said["healthy"],
        ("lent", gpu): said["lent"],
    }
