"""Where one is in a recorded run: at a message or event, or at a line of firmware that handles one. All of these have
one order, and every step goes along it, forwards or backwards."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ringhil.emulator.debug.condition import Condition
from ringhil.emulator.debug.items import RecordedItem
from ringhil.emulator.debug.lines import Breakpoints, FirmwareCall, FirmwareLine, StoppedLine, TracedLines
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.events.recorded import KINDS
from ringhil.emulator.trace.recording import RecordedEvent, RecordedMessage
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.firmware import observations

_NEAREST, _FARTHEST = 1 << 12, 1 << 17  # cycles that are looked at in one piece
_OF_FIRMWARE = frozenset(kind for kind in KINDS if hasattr(observations, kind))
_Order = tuple[int, int, int]  # number, and of a line its cycle and place in that


@dataclass
class Stops:
    """Where `on` and `reverse` stop: messages and events by condition, lines of firmware, and those by their number
    at which something broke an invariant."""

    conditions: dict[int, Condition] = field(default_factory=dict)
    lines: Breakpoints = field(default_factory=dict)
    failures: Mapping[int, str] = field(default_factory=dict)


class Stopped(NamedTuple):
    """Why it has: as the protocol names it, in words, and the breakpoints' numbers."""

    reason: str
    text: str = ""
    hit: tuple[int, ...] = ()


class LinePlace(NamedTuple):
    """A line of firmware: of all those of its cycle, which."""

    cycle: int
    nth: int


