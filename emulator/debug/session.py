"""A recording that is walked through: a cursor, and at each message all that GPUs and CPU knew then.

The run is played only where its state is asked for. The state of a message is that after its cycle: all that happens in
it has been done.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from ringhil.emulator.debug.changes import fault, frame, setting
from ringhil.emulator.debug.cursor import RecordingCursor
from ringhil.emulator.debug.doomed import TRIES, Doomed, Progress, doomed
from ringhil.emulator.debug.editing import Sources
from ringhil.emulator.debug.elsewhere import elsewhere
from ringhil.emulator.debug.futures import at_all, failures
from ringhil.emulator.debug.hops import Passed
from ringhil.emulator.debug.items import difference, gpus_there
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
from ringhil.emulator.trace.recording import RecordedMessage
from ringhil.emulator.trace.recording.tables import RunChange
from ringhil.emulator.trace.waves.values import SignalValue
from ringhil.protocol.wire import LINKS, MAX_FRAME_FLITS

_LONGEST_FRAME = MAX_FRAME_FLITS  # cycles, at least
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


class DebugSession(RecordingCursor):
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
        super().__init__(path)
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

    def differs(self, number: int) -> list[tuple[str, object, object]]:
        """What of all GPUs and cards is otherwise here than at the message or event of a number: place, there, here.
        Raises DebugError."""
        item = next(self.recording.all(number, number), None)
        if item is None:
            raise DebugError(f"found number {number}; there are 1 to {self.recording.last_number}")
        here, there = self._everything(self.cycle), self._everything(item.cycle)
        return list(difference("", there, here))

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

    def elsewhere(self) -> dict[str, str]:
        """What shows this message or event in other tools, by tool. Raises DebugError."""
        if self.here is None:
            raise DebugError("here is neither message nor event; step to one")
        return elsewhere(self.recording.path, self.number, self.cycle, self._given)

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

    def _change(self, change: RunChange) -> RunChange:
        if any(each.cycle != change.cycle for each in self._changes):
            self._changes.clear()  # of another moment, which was left
        self._changes.append(change)
        return change

    @property
    def past(self) -> Past:
        """The run, played to wherever it is looked at."""
        if self._past is None:
            self._past = Past(self._make, self._memory, self.recording.last_cycle)
        return self._past

    def _ask(self, what: str, *values: Any) -> Any:
        self._playable()
        self.past.seek(0 if self.here is None else self.cycle + 1)
        return self.past.ask(what, *values)

    def _everything(self, cycle: int) -> dict[str, Any]:
        self._playable()
        with self.past.aside(0 if self.here is None and not cycle else cycle + 1) as moment:
            found: dict[str, Any] = moment.ask("everything")
            return found

    def _playable(self) -> None:
        if self.why_not is not None:
            raise DebugError(f"no state: {self.why_not}")

    def _known(self, gpu: str) -> None:
        if gpu not in self.recording.gpus:
            raise DebugError(f"found GPU {gpu[:50]!r}; there are {gpus_there(self.recording.gpus)}")

    @property
    def _next(self) -> int:
        """The first cycle that is still to come."""
        return 0 if self.here is None else self.cycle + 1

    def close(self) -> None:
        """End all processes, close the file."""
        if self._past is not None:
            self._past.close()
        super().close()
