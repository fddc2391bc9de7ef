"""A recording that is walked through: messages one by one, forwards and backwards, and all that GPUs and CPU knew then.

Messages and events are read from the recording; the run is played only where its state is asked for. The state of a
message is that after its cycle: all that happens in it has been done.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from ringhil.emulator.debug.causes import WHAT, why
from ringhil.emulator.debug.changes import fault, frame, setting
from ringhil.emulator.debug.condition import Condition
from ringhil.emulator.debug.doomed import TRIES, Doomed, Progress, doomed
from ringhil.emulator.debug.editing import Sources
from ringhil.emulator.debug.elsewhere import elsewhere
from ringhil.emulator.debug.futures import at_all, failures
from ringhil.emulator.debug.hops import Passed
from ringhil.emulator.debug.items import (
    RecordedItem,
    decoded,
    difference,
    differing,
    first_difference,
    gpus_there,
    where,
)
from ringhil.emulator.debug.lines import Breakpoints, TracedLines
from ringhil.emulator.debug.looking import SteppedRun
from ringhil.emulator.debug.outside import RecordedOutside
from ringhil.emulator.debug.past import MOST_MEMORY, Past
from ringhil.emulator.debug.played import scenario_of
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.replaying import run_again, why_not
from ringhil.emulator.engine.library import Library, inside_library
from ringhil.emulator.loop.loading import hash_of, library_of
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.trace.identity import header, same_message
from ringhil.emulator.trace.recording import RecordedEvent, RecordedMessage, Recording
from ringhil.emulator.trace.recording.tables import WAYS, RunChange
from ringhil.emulator.trace.waves.values import SignalValue
from ringhil.protocol.wire import LINKS, MAX_FRAME_FLITS

_FARTHEST = 100_000  # messages: so far away the other end of a message's way is looked for
_LONGEST_FRAME = MAX_FRAME_FLITS  # cycles, at least
_LONGEST = 20_000  # cycles that a message is on its way, where its other end isn't known
_CHUNK = 1 << 16  # cycles that are played before it is looked whether a register has changed


class FieldOnLink(NamedTuple):
    """A link that a message passed: since which cycle, which GPU sent it by which link, what the field was."""

    cycle: int
    gpu: str
    link: str
    value: object


class FrameOnLink(NamedTuple):
    """The same of a whole frame."""

    cycle: int
    gpu: str
    link: str
    frame: bytes


class DebugSession:
    """A recording, message by message, both ways: what `ringhil step` does, for programs.

    Before the first message, at first. Raises RecordingError and DebugError.
    """

    def __init__(
        self,
        path: Path,
        library: Library,
        *,
        firmware: FirmwareChoice = OURS,
        memory: int = MOST_MEMORY,
        open_up: Callable[[Library], Library] = inside_library,
    ) -> None:
        self.recording = Recording(path)
        self.here: RecordedItem | None = None
        scenario = scenario_of(self.recording)
        self._past: Past | None = None
        about = self.recording.about
        states = {state.cycle: (state.number, state.hash) for state in self.recording.states()}
        packages = ("ringhil.firmware", *(option.partition("=")[2].partition(":")[0] for option in firmware.given))
        self.scenario, self._changes = scenario, list[RunChange]()
        sources = self.sources = Sources(packages)
        self._libraries = {file: each.source for each in firmware.chosen.values() if (file := library_of(each.text))}
        outside, self._given = RecordedOutside(self.recording), firmware.given
        firmware, nodes = outside.choices(firmware)
        self._library = library
        self._make = lambda: SteppedRun(
            run_again(self.recording, self._library, firmware, nodes),
            about.changes,
            states,
            sources,
            outside,
            firmware,
        )
        self._memory = memory
        self._open_up, self._is_open = open_up, False
        self.why_not = why_not(self.recording, library, firmware)

    @property
    def cycle(self) -> int:
        """Of the message or event that it is at; 0 before the first."""
        return 0 if self.here is None else self.here.cycle

    @property
    def number(self) -> int:
        """The same, its number."""
        return 0 if self.here is None else self.here.number

    # ------------------------------------------------------------------------------------------------- to and fro

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

    # ------------------------------------------------------------------------------------------------ what is there

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

    def who(self, name: str) -> list[FieldOnLink]:
        """What a field of the message was on each link that it passed, in the order of time. The run is played again
        from when it was sent until it came to where it is. Raises DebugError."""
        here, head = self._header()
        if name not in head:
            raise DebugError(f"found field {name[:50]!r}; allowed are {', '.join(head)}")
        return [
            FieldOnLink(
                each.cycle, self.recording.gpus[each.cell], str(LINKS[each.link]), (header(each.frame) or {})[name]
            )
            for each in self._passed(here)
        ]

    def hops(self) -> list[FrameOnLink]:
        """What the message was, all of it, on each link that it passed, in the order of time. Raises DebugError."""
        return [
            FrameOnLink(each.cycle, self.recording.gpus[each.cell], str(LINKS[each.link]), each.frame)
            for each in self._passed(self._header()[0])
        ]

    def passes(self, first: int, last: int) -> list[Passed]:
        """Every frame whose first flit is put on a link in these cycles, in the order of time. The run is played again
        for that. Raises DebugError."""
        self._playable()
        start = max(0, first - 1)
        self.past.seek(start)
        with self.past.aside(start) as moment:
            moment.ask("links")
            moment.go(last + 1 + _LONGEST_FRAME)
            passed: list[Passed] = moment.ask("passed")
        return sorted(each for each in passed if first <= each.cycle <= last)

    def _header(self) -> tuple[RecordedMessage, Mapping[str, Any]]:
        here = self.here
        head = header(here.frame) if isinstance(here, RecordedMessage) else None
        if head is None:
            raise DebugError("here is no message whose fields could have changed; step to one")
        assert isinstance(here, RecordedMessage)
        return here, head

    def _passed(self, here: RecordedMessage) -> list[Passed]:
        """The message on the links; the run is played again for that."""
        sent, came = self.way(here)
        self._playable()
        with self.past.aside(sent) as moment:
            moment.ask("links")
            moment.go(came + 1)
            passed: list[Passed] = moment.ask("passed")
        return sorted(each for each in passed if same_message(each.frame, here.frame))

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

    def differs(self, number: int) -> list[tuple[str, object, object]]:
        """What of all GPUs and cards is otherwise here than at the message or event of a number: place, there, here.
        Raises DebugError."""
        item = next(self.recording.all(number, number), None)
        if item is None:
            raise DebugError(f"found number {number}; there are 1 to {self.recording.last_number}")
        here, there = self._everything(self.cycle), self._everything(item.cycle)
        return list(difference("", there, here))

    def _everything(self, cycle: int) -> dict[str, Any]:
        self._playable()
        with self.past.aside(0 if self.here is None and not cycle else cycle + 1) as moment:
            found: dict[str, Any] = moment.ask("everything")
            return found

    @contextmanager
    def traced(
        self, cycle: int, breaks: Breakpoints, *, listing: bool = False, at: int | None = None
    ) -> Iterator[Callable[[int], TracedLines]]:
        """The lines of firmware that are run from a cycle on; see LineTracer. What is given plays to before another
        cycle, and has what was found by then. Raises DebugError."""
        self._playable()
        self.past.seek(cycle)
        with self.past.aside(cycle) as moment:
            moment.ask("trace", breaks, listing, at)

            def play(end: int) -> TracedLines:
                moment.go(end)
                found: TracedLines = moment.ask("traced")
                return found

            yield play

    def changes(self, gpu: str, name: str, cycles: int) -> tuple[int, Any] | None:
        """The cycle in which a register of a GPU, or a value in its firmware's memory (as `state` names it), next
        changes, within so many from here and before the recording ends, and what it is then. Raises DebugError."""
        self._playable()
        start = self._next
        end = min(start + cycles, self.recording.last_cycle)
        with self.past.aside(start) as moment:
            moment.ask("watch", gpu, name)
            for cycle in range(start + _CHUNK, end + _CHUNK, _CHUNK):
                moment.go(min(cycle, end))
                found: list[tuple[int, Any]] = moment.ask("changed")
                if found:
                    return found[0]
        return None

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

    # --------------------------------------------------------------------------------------------------- branches

    def inject(self, entry: str) -> RunChange:
        """Have an event strike next, as a timeline has it, without its cycle: `{fault: dead, gpu: a.3}`; see `branch`.
        Raises DebugError."""
        recorded = [each for each in self.recording.about.changes if each.cycle <= self._next]
        here = [each for each in self._changes if each.cycle == self._next]
        return self._change(fault(self.scenario, self._next, entry, [*recorded, *here]))

    def set(self, gpu: str, register: str, value: int) -> RunChange:
        """Have a register of a GPU set next. Raises DebugError."""
        self._known(gpu)
        return self._change(setting(self._next, gpu, register, value))

    def send(self, gpu: str, port: str, text: str) -> RunChange:
        """Have a GPU's firmware send a frame next, given in hexadecimal. Raises DebugError."""
        self._known(gpu)
        return self._change(frame(self._next, gpu, port, text))

    @property
    def _next(self) -> int:
        """The first cycle that is still to come."""
        return 0 if self.here is None else self.cycle + 1

    def _known(self, gpu: str) -> None:
        if gpu not in self.recording.gpus:
            raise DebugError(f"found GPU {gpu[:50]!r}; there are {gpus_there(self.recording.gpus)}")

    def _change(self, change: RunChange) -> RunChange:
        if any(each.cycle != change.cycle for each in self._changes):
            self._changes.clear()  # of another moment, which was left
        self._changes.append(change)
        return change

    def branch(self, path: Path) -> str:
        """The run from here on to its end, with what was injected, set and sent here: again a recording, which has all
        that was before, too, and replays. The verdict. Raises DebugError."""
        return self._branched(path, "branch")[0]

    def edit(self, path: Path) -> tuple[str, list[str], list[str]]:
        """The same with the firmware's source as it is on disk now: verdict, the modules that have changed, and what of
        them doesn't fit a run that is under way. What firmware has in its memory stays. The recording can be read, not
        run again. Raises DebugError, also for a library, which can't be exchanged."""
        for file, was in self._libraries.items():
            if hash_of(file) != was:
                raise DebugError(f"{file}: has changed; a library can't be exchanged in a run, so run it again")
        if self._libraries and not self.sources.changed():
            files = ", ".join(map(str, self._libraries))
            raise DebugError(f"{files}: a library can't be exchanged in a run; make it, and run it again")
        return self._branched(path, "edited")

    def _branched(self, path: Path, how: str) -> tuple[str, list[str], list[str]]:
        self._playable()
        if path.exists() and path.samefile(self.recording.path):
            raise DebugError(f"{path}: is the recording that this is; name another file")
        last = self.recording.last_cycle
        if not self.recording.complete and self._next > last:
            raise DebugError(f"the recording breaks off in cycle {last}; a branch begins before it")
        changes = [each for each in self._changes if each.cycle == self._next]
        # What is done to the recording's own run later is planned there already, and is done in this one, too.
        recorded = self.recording.about.changes
        before = [each for each in recorded if each.cycle <= self._next]
        later = [each for each in recorded if each.cycle > self._next]
        cycle = {"edited": self._next} if how == "edited" else {}
        about = self.recording.about.model_copy(update={"changes": [*before, *changes, *later], **cycle})
        with self.past.aside(self._next) as moment:
            found: Any = moment.ask(how, path, self.recording.file, about, changes)
        self._changes.clear()
        if how == "branch":
            return found, [], []
        return found["verdict"], found["modules"], found["misfits"]

    def go(self, cycle: int) -> bool:
        """To the last message or event of a cycle or before; False: there is none, and it is before the first."""
        self.here = self.recording.at(cycle)
        return self.here is not None

    def go_to(self, number: int) -> bool:
        """To a message or event by its number, from 1; False: there is none, and it stays where it is."""
        found = next(self.recording.all(number, number), None)
        self.here = self.here if found is None else found
        return found is not None

    def elsewhere(self) -> dict[str, str]:
        """What shows this message or event in other tools, by tool. Raises DebugError."""
        if self.here is None:
            raise DebugError("here is neither message nor event; step to one")
        return elsewhere(self.recording.path, self.number, self.cycle, self._given)

    @property
    def failures(self) -> list[dict[str, Any]]:
        """What has broken an invariant, as the recording has it; of a run that has not ended nothing is known."""
        found = (self.recording.outcome or {}).get("violations")
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    def doomed(
        self,
        number: int | None = None,
        *,
        tries: int = TRIES,
        jobs: int = 1,
        progress: Progress = lambda done, total: None,
    ) -> Doomed:
        """Since when the run was to fail, by `tries` futures of each moment that is tried, `jobs` at a time. `number`:
        to fail in this way, as `failures` has them, and then the items of `expect` that failed. It goes to where that
        became likely. Raises DebugError."""
        if not self.recording.complete:
            raise DebugError("the recording breaks off: it doesn't say how the run ended")
        ways = failures(self.recording.outcome or {})
        failure = at_all(ways)
        if failure is None:
            test = (self.recording.outcome or {}).get("test")
            raise DebugError(f"the recorded run has not failed{'' if test is None else f'; {test}'}")
        if number is not None:
            if not 1 <= number <= len(ways):
                raise DebugError(f"found failure {number}; there are 1 to {len(ways)}")
            failure = ways[number - 1]
        self._playable()
        try:
            found = doomed(self.past, self.recording, failure, tries=tries, jobs=jobs, progress=progress)
        except KeyboardInterrupt:  # a process may be about to answer: nobody must take that for another answer
            if self._past is not None:
                self._past.close()
                self._past = None
            raise
        turn = found.likely or found.certain
        self.here = self.here if turn is None else turn.main or self.here
        return found

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

    def go_on(self, cycle: int) -> bool:
        """To the first message or event of a cycle or after; False: there is none, and it stays where it is."""
        before = self.recording.at(cycle - 1)
        found = next(self.recording.all(1 if before is None else before.number + 1), None)
        self.here = self.here if found is None else found
        return found is not None

    def registers(self, gpu: str) -> dict[str, int]:
        """Of a GPU such as `a.3`, by name. Raises DebugError."""
        found: dict[str, int] = self._ask("registers", gpu)
        return found

    def firmware(self, gpu: str) -> dict[str, Any] | None:
        """What a GPU's firmware has in its memory; None: it has none, or has failed. Raises DebugError."""
        found: dict[str, Any] | None = self._ask("firmware", gpu)
        return found

    def card(self, name: str) -> dict[str, Any]:
        """What the CPU knows of a card. Raises DebugError."""
        found: dict[str, Any] = self._ask("card", name)
        return found

    def server(self, cycle: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, Any]]]:
        """The registers of all GPUs, and what the CPU knows of each card, after a cycle. Raises DebugError."""
        self._playable()
        self.past.seek(min(cycle, self.recording.last_cycle) + 1)
        registers = {gpu: self.past.ask("registers", gpu) for gpu in self.recording.gpus}
        return registers, {card.name: self.past.ask("card", card.name) for card in self.scenario.server.cards}

    def signals(self, gpu: str, pattern: str = "*") -> dict[str, SignalValue]:
        """The wires and registers in a GPU's hardware whose names fit a pattern (`*.credits_q`). The first time RTL is
        built that can be looked into, and the run is played from its beginning; from then on that is slower. Raises
        DebugError and BuildError."""
        self._known(gpu)
        self._playable()
        if not self._is_open:
            self._library, self._is_open = self._open_up(self._library), True
            if self._past is not None:
                self._past.close()
                self._past = None
        self.past.seek(self._next)
        with self.past.aside(self._next) as moment:  # a run that was looked into can't go on
            found: dict[str, SignalValue] = moment.ask("signals", gpu)
        fitting = pattern.replace("[", "[[]")  # names have indices
        chosen = {name: signal for name, signal in found.items() if fnmatchcase(name, fitting)}
        if not chosen:
            last = {name.rpartition(".")[2]: name for name in found}
            near = " or ".join(last[end] for end in get_close_matches(pattern.rpartition(".")[2], last, 2, 0.0))
            raise DebugError(
                f"found {pattern[:50]!r}; {gpu} has {len(found)} signals, such as {near}; * and ? stand for any"
            )
        return chosen

    def _ask(self, what: str, *values: Any) -> Any:
        self._playable()
        self.past.seek(0 if self.here is None else self.cycle + 1)
        return self.past.ask(what, *values)

    def _playable(self) -> None:
        if self.why_not is not None:
            raise DebugError(f"no state: {self.why_not}")

    @property
    def past(self) -> Past:
        """The run, played to wherever it is looked at."""
        if self._past is None:
            self._past = Past(self._make, self._memory, self.recording.last_cycle)
        return self._past

    def close(self) -> None:
        """End all processes, close the file."""
        if self._past is not None:
            self._past.close()
        self.recording.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


_THERE, _OF_ITS_CARD, _SOMEWHERE = 3, 2, 1


def _is_at(gpu: str, place: str) -> bool:
    """Whether a GPU is this place, on this card, or at an end of this link."""
    return place in (gpu, gpu.rpartition(".")[0]) or place.startswith(f"{gpu}-") or place.endswith(f"-{gpu}")
