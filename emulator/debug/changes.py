"""What is done to a run that its scenario doesn't have: a fault, a register that is set, a frame that a GPU sends."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import CrossRef, GpuRef, LinkRef, Scenario, ScenarioError, TimelineEvent, dumps, loads
from ringhil.emulator.scenario.file.faults import FAULTS
from ringhil.emulator.scenario.writer import event_entry
from ringhil.emulator.trace.recording.tables import RunChange
from ringhil.protocol.registers import ADDRESS, REGISTERS
from ringhil.protocol.wire import Port

WRITABLE = tuple(register.name for register in REGISTERS if register.access == "rw")
_WORD = 2**32
_LONGEST = 1 << 16  # letters of a frame
_MOST = 2000  # of an event
_What = tuple[str, GpuRef | LinkRef | CrossRef, bool]  # a fault and its place
_CYCLE = re.compile(r"""[{,]\s*["']?at["']?\s*:""")
_ENDS = {"clear": "fault", "take_back": "lend"}  # and what begins it
_END = re.compile(r"""([{,]\s*["']?)(clear|take_back)(["']?\s*:)""")
_PLACE = re.compile(r"^the event:\d+:\d+: (timeline\[\d+\][.:] ?)?")  # in a file that nobody has seen


def fault(scenario: Scenario, cycle: int, entry: str, earlier: Iterable[RunChange] = ()) -> RunChange:
    """As the timeline of a file has it, without its cycle: `{fault: dead, gpu: a.3}`. `earlier`: what was done to the
    run before, in order of time. Raises DebugError."""
    text = entry.strip()
    if not (text.startswith("{") and text.endswith("}")):
        raise DebugError(f"found {text[:50]!r}; wanted is an event of a timeline, as {{fault: dead, gpu: a.3}}")
    if len(text) > _MOST:
        raise DebugError(f"found {len(text)} letters; allowed are {_MOST}")
    if text.count("{") > 1:
        raise DebugError(f"found {text[:50]!r}; allowed is one event at a time")
    if _CYCLE.search(text):
        raise DebugError("found 'at'; the event strikes next, and has no cycle")
    events = _events(scenario, f"{{at: {cycle}, {text[1:]}")
    active = _active(scenario, cycle, earlier)
    for event in events:
        if not event.begins and _what(event) not in active:
            if event.lends:
                raise DebugError(f"{event.where} is not lent in cycle {cycle:,}; lend it first")
            raise DebugError(f"{event.kind} is not active at {event.where} in cycle {cycle:,}; set it first")
    written, where = event_entry(events[0]), [event.where for event in events]
    if len(where) > 1:
        written[str(events[0].action if events[0].lends else FAULTS[events[0].kind].target)] = where
    return RunChange(cycle=cycle, strike=json.dumps(written))


def setting(cycle: int, gpu: str, register: str, value: int) -> RunChange:
    """A register. Raises DebugError."""
    if register not in WRITABLE:
        raise DebugError(f"found register {register[:50]!r}; those that can be set are {', '.join(WRITABLE)}")
    if not 0 <= value < _WORD:
        raise DebugError(f"found {value}; allowed is a number of 32 bits")
    return RunChange(cycle=cycle, gpu=gpu, set=register, value=value)


def frame(cycle: int, gpu: str, port: str, text: str) -> RunChange:
    """A frame, in hexadecimal, that a GPU's firmware writes into its mailbox. Raises DebugError."""
    ports = [str(each) for each in Port]
    if port not in ports:
        raise DebugError(f"found port {port[:50]!r}; allowed are {', '.join(ports)}")
    try:
        sent = bytes.fromhex(text)
    except ValueError:
        sent = b""
    if not sent or len(sent) % 8 or len(text) > _LONGEST:
        raise DebugError(f"found frame {text[:50]!r}; wanted are flits of 8 bytes in hexadecimal")
    return RunChange(cycle=cycle, gpu=gpu, port=port, frame=sent.hex())


def plan(run: Run, change: RunChange) -> None:
    """Have it done, in its cycle, before anything else but what the timeline does then. Raises DebugError."""
    if change.strike is not None:
        run.strike(_events(run.scenario, change.strike))
        return
    try:
        cell = run.server.wiring.cell_of(GpuRef.parse(change.gpu or ""))
        run.server.wiring.place(cell)
    except (KeyError, ValueError, IndexError):
        raise DebugError(f"found GPU {str(change.gpu)[:50]!r}; there is none of this name") from None
    if change.set is not None:
        if change.set not in ADDRESS:
            raise DebugError(f"found register {change.set[:50]!r}; there are {', '.join(ADDRESS)}")
        run.kernel.early(change.cycle, partial(run.engine.poke, cell, change.set, change.value or 0))
    elif change.port is not None:
        port = next((each for each in Port if str(each) == change.port), Port.CW)
        sent = bytes.fromhex(change.frame or "")
        run.kernel.early(change.cycle, partial(run.kernel.send_mail, cell, port.code, sent))


def _events(scenario: Scenario, entry: str) -> tuple[TimelineEvent, ...]:
    """One for each GPU or link that it names."""
    # A file may clear only what it has set: that this was set may stand elsewhere.
    begun = _END.sub(lambda found: f"{found[1]}{_ENDS[found[2]]}{found[3]}", entry)
    entries = [entry] if begun == entry else [begun, entry]
    bare = replace(scenario, timeline=(), expect=(), lines=(), workload=None, until=None)
    try:
        found = loads(f"{dumps(bare)}timeline: [{', '.join(entries)}]\n", "the event")
    except (ScenarioError, ValueError) as error:
        raise DebugError(_PLACE.sub("", str(error).splitlines()[0])) from None
    if found.lines:
        raise DebugError(f"found '{found.lines[0].kind}'; a management line has no part in a branch")
    return found.timeline[len(found.timeline) // len(entries) * (len(entries) - 1) :]


def _active(scenario: Scenario, cycle: int, earlier: Iterable[RunChange]) -> set[_What]:
    """The faults that were set before, and not cleared."""
    events = [event for event in scenario.timeline if event.at <= cycle]
    for change in earlier:
        if change.strike is not None:
            events += _events(scenario, change.strike)
    active = set[_What]()
    for event in sorted(events, key=lambda event: event.at):
        (active.add if event.begins else active.discard)(_what(event))
    return active


def _what(event: TimelineEvent) -> _What:
    return event.kind, event.target, event.reverse
