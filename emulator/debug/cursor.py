"""A place in a recording, and the ways from there, forwards and backwards: for this the file is enough, nothing is
played.
"""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ringhil.emulator.debug.causes import WHAT, why
from ringhil.emulator.debug.condition import Condition
from ringhil.emulator.debug.items import RecordedItem, decoded, differing, first_difference, where
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.trace.identity import same_message
from ringhil.emulator.trace.recording import RecordedEvent, RecordedMessage, Recording
from ringhil.emulator.trace.recording.tables import WAYS

_FARTHEST = 100_000  # messages: so far away the other end of a message's way is looked for
_LONGEST = 20_000  # cycles that a message is on its way, where its other end isn't known


class RecordingCursor:
    """At a message or event of a recording; before the first one, at first. Raises RecordingError and DebugError."""

    def __init__(self, path: Path) -> None:
        self.recording = Recording(path)
        self.here: RecordedItem | None = None

    @property
    def cycle(self) -> int:
        """Of the message or event that it is at; 0 before the first."""
        return 0 if self.here is None else self.here.cycle

    @property
    def number(self) -> int:
        """The same, its number."""
        return 0 if self.here is None else self.here.number

    def step(self, messages: int = 1) -> bool:
        """So many messages on; False: there are not so many, and it is at the last one."""
        return self._move(self.recording.messages(self.number + 1), messages)

    def back(self, messages: int = 1) -> bool:
        """So many messages back; False: there are not so many, and it is before the first one."""
        if self._move(self.recording.messages_back(self.number - 1), messages):
            return True
        self.here = None
        return False

    def _move(self, way: Iterator[RecordedMessage], messages: int) -> bool:
        for passed, message in enumerate(way, 1):
            self.here = message
            if passed == messages:
                return True
        return False

    def until(self, condition: Condition) -> bool:
        """On to the next message or event of which this holds; False: there is none, and it stays where it is."""
        return self._find(self.recording.all(self.number + 1), condition)

    def back_until(self, condition: Condition) -> bool:
        """Back to the one before of which this holds; False: there is none, and it stays where it is."""
        return self._find(self.recording.all_back(self.number - 1), condition)

    def _find(self, way: Iterator[RecordedItem], condition: Condition) -> bool:
        found = next((item for item in way if condition(self.fields(item))), None)
        if found is None:
            return False
        self.here = found
        return True

    def go(self, cycle: int) -> bool:
        """To the last message or event of a cycle or before; False: there is none, and it is before the first."""
        self.here = self.recording.at(cycle)
        return self.here is not None

    def go_to(self, number: int) -> bool:
        """To a message or event by its number, from 1; False: there is none, and it stays where it is."""
        found = next(self.recording.all(number, number), None)
        self.here = self.here if found is None else found
        return found is not None

    def go_on(self, cycle: int) -> bool:
        """To the first message or event of a cycle or after; False: there is none, and it stays where it is."""
        before = self.recording.at(cycle - 1)
        found = next(self.recording.all(1 if before is None else before.number + 1), None)
        self.here = self.here if found is None else found
        return found is not None

    def compare(self, path: Path) -> list[tuple[str, object, object]] | None:
        """To the first message or event that another recording has not, or has otherwise: the fields that differ, with
        what is there and what is here. None: both are the same, and it stays where it is. Raises RecordingError."""
        with Recording(path) as other:
            found = first_difference(self.recording, other)
            if found is None:
                return None
            here, there = found
            if here is None:
                assert there is not None
                self.here = next(self.recording.all_back(), None)
                return [("", where(there, other.gpus), None)]
            self.here = here
            was, now = None if there is None else where(there, other.gpus), where(here, self.recording.gpus)
            if there is None or was != now:
                return [("", was, now)]
            return list(differing(there, here))

    @property
    def failures(self) -> list[dict[str, Any]]:
        """What has broken an invariant, as the recording has it; of a run that has not ended nothing is known."""
        found = (self.recording.outcome or {}).get("violations")
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    def failure(self, found: Mapping[str, Any]) -> bool:
        """To where one of `failures` was found: of the messages and events of its cycle the one that is nearest to its
        place, and where none is near, the last before it that is at this GPU, on this card or at an end of this link.
        Of those that are as near an event goes first, as messages follow from it; not where it is a message that is
        wrong. False: there is none, and it stays where it is."""
        cycle, place = found.get("at"), str(found.get("place") or "")
        last = self.recording.last_number
        if isinstance(cycle, int):
            there = self.recording.at(cycle)
            last = 0 if there is None else there.number
        told = found.get("invariant") == "rightly_told"
        back = self.recording.all_back(last)
        now = list(takewhile(lambda item: item.cycle == cycle, back))

        def rank(item: RecordedItem) -> tuple[int, bool, int]:
            near = min(self._nearness(item, place), _OF_ITS_CARD)
            return near, isinstance(item, RecordedMessage) is told, item.number

        near = max(now, key=rank, default=None)
        if near is None or not self._nearness(near, place):
            before = self.recording.all_back(last - len(now))
            near = next((item for item in before if self._nearness(item, place) == _THERE), None)
        self.here = near or self.here
        return near is not None

    def _nearness(self, item: RecordedItem, place: str) -> int:
        """How near what is recorded is to the GPU, card or link of a failure."""
        if item.cell is not None:
            named = {self.recording.gpus[item.cell]}
        elif isinstance(item, RecordedEvent):
            said = self.recording.said(item)
            cards = dict(enumerate(dict.fromkeys(gpu.partition(".")[0] for gpu in self.recording.gpus)))
            named = {str(said.get("gpu")), str(said.get("link")), cards.get(said.get("card", -1), "")}
        else:
            named = set()
        if not place or place in named or any(_is_at(name, place) for name in named):
            return _THERE
        if item.cell is None and place.partition(".")[0] in named:
            return _OF_ITS_CARD  # the CPU or the file speaks of a card
        return _SOMEWHERE if isinstance(item, RecordedEvent) else 0

    def fields(self, item: RecordedItem) -> dict[str, Any]:
        """What conditions are about: `number`, `cycle`, `gpu`, `kind`, of a message `way`, and its own fields."""
        about: dict[str, Any] = {"number": item.number, "cycle": item.cycle}
        if item.cell is not None:
            about["gpu"] = self.recording.gpus[item.cell]
        if isinstance(item, RecordedMessage):
            kind, found = decoded(item.frame)
            way = {"port": item.port, "bad": bool(item.bad), "way": WAYS[item.way]}
            return {**found, **about, "kind": kind, **way}
        return {**self.recording.said(item), **about, "kind": item.kind}

    def way(self, message: RecordedMessage) -> tuple[int, int]:
        """The cycles in which a message was sent and came to its end; where the other end isn't known, cycles between
        which it lies."""
        ways = [WAYS.index(name) for name in ("from_firmware", "from_cpu")]
        if message.way in ways:
            later = self.recording.messages(message.number + 1, message.number + _FARTHEST)
            came = next((m.cycle for m in later if m.way not in ways and same_message(m.frame, message.frame)), None)
            return message.cycle, message.cycle + _LONGEST if came is None else came
        earlier = self.recording.messages_back(message.number - 1)
        before = (m for m, _ in zip(earlier, range(_FARTHEST), strict=False))
        sent = next((m.cycle for m in before if m.way in ways and same_message(m.frame, message.frame)), None)
        return max(0, message.cycle - _LONGEST) if sent is None else sent, message.cycle

    def why(self, what: str) -> list[RecordedItem]:
        """What led to the last `count`, `role` or rejection (`rejected`) up to here, that itself last; nothing, where
        there is none. Raises DebugError."""
        if what not in WHAT:
            raise DebugError(f"found {what[:50]!r}; allowed are {', '.join(WHAT)}")
        return why(self.recording, what, self.number)

    def close(self) -> None:
        """Close the file."""
        self.recording.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


_THERE, _OF_ITS_CARD, _SOMEWHERE = 3, 2, 1


def _is_at(gpu: str, place: str) -> bool:
    """Whether a GPU is this place, on this card, or at an end of this link."""
    return place in (gpu, gpu.rpartition(".")[0]) or place.startswith(f"{gpu}-") or place.endswith(f"-{gpu}")