class Walk:
    """Along one recording. `on` and `reverse` can be broken off by KeyboardInterrupt: it stays where it had come to."""

    def __init__(self, session: DebugSession) -> None:
        self.session = session
        self.place: LinePlace | None = None
        self._listed: tuple[int, Breakpoints, TracedLines] | None = None
        self._state: tuple[LinePlace, StoppedLine] | None = None

    @property
    def cycle(self) -> int:
        """Where it is."""
        return self.session.cycle if self.place is None else self.place.cycle

    @property
    def line(self) -> FirmwareLine | None:
        """The line that is run next, if it is at one."""
        return None if self.place is None else self._lines(self.place.cycle).lines[self.place.nth]

    def state(self) -> StoppedLine:
        """What was there, at a line. Raises DebugError."""
        assert self.place is not None
        if self._state is None or self._state[0] != self.place:
            cycle, index = self.place
            with self.session.traced(cycle, {}, listing=True, at=index) as play:
                found = play(cycle + 1).stopped
            if found is None:
                raise DebugError(f"line {index} of cycle {cycle} was not run again")
            self._state = self.place, found
        return self._state[1]

    def _lines(self, cycle: int, breaks: Breakpoints | None = None) -> TracedLines:
        if self._listed is None or self._listed[0] != cycle or (breaks is not None and self._listed[1] != breaks):
            with self.session.traced(cycle, breaks or {}, listing=True) as play:
                self._listed = cycle, breaks or {}, play(cycle + 1)
        return self._listed[2]

    # ------------------------------------------------------------------------------------------------ single steps

    def next(self) -> Stopped:
        """The next line of this function or of its caller; else, as at a message, the next message."""
        return self._step(lambda line, here: line.depth <= here.depth)

    def into(self) -> Stopped:
        """The next line, wherever it is; at a message to firmware in Python, the first line that handles it."""
        if self.place is not None:
            return self._step(lambda line, here: True)
        call = self._call_of(self.session.here)
        if call is not None and self._is_to_firmware(self.session.here):
            cycle, number = call
            lines = self._lines(cycle).lines
            first = next((index for index, line in enumerate(lines) if line.call == number), None)
            if first is not None:
                self._at_line(cycle, first)
                return Stopped("step")
        return self.next()

    def out(self) -> Stopped:
        """The caller's next line; else, as at a message, the next message."""
        return self._step(lambda line, here: line.depth < here.depth)

    def back(self) -> Stopped:
        """The line before, of this function or of its caller; of the first one, the message that is being handled. At a
        message the one before."""
        here = self.line
        if self.place is None or here is None:
            return Stopped("step") if self.session.back() else Stopped("entry", "before the first message")
        cycle, index = self.place
        lines = self._lines(cycle).lines
        for earlier in range(index - 1, -1, -1):
            if lines[earlier].call == here.call and lines[earlier].depth <= here.depth:
                self._at_line(cycle, earlier)
                return Stopped("step")
        self.session.here = self._handled(cycle, self._lines(cycle).calls[here.call])
        self.place = None
        return Stopped("step")

    def _step(self, wanted: Any) -> Stopped:
        here = self.line
        if self.place is not None and here is not None:
            cycle, index = self.place
            lines = self._lines(cycle).lines
            for later in range(index + 1, len(lines)):
                if lines[later].call == here.call and wanted(lines[later], here):
                    self._at_line(cycle, later)
                    return Stopped("step")
            self.place = None
        return Stopped("step") if self.session.step() else Stopped("step", "the last message")

    def go(self, number: int) -> None:
        """To a message or event; 0: before the first."""
        self.place, self.session.here = None, self._item(number)

    def _item(self, number: int) -> RecordedItem | None:
        return next(self.session.recording.all(number, number), None)

    def _at_line(self, cycle: int, index: int) -> None:
        self.place = LinePlace(cycle, index)
        self.session.here = self._item(self._lines(cycle).lines[index].number)

    # ------------------------------------------------------------------------------- firmware that handles a message

    def call(self) -> FirmwareCall | None:
        """The call of firmware that handles the message, has sent it or has said the event; None: there is none, or it
        isn't in Python. Raises DebugError."""
        found = self._call_of(self.session.here)
        if found is None:
            return None
        cycle, number = found
        call = self._lines(cycle).calls[number]
        return call if call.line else None

    def handling(self) -> tuple[FirmwareCall, RecordedItem | None]:
        """At a line: the call that it is in, and the message that this handles; None: it handles none."""
        assert self.place is not None
        found, here = self._lines(self.place.cycle), self.line
        assert here is not None
        call = found.calls[here.call]
        return call, self._handled(self.place.cycle, call) if call.frame else None

    def _is_to_firmware(self, item: RecordedItem | None) -> bool:
        return isinstance(item, RecordedMessage) and WAYS[item.way] == "to_firmware"

    def _call_of(self, item: RecordedItem | None) -> tuple[int, int] | None:
        """Cycle, and which call of that."""
        if item is None or item.cell is None:
            return None
        gpu = self.session.recording.gpus[item.cell]
        if isinstance(item, RecordedMessage) and WAYS[item.way] == "to_firmware":
            cycle = item.cycle + self.session.scenario.server.settings.firmware_latency
            if cycle > self.session.recording.last_cycle:
                return None
            for number, call in enumerate(self._lines(cycle).calls):
                if call.gpu == gpu and call.frame == item.frame:
                    return cycle, number
            return None
        if isinstance(item, RecordedEvent):
            if item.kind not in _OF_FIRMWARE:
                return None
        elif WAYS[item.way] != "from_firmware":
            return None
        calls = enumerate(self._lines(item.cycle).calls)
        before = [number for number, call in calls if call.gpu == gpu and call.number < item.number]
        return (item.cycle, before[-1]) if before else None

    def _handled(self, cycle: int, call: FirmwareCall) -> RecordedItem | None:
        """The message that a call handles; of one without the last message or event before it."""
        since = cycle - self.session.scenario.server.settings.firmware_latency
        for item in self.session.recording.all_back(call.number) if call.frame else ():
            if item.cycle < since:
                break
            if not isinstance(item, RecordedMessage) or not self._is_to_firmware(item):
                continue
            if self.session.recording.gpus[item.cell] == call.gpu and item.frame == call.frame:
                return item
        return self._item(call.number)

    # ----------------------------------------------------------------------------------------------- on to a stop

    def on(self, stops: Stops) -> Stopped:
        """To the next place where one of these holds; without any, to the last message or event."""
        start, chunk, here = self.cycle, _NEAREST, self._order
        last = self.session.recording.last_cycle
        while start <= last:
            end = min(start + chunk, last + 1)
            found = self._found(self.session.recording.all(self.session.number + 1), end.__gt__, stops)
            line = self._first_line(start, end if found is None else found[0].cycle + 1, here, stops)
            if line is not None and (found is None or line[0].number < found[0].number):
                return self._stop_at_line(line)
            if found is not None:
                return self._stop_at(found[0], found[1])
            self._pass_to(end - 1)
            start, chunk = end, min(2 * chunk, _FARTHEST)
        self.place, self.session.here = None, next(self.session.recording.all_back(), None)
        return Stopped("step", "the last message or event")

    def reverse(self, stops: Stops) -> Stopped:
        """To the last place before where one of these holds; without any, before the first message."""
        end, chunk, here = self.cycle + 1, _NEAREST, self._order
        number = self.session.number - (self.place is None)  # of the last one before
        while end > 0:
            start = max(0, end - chunk)
            found = self._found(self.session.recording.all_back(number), start.__le__, stops)
            line = self._last_line(start if found is None else found[0].cycle, end, here, stops)
            if line is not None and (found is None or line[0].number >= found[0].number):
                return self._stop_at_line(line)
            if found is not None:
                return self._stop_at(found[0], found[1])
            self._pass_to(start - 1)
            number, end, chunk = self.session.number, start, min(2 * chunk, _FARTHEST)
        self.go(0)
        return Stopped("entry", "before the first message")

    @property
    def _order(self) -> _Order:
        """Of where it is, among all messages, events and lines."""
        return (self.session.number, *(self.place or (-1, -1)))

    def _pass_to(self, cycle: int) -> None:
        self.place, self.session.here = None, self.session.recording.at(cycle) if cycle >= 0 else None

    def _found(
        self, way: Iterator[RecordedItem], there: Callable[[int], bool], stops: Stops
    ) -> tuple[RecordedItem, Stopped] | None:
        for item in way if stops.conditions or stops.failures else ():
            if not there(item.cycle):
                return None
            if (why := self._why(item, stops)) is not None:
                return item, why
        return None

    def _why(self, item: RecordedItem, stops: Stops) -> Stopped | None:
        if item.number in stops.failures:
            return Stopped("exception", stops.failures[item.number])
        if not stops.conditions:
            return None
        fields = self.session.fields(item)
        hit = tuple(number for number, condition in stops.conditions.items() if condition(fields))
        return Stopped("function breakpoint", "", hit) if hit else None

    def _stop_at(self, item: RecordedItem, why: Stopped) -> Stopped:
        self.place, self.session.here = None, item
        return why

    def _stop_at_line(self, found: tuple[FirmwareLine, LinePlace]) -> Stopped:
        self._at_line(*found[1])
        return Stopped("breakpoint")

    def _first_line(self, start: int, end: int, after: _Order, stops: Stops) -> tuple[FirmwareLine, LinePlace] | None:
        while stops.lines and start < end:
            with self.session.traced(start, stops.lines) as play:
                hits = play(end).hits
            if hits is None:
                return None
            for index, line in enumerate(self._lines(hits.first, stops.lines).lines):
                if line.hit and (line.number, hits.first, index) > after:
                    return line, LinePlace(hits.first, index)
            start = hits.first + 1
        return None

    def _last_line(self, start: int, end: int, before: _Order, stops: Stops) -> tuple[FirmwareLine, LinePlace] | None:
        while stops.lines and start < end:
            with self.session.traced(start, stops.lines) as play:
                hits = play(end).hits
            if hits is None:
                return None
            lines = self._lines(hits.last, stops.lines).lines
            for index in range(len(lines) - 1, -1, -1):
                if lines[index].hit and (lines[index].number, hits.last, index) < before:
                    return lines[index], LinePlace(hits.last, index)
            end = hits.last
        return None
