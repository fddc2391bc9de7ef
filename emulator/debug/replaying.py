"""A run again, from its recording: each message and event is compared with the recorded one, up to the first that
differs."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from ringhil.emulator.debug.changes import plan
from ringhil.emulator.debug.items import RecordedItem, differing, where
from ringhil.emulator.debug.outside import Acts, RecordedOutside, close_boards
from ringhil.emulator.debug.played import scenario_of
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import hardware, next_state, outcome_document
from ringhil.emulator.engine.library import Library
from ringhil.emulator.events.hardware import FrameSeen
from ringhil.emulator.judge.findings import FACTS
from ringhil.emulator.judge.outcome import EXPECTED_FACTS
from ringhil.emulator.judge.run import Run
from ringhil.emulator.nvml.usage import UsageSampler
from ringhil.emulator.nvml.views import views_of
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.hashes import hashes, short
from ringhil.emulator.server.node_choice import NodeChoice
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import RecordedEvent, RecordedMessage, RecordedState, Recording
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.emulator.trace.recording.writer import Chain, fields_as_text

_LINE = re.compile(r"^line \d+: ")
_WAY = {name: number for number, name in enumerate(WAYS)}


@dataclass(frozen=True)
class RunDifference:
    """The first one: `where`, and what it is, in words. `fields`: of a message or event of one kind at one place, those
    that differ, each with what was recorded and what was found."""

    number: int
    cycle: int
    text: str
    fields: tuple[tuple[str, object, object], ...] = ()


@dataclass(frozen=True)
class RunReplayed:
    """`difference`: the first one, None: there is none. `complete`: the recording says how the run ended, so that the
    end was compared too; `verdict` and `failures`: its own. `clients`, `bytes_in`, `bytes_out`: of a session."""

    cycles: int
    messages: int
    verdict: str | None
    complete: bool
    difference: RunDifference | None
    clients: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    failures: tuple[str, ...] = ()


class _Over(Exception):
    """Nothing more is to be played."""


class RunReplay:
    """Once. Raises RecordingError for a recording that can't be run."""

    def __init__(
        self,
        recording: Recording,
        library: Library,
        *,
        firmware: FirmwareChoice = OURS,
    ) -> None:
        if recording.about.edited is not None:
            raise RecordingError(f"{recording.path}: {edited(recording)}")
        self._recording, self._gpus = recording, recording.gpus
        outside = RecordedOutside(recording)
        self._firmware, nodes = outside.choices(firmware)
        self._run = run_again(recording, library, self._firmware, nodes)
        self._acts = Acts(self._run, outside, self._other_bytes)
        self._recorded: Iterator[RecordedItem] = recording.all()
        self._states, self._chain = recording.states(), Chain()
        self._number = self._messages = 0
        self._looked: int | None = None  # the cycle of the last state
        self._difference: RunDifference | None = None
        self._run.observations.listen_to_frames(self._message)
        self._run.server.tell_recorded(self._event)
        self._run.kernel.remind(next_state(0), self._look)

    @property
    def played(self) -> Run:
        """The run, to be listened to."""
        return self._run

    def run(self, until: int | None = None, at_end: Callable[[], None] = lambda: None) -> RunReplayed:
        """Until the first difference, or the end, or `until`; one that breaks off, to where it does. `at_end` is called
        before all is given back."""
        run, recording = self._run, self._recording
        try:
            run.start()
            self._plan()
            if until is not None:
                self._acts.play_to(until)
            elif not recording.complete:
                self._acts.play_to(recording.last_cycle + 1)
            else:
                self._acts.play_to(None)
                test = (recording.outcome or {}).get("test")
                document = outcome_document(run.finish(), None if test is None else str(test))
                self._at_the_end(document)
            at_end()
        except _Over:
            pass
        finally:
            run.server.close_work()
            run.close()
        ended = recording.outcome or {}
        verdict, failures = ended.get("verdict"), ended.get("failures")
        return RunReplayed(
            run.kernel.now,
            self._messages,
            None if verdict is None else str(verdict),
            recording.complete,
            self._difference,
            *self._acts.clients,
            tuple(map(str, failures)) if isinstance(failures, list) else (),
        )

    def _plan(self) -> None:
        for change in self._recording.about.changes:
            try:
                plan(self._run, change)
            except DebugError as error:
                raise RecordingError(f"{self._recording.path}: about: changes: {error}") from None

    def _message(self, seen: FrameSeen) -> None:
        way, frame, bad = _WAY[seen.WAY], seen.frame, bool(seen.bad)
        self._chain.message(seen.cycle, seen.cell, way, seen.port, bad, frame)
        kind = frame[0] if frame else 0
        self._number += 1
        self._compare(RecordedMessage(self._number, seen.cycle, seen.cell, way, seen.port, int(bad), kind, frame))
        self._messages += 1  # not the one behind the end of a recording that breaks off

    def _event(self, cycle: int, cell: int | None, kind: str, fields: dict[str, Any]) -> None:
        text = fields_as_text(fields)
        self._chain.event(cycle, cell, kind, text)
        self._number += 1
        self._compare(RecordedEvent(self._number, cycle, cell, kind, text))

    def _compare(self, found: RecordedItem) -> None:
        recorded = next(self._recorded, None)
        if recorded == found:
            return
        if recorded is None:
            if not self._recording.complete:
                raise _Over
            self._differs(found.number, found.cycle, f"found {where(found, self._gpus)}, recorded nothing more")
        places = [where(item, self._gpus) for item in (found, recorded)]
        if places[0] != places[1]:
            self._differs(recorded.number, recorded.cycle, f"found {places[0]}; recorded {places[1]}")
        fields = tuple(differing(recorded, found))
        name, was, now = fields[0] if fields else ("bytes", recorded, found)
        more = f", and {len(fields) - 1} more" if len(fields) > 1 else ""
        self._differs(recorded.number, recorded.cycle, f"{places[0]}: {name} is {now}, recorded {was}{more}", fields)

    def _other_bytes(self, text: str) -> None:
        self._differs(self._number, self._run.kernel.now, text)

    def _look(self) -> None:
        now = self._run.kernel.now
        self._state(now)
        self._run.kernel.remind(next_state(now), self._look)

    def _state(self, now: int) -> None:
        self._looked = now
        found = self._chain.state(now, hardware(self._run.engine))
        recorded = next(self._states, None)
        if recorded is None and not self._recording.complete:
            return
        if recorded != RecordedState(now, self._number, found):
            self._differs(self._number, now, f"cycle {now}: all messages are the same, and registers are not")

    def _at_the_end(self, found: dict[str, Any]) -> None:
        said = close_boards(self._firmware)
        if said is not None:
            self._differs(self._number, self._run.kernel.now, said)
        if self._looked != self._run.kernel.now:
            self._state(self._run.kernel.now)
        left = next(self._recorded, None)
        if left is not None:
            self._differs(left.number, left.cycle, f"found no more; recorded {where(left, self._gpus)}")
        recorded = self._recording.outcome or {}
        for name in found:
            if _facts(found[name]) != _facts(recorded.get(name)):
                text = f"at the end: {name} is {found[name]}, recorded {recorded.get(name)}"
                self._differs(self._number, self._run.kernel.now, text)

    def _differs(
        self, number: int, cycle: int, text: str, fields: tuple[tuple[str, object, object], ...] = ()
    ) -> NoReturn:
        self._difference = RunDifference(number, cycle, text, fields)
        raise _Over


