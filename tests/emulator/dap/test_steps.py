"""Steps in an editor, forwards and backwards, end where the recording says; lines of firmware are in one order with
messages and events."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emulator.dap.client import Client
from tests.emulator.scenario.samples import unhurried

from ringhil import firmware
from ringhil.emulator.debug.commands import NAMES
from ringhil.emulator.debug.condition import parse
from ringhil.emulator.debug.lines import TracedLines
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import Library
from ringhil.emulator.trace.recording import RecordedMessage
from ringhil.emulator.trace.recording.tables import WAYS

_HERE = Path(firmware.__file__).resolve().parent
_CONDITIONS = ["kind == Counted", "gpu == a.1 and kind == keepalive", "count == 4", "number == 77 or bad == true"]
_MOVES = st.lists(st.sampled_from(["next", "stepBack", "continue", "reverseContinue"]), max_size=8)


@pytest.fixture(scope="module")
def session(recorded: Path, library: Library) -> Iterator[DebugSession]:
    with DebugSession(recorded, library) as found:
        yield found


@pytest.fixture(scope="module")
def traced(session: DebugSession) -> TracedLines:
    """All lines of firmware of the whole run."""
    with session.traced(0, {}, listing=True) as play:
        return play(session.recording.last_cycle + 1)


@pytest.fixture(autouse=True)
def _no_breakpoints(client: Client) -> None:
    client.ask("setFunctionBreakpoints", breakpoints=[])
    client.ask("setExceptionBreakpoints", filters=[])
    for file in _HERE.glob("*.py"):
        client.ask("setBreakpoints", source={"path": str(file)}, breakpoints=[])


_sequences = given(condition=st.sampled_from(_CONDITIONS), moves=_MOVES, start=st.integers(0, 400))


@unhurried
@_sequences
def test_steps_both_ways_end_where_the_recording_says(
    client: Client, session: DebugSession, condition: str, moves: list[str], start: int
) -> None:
    _check_steps(client, session, condition, moves, start)


@pytest.mark.slow(part="editors")
@settings(unhurried, max_examples=1000)
@_sequences
def test_a_thousand_sequences_of_steps_end_where_the_recording_says(
    client: Client, session: DebugSession, condition: str, moves: list[str], start: int
) -> None:
    _check_steps(client, session, condition, moves, start)


def _check_steps(client: Client, session: DebugSession, condition: str, moves: list[str], start: int) -> None:
    every = list(session.recording.all())
    numbers = [each.number for each in every if isinstance(each, RecordedMessage)]
    holds = parse(condition, NAMES)
    stops = [each.number for each in every if holds(session.fields(each))]
    client.ask("setFunctionBreakpoints", breakpoints=[{"name": condition}])
    here = _go(client, min(start, len(every)))
    for move in moves:
        client.move(move)
        if move == "next":
            here = next((number for number in numbers if number > here), max(here, numbers[-1]))
        elif move == "stepBack":
            here = next((number for number in reversed(numbers) if number < here), 0)
        elif move == "continue":
            here = next((number for number in stops if number > here), len(every))
        else:
            here = next((number for number in reversed(stops) if number < here), 0)
        assert client.number() == here


def _go(client: Client, number: int) -> int:
    if number:
        (target,) = client.ask("gotoTargets", source={"sourceReference": 1}, line=number)["targets"]
        client.ask("goto", threadId=1, targetId=target["id"])
    else:
        client.ask("restart")
    client.event("stopped")
    return number


def test_a_breakpoint_on_a_line_that_no_session_runs_moves_to_the_next_that_may(
    client: Client, traced: TracedLines
) -> None:
    """A class and its `def` lines are run when firmware is loaded."""
    path = str(_HERE / "gpu.py")
    (gpu,) = [node for node in ast.parse(Path(path).read_text()).body if getattr(node, "name", "") == "GpuProgram"]
    assert isinstance(gpu, ast.ClassDef)
    methods = {node.name: node.lineno for node in gpu.body if isinstance(node, ast.FunctionDef)}
    first = {line.function: line.line for line in reversed(traced.lines) if line.file == path}
    moved = [name for name in methods if f"GpuProgram.{name}" in first]
    assert len(moved) > 3
    for name in moved:
        asked = [{"line": methods[name]}]
        (answer,) = client.ask("setBreakpoints", source={"path": path}, breakpoints=asked)["breakpoints"]
        assert answer == {"verified": True, "line": first[f"GpuProgram.{name}"]}


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("file", ["census.py", "election.py", "gpu.py"])
def test_a_breakpoint_on_a_line_is_hit_whenever_that_is_run(client: Client, traced: TracedLines, file: str) -> None:
    """And backwards in the other order."""
    path = str(_HERE / file)
    runs = Counter(line.line for line in traced.lines if line.file == path)
    chosen = min((times, line) for line, times in runs.items() if times >= 3)[1]
    (answer,) = client.ask("setBreakpoints", source={"path": path}, breakpoints=[{"line": chosen}])["breakpoints"]
    assert answer == {"verified": True, "line": chosen}
    wanted = [
        (traced.calls[line.call].cycle, line.gpu, line.function)
        for line in traced.lines
        if (line.file, line.line) == (path, chosen)
    ]
    _go(client, 0)
    for way, order in (("continue", wanted), ("reverseContinue", wanted[::-1])):
        found = list[tuple[int, str, str]]()
        while client.move(way)["reason"] == "breakpoint":
            frame = client.frames()[0]
            assert (frame["source"]["path"], frame["line"]) == (path, chosen)
            cycle = int(client.ask("evaluate", expression="cycle")["result"])
            found.append((cycle, client.gpu(), frame["name"]))
        assert found == order


@pytest.mark.rest
def test_into_a_message_out_of_it_and_back_again(client: Client, session: DebugSession, traced: TracedLines) -> None:
    """Into all lines that handle it, one by one; backwards over those of the same function, then to the message."""
    recording, latency = session.recording, session.scenario.server.settings.firmware_latency
    cycles = Counter(call.cycle for call in traced.calls)
    number, handled = next(
        (item.number, index)
        for index, call in enumerate(traced.calls)
        for item in recording.messages(max(1, call.number - 20), call.number)
        if cycles[call.cycle] > 1 and traced.calls[index - 1].cycle == call.cycle and item.frame == call.frame
        if (item.cycle + latency, WAYS[item.way], recording.gpus[item.cell]) == (call.cycle, "to_firmware", call.gpu)
    )
    lines = [line for line in traced.lines if line.call == handled]
    _go(client, number)
    seen = list[tuple[str, int, int]]()
    for _ in lines:
        client.move("stepIn")
        frames = client.frames()
        seen.append((frames[0]["name"], frames[0]["line"], len(frames) - 1))
        assert frames[-1]["name"].startswith(f"{number}: ")
    assert seen == [(line.function, line.line, line.depth) for line in lines]
    client.move("stepIn")
    assert client.number() > number
    _go(client, number)
    client.move("stepIn")
    client.move("stepIn")
    client.move("stepBack")
    assert client.frames()[0]["line"] == lines[0].line
    client.move("stepBack")
    assert (client.number(), len(client.frames())) == (number, 2)
    client.move("stepIn")
    client.move("stepOut")
    assert client.number() > number


def test_a_condition_on_a_line_is_about_what_its_function_knows(client: Client) -> None:
    path = str(_HERE / "gpu.py")
    line = next(
        n for n, text in enumerate(Path(path).read_text().split("\n"), 1) if "assert isinstance(message" in text
    )
    found = client.ask(
        "setBreakpoints",
        source={"path": path},
        breakpoints=[
            {"line": line, "condition": "gpu == a.1 and message.sequence >= 3 and self.entry_capable == true"},
            {"line": line + 1, "condition": "gpu = a.1"},
        ],
    )["breakpoints"]
    assert found[0]["verified"]
    assert "allowed are ==" in found[1]["message"]
    _go(client, 0)
    assert client.move("continue")["reason"] == "breakpoint"
    assert client.ask("evaluate", expression="message.sequence")["result"] == "3"
    assert client.gpu() == "a.1"
