"""What is done to a run that its scenario doesn't have: a fault, a register that is set, a frame that a GPU sends."""

import json
import re
from dataclasses import replace
from functools import partial

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import GpuRef, Scenario, ScenarioError, TimelineEvent, dumps, loads
from ringhil.emulator.scenario.writer import event_entry
from ringhil.emulator.trace.recording.tables import RunChange
from ringhil.protocol.registers import ADDRESS, REGISTERS
from ringhil.protocol.wire import Port

WRITABLE = tuple(register.name for register in REGISTERS if register.access == "rw")
_WORD = 2**32
_LONGEST = 1 << 16  # letters of a frame
_CYCLE = re.compile(r"""[{,]\s*["']?at["']?\s*:""")
_PLACE = re.compile(r"^the event:\d+:\d+: (timeline\[0\][.:] ?)?")  # in a file that nobody has seen


def fault(scenario: Scenario, cycle: int, entry: str) -> RunChange:
    """As the timeline of a file has it, without its cycle: `{fault: dead, gpu: a.3}`. Raises DebugError."""
    text = entry.strip()
    if not (text.startswith("{") and text.endswith("}")):
        raise DebugError(f"found {text[:50]!r}; wanted is an event of a timeline, as {{fault: dead, gpu: a.3}}")
    if text.count("{") > 1:
        raise DebugError(f"found {text[:50]!r}; allowed is one event at a time")
    if _CYCLE.search(text):
        raise DebugError("found 'at'; the event strikes next, and has no cycle")
    event = _event(scenario, f"{{at: {cycle}, {text[1:]}")
    return RunChange(cycle=cycle, strike=json.dumps(event_entry(event)))


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
        run.strike([_event(run.scenario, change.strike)])
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


def _event(scenario: Scenario, entry: str) -> TimelineEvent:
    bare = replace(scenario, timeline=(), expect=(), lines=(), workload=None, until=None)
    try:
        events = loads(f"{dumps(bare)}timeline: [{entry}]\n", "the event").timeline
    except (ScenarioError, ValueError) as error:
        raise DebugError(_PLACE.sub("", str(error).splitlines()[0])) from None
    return events[0]
