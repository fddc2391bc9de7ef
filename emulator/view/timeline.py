"""The time line: what happened when, in so many buckets as there is room for."""

from typing import Any

from ringhil.emulator.debug.marks import TimeMarks, strongest
from ringhil.emulator.trace.recording import Recording
from ringhil.emulator.view.messages import FailureAbout, MarkBucket, ViewMarks

_MOST_COUNTS = 50_000  # that are kept
_STEP = 1_000  # events that are read at a time


class ViewTime:
    """Of a recording, as far as it has been read."""

    def __init__(self, recording: Recording) -> None:
        self._marks = TimeMarks(recording)
        self._counts: list[tuple[int, int, str, int]] = []  # number, cycle, card, count
        self._next = 1
        self._gpus = recording.gpus
        self.more = True

    def read(self, recording: Recording) -> bool:
        """Some more; False: there are no more at present. Raises RecordingError."""
        marks = self._marks.read(recording)
        counts = len(self._counts) < _MOST_COUNTS and self._read_counts(recording)
        self.more = marks or counts
        return self.more

    def _read_counts(self, recording: Recording) -> bool:
        found = recording.events_of(("Counted",), self._next, _STEP)
        for event in found:
            count = event.said.get("count")
            if event.cell is not None and type(count) is int:
                card = self._gpus[event.cell].rpartition(".")[0]
                self._counts.append((event.number, event.cycle, card, count))
        if found:
            self._next = found[-1].number + 1
        return len(found) == _STEP

    def marks(self, recording: Recording, buckets: int, failures: list[FailureAbout]) -> ViewMarks:
        """So many buckets of the same width over all cycles; those in which nothing happened are left out."""
        last = recording.last_cycle
        width = max(1, -(-(last + 1) // buckets))
        found: dict[int, dict[str, Any]] = {}

        def bucket(cycle: int, row: int | None) -> dict[str, Any]:
            place = min(cycle, last) // width
            there = found.setdefault(place, {"row": row, "signs": {}, "marks": [], "counts": {}, "text": ""})
            if row is not None:
                there["row"] = row if there["row"] is None else min(row, there["row"])
            return there

        for mark in self._marks.all:
            there = bucket(mark.cycle, mark.number)
            there["signs"][mark.sign] = there["signs"].get(mark.sign, 0) + 1
            there["marks"].append(mark)
        for number, cycle, card, count in self._counts:
            counts = bucket(cycle, number)["counts"]
            counts[card] = (min(count, counts.get(card, (count, 0))[0]), count)
        for each in failures:
            if each.at is not None:
                there = bucket(each.at, each.row)
                there["signs"]["F"] = there["signs"].get("F", 0) + 1
                there["text"] = there["text"] or each.text
        for there in found.values():
            if there["marks"] and not there["text"]:
                sign = strongest(there["marks"])
                there["text"] = next(mark.text for mark in there["marks"] if mark.sign == sign)
        return ViewMarks(
            last=last,
            rows=recording.last_number,
            more=self.more,
            buckets=[
                MarkBucket(
                    first=place * width,
                    last=min(last, place * width + width - 1),
                    row=there["row"],
                    signs=there["signs"],
                    text=there["text"],
                    counts=there["counts"],
                )
                for place, there in sorted(found.items())
            ],
        )