def _facts(value: Any) -> Any:
    """Without the lines of a file in which what failed stood: the recording's own text has it in others. Of findings
    without what other versions of the judge say of them, or don't."""
    if not isinstance(value, list):
        return value
    return [_fact(each) for each in value]


def _fact(value: Any) -> Any:
    for facts in (FACTS, EXPECTED_FACTS) if isinstance(value, dict) else ():
        if all(key in value for key in facts):
            return {key: value[key] for key in facts}
    return _LINE.sub("", value) if isinstance(value, str) else value


def why_not(recording: Recording, library: Library, firmware: FirmwareChoice) -> str | None:
    """Why the run can't be played as it was; messages and events can be read all the same."""
    about = recording.about
    if about.edited is not None:
        return f"{recording.path}: {edited(recording)}"
    now_given = RecordedOutside(recording).choices(firmware)[0].given
    recorded, given = ([f"--firmware {each}" for each in said] for said in (about.firmware, now_given))
    if library.rtl != about.rtl:
        return f"{recording.path} was recorded on the RTL {about.rtl}; this one is {library.rtl}"
    if recorded != given:
        was, now = (" ".join(options) or "our firmware" for options in (recorded, given))
        return f"{recording.path} was recorded with {was}; found {now}"
    sources = hashes(None, None, firmware)
    for gpu, chosen in firmware.chosen.items():
        name = f"firmware.{gpu}"
        source = about.hashes.get(name, sources[name])
        if chosen.board is None and source != sources[name]:
            was, now = (short({chosen.text: each}) for each in (source, sources[name]))
            anew = "record the run anew, or see by `ringhil replay` what it does otherwise"
            return f"{recording.path}: firmware of {gpu} has changed: recorded with {was}; this is {now}; {anew}"
    return None


def edited(recording: Recording) -> str:
    """Why one that went on with other source can't be run."""
    return f"its firmware was exchanged in cycle {recording.about.edited}: it can be read, not run again"


def run_again(recording: Recording, library: Library, firmware: FirmwareChoice, nodes: NodeChoice) -> Run:
    """The recorded run, which has not started yet. Raises RecordingError."""
    run = Run(scenario_of(recording), library, firmware=firmware, nodes=nodes)
    if recording.about.samples is not None:  # what monitoring asks is on the wire, whoever looks
        UsageSampler(run.server, views_of(run.server), recording.about.samples)
    return run
