"""Since when was a run lost? From moments before its failure it goes on many times, each time with chance drawn anew.
The share of these futures that fail as it did rises where the failure becomes likely, and is one where it is certain.

The moments are spread over the time before the failure, then where the share rises, down to one of the cycles in which
something was recorded. All draws follow from the recording: the same question gets the same answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from math import sqrt
from typing import Any, NamedTuple

from ringhil.emulator.debug.chained import WHY_OTHER
from ringhil.emulator.debug.futures import WayToFail
from ringhil.emulator.debug.items import RecordedItem
from ringhil.emulator.debug.past import Past
from ringhil.emulator.debug.processes import DebugError, answers
from ringhil.emulator.trace.recording import RecordedEvent, Recording

TRIES = 8  # futures of a moment
MOST_TRIES = 100
SPREAD = 8  # moments at first
MOST_MOMENTS = 40  # all together
PATIENCE = 120.0  # seconds for a future
_95 = 1.96  # standard deviations, for 95 %
_MOST_NAMED = 100  # messages and events of a cycle

Progress = Callable[[int, int], None]


class Share(NamedTuple):
    """Of `tries` futures of the moment before `cycle` so many `failed`."""

    cycle: int
    failed: int
    tries: int

    @property
    def interval(self) -> tuple[float, float]:
        """In which the true share lies with 95 % confidence (Wilson)."""
        n, share, z = self.tries, self.failed / self.tries, _95
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)


class TurningPoint(NamedTuple):
    """Where the share rises: between the moments before the cycles `after` and `before`, in which these messages and
    events are. `after` None: it has been so since power-up."""

    after: int | None
    before: int
    items: tuple[RecordedItem, ...] = ()

    @property
    def main(self) -> RecordedItem | None:
        """Of the messages and events the first that is none of the others' consequence, most likely: what strikes, else
        an event, else a message."""
        events = [item for item in self.items if isinstance(item, RecordedEvent)]
        struck = [event for event in events if event.kind == "Struck"]
        return next(iter((*struck, *events, *self.items)), None)

    def to_json(self, told: Callable[[RecordedItem], dict[str, Any]]) -> dict[str, Any]:
        """See `Doomed.to_json`."""
        items = [told(item) for item in self.items]
        main = None if self.main is None else told(self.main)
        return {"after": self.after, "before": self.before, "main": main, "items": items}


@dataclass(frozen=True)
class Doomed:
    """`curve`: in order of time. `likely`: from there on the share is halfway or more from what it was at power-up to
    one, `certain`: it is one; None: it never is before the failure is found. `way`: of an expectation, how it fails."""

    failure: WayToFail
    curve: tuple[Share, ...]
    likely: TurningPoint | None
    certain: TurningPoint | None
    way: str

    @property
    def futures(self) -> int:
        """How many were played."""
        return sum(share.tries for share in self.curve)

    def to_json(self, told: Callable[[RecordedItem], dict[str, Any]]) -> dict[str, Any]:
        """For commands and pages; `told` makes a document of a message or event."""
        curve = [{**each._asdict(), "low": each.interval[0], "high": each.interval[1]} for each in self.curve]
        about = {"failure": self.failure.text, "at": self.failure.at, "futures": self.futures, "curve": curve}
        turns = {"likely": self.likely, "certain": self.certain}
        return {**about, **{name: None if turn is None else turn.to_json(told) for name, turn in turns.items()}}


def doomed(
    past: Past,
    recording: Recording,
    failure: WayToFail,
    *,
    tries: int = TRIES,
    jobs: int = 1,
    progress: Progress = lambda done, total: None,
) -> Doomed:
    """Raises DebugError, also where the run doesn't fail so when it is played again."""
    found = recording.last_cycle if failure.at is None else failure.at
    past.seek(min(found, recording.last_cycle))
    with past.aside(past.cycle) as moment:
        way: str = moment.ask("fails", failure, None, "")
    if not way:
        raise DebugError(f"the run doesn't fail so when it is played again: {WHY_OTHER}")
    search = _Search(past, recording, failure, way, tries, jobs, progress)
    for step in range(SPREAD):
        search.look(past.cycle * step // (SPREAD - 1))
    # What may still come dooms some futures of a run with which nothing is wrong yet.
    first = search.curve[0]
    likely, certain = search.turn((1 + first.failed / first.tries) / 2), search.turn(1.0)
    return Doomed(failure, search.curve, likely, certain, way)


class _Search:
    def __init__(
        self,
        past: Past,
        recording: Recording,
        failure: WayToFail,
        way: str,
        tries: int,
        jobs: int,
        progress: Progress,
    ) -> None:
        self._past, self._recording, self._failure, self._way = past, recording, failure, way
        self._tries, self._jobs, self._progress = tries, jobs, progress
        self._shares: dict[int, Share] = {}

    @property
    def curve(self) -> tuple[Share, ...]:
        return tuple(self._shares[cycle] for cycle in sorted(self._shares))

    def look(self, cycle: int) -> None:
        """Play futures of the moment before a cycle; once more for one that was looked at."""
        before = self._shares.get(cycle, Share(cycle, 0, 0))
        numbers = range(before.tries, before.tries + self._tries)
        failed = tries = 0
        why: object = f"none came to its end in {PATIENCE:g} seconds"
        done = sum(share.tries for share in self._shares.values())
        with self._past.aside(cycle) as origin:
            for first in range(0, len(numbers), self._jobs):
                part = numbers[first : first + self._jobs]
                moments = origin.travel([cycle] * len(part))
                try:
                    for number, moment in zip(part, moments, strict=True):
                        moment.begin("fails", self._failure, f"{cycle} {number}", self._way)
                    for _, way in answers(moments, PATIENCE):
                        if isinstance(way, DebugError):
                            why = way
                            continue
                        failed, tries = failed + bool(way), tries + 1
                        self._progress(done + tries, MOST_MOMENTS * self._tries)
                finally:
                    for moment in moments:
                        moment.close()
        if not tries:
            raise DebugError(f"futures of cycle {cycle}: {why}")
        self._shares[cycle] = Share(cycle, before.failed + failed, before.tries + tries)

    def turn(self, level: float) -> TurningPoint | None:
        """From where on the share is never below a level."""
        while True:
            high = list(takewhile(lambda share: share.failed >= level * share.tries, reversed(self.curve)))
            if not high:
                return None
            before = high[-1].cycle
            if len(high) == len(self._shares):
                return TurningPoint(None, before)
            after = self.curve[-len(high) - 1].cycle
            middle = self._middle(after, before)
            full = len(self._shares) >= MOST_MOMENTS
            if middle is not None and not full:
                self.look(middle)
            elif self._shares[before].tries == self._tries and not full:
                self.look(before)  # what the answer rests on is tried twice
            else:
                return TurningPoint(after, before, self._items(after, before))

    def _middle(self, after: int, before: int) -> int | None:
        """A cycle between two in which something was recorded; None: there is none."""
        first, last = (self._number(cycle) for cycle in (after + 1, before))
        if first >= last:
            return None
        number = (first + last) // 2
        cycle = next(self._recording.all(number, number)).cycle
        return cycle if cycle > after else None

    def _number(self, cycle: int) -> int:
        """Of the first message or event in a cycle or after."""
        last = self._recording.at(cycle - 1)
        return 1 if last is None else last.number + 1

    def _items(self, after: int, before: int) -> tuple[RecordedItem, ...]:
        first, end = self._number(after), self._number(before)
        return tuple(self._recording.all(first, min(end - 1, first + _MOST_NAMED - 1)))
