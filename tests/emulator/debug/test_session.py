"""A recording walked through: by message, by condition, and what GPUs and CPU knew; commands say the same in words."""

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import refusal, ringhil
from tests.emulator.scenario.samples import unhurried

from ringhil.emulator.debug.commands import NAMES, Commands, in_words
from ringhil.emulator.debug.condition import parse
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.firmware_choice import OURS, Chosen, FirmwareChoice
from ringhil.emulator.trace.recording import RecordedMessage
from ringhil.firmware.boot import our_program

SERVER = """
server: {cards: {a: {gpus: 5, host_links: [0, 1]}}}
workload: {units: 20, size: 600}
timeline:
- {at: 9000, fault: dead, gpu: a.3}
- {at: 20000, fault: dead, gpu: a.0}
until: 40000
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, run = tmp_path_factory.mktemp("recorded") / "r", Run(loads(SERVER), cells_library())
    with RunRecorder(path, run) as recorder:
        recorder.end(run.run())
    run.close()
    return path


@pytest.fixture
def session(recorded: Path) -> Iterator[DebugSession]:
    with DebugSession(recorded, cells_library()) as found:
        yield found


def test_steps_pass_every_message_and_back_the_same_way(session: DebugSession) -> None:
    passed = []
    while session.step():
        passed.append(session.here)
    assert passed == list(session.recording.messages())
    assert session.here == passed[-1]
    for message in reversed(passed[:-1]):
        assert session.back()
        assert session.here == message
    assert not session.back()
    assert (session.here, session.number, session.cycle) == (None, 0, 0)
    assert session.step(7)
    assert session.here == passed[6]
    assert not session.step(10**6)
    assert session.here == passed[-1]
    assert not session.back(10**6)
    assert session.here is None


@unhurried
@given(
    start=st.integers(0, 3000), count=st.integers(0, 5), kind=st.sampled_from(["statistics", "Counted", "keepalive"])
)
def test_until_finds_the_next_one_and_back_until_the_one_before(
    session: DebugSession, start: int, count: int, kind: str
) -> None:
    every = list(session.recording.all())
    session.here = every[start - 1] if 0 < start <= len(every) else None
    here = session.number
    condition = parse(f"kind == {kind} and (count == {count} or cycle > 15000)", NAMES)
    matching = [each.number for each in every if condition(session.fields(each))]
    for act, wanted in (
        (session.until, next((number for number in matching if number > here), None)),
        (session.back_until, next((number for number in reversed(matching) if number < here), None)),
    ):
        session.here = every[here - 1] if here else None
        assert act(condition) is (wanted is not None)
        assert session.number == (here if wanted is None else wanted)


@pytest.mark.rest
def test_the_state_is_that_of_the_cycle(session: DebugSession) -> None:
    """The CPU counts five, then four; the holder of the role, and its epoch, move with the fault."""
    assert session.card("a")["members"] == []
    assert session.until(parse("kind == report and way == to_cpu and count == 4", NAMES))
    at = session.here
    assert session.card("a")["count"] == 5  # it has arrived, and was not read yet
    session.step(40)
    assert session.card("a")["members"] == [0, 1, 2, 4]
    first = session.firmware("a.0")
    assert first is not None
    assert first["electors"]["entry"]["held_epoch"] == 1
    assert session.until(parse("kind == FirmwareStopped and gpu == a.0", NAMES))
    assert session.firmware("a.0") is None
    assert session.until(parse("kind == Elected and gpu == a.1", NAMES))
    second = session.firmware("a.1")
    assert second is not None
    assert second["electors"]["entry"]["held_epoch"] == 2
    session.here = at
    assert session.card("a")["count"] == 5
    assert session.firmware("a.0") is not None
    assert session.registers("a.0")["control"] & 4  # the entry GPU


def test_fields_of_messages_and_events_have_names_that_conditions_know(session: DebugSession) -> None:
    for told in session.recording.all():
        assert session.fields(told).keys() <= NAMES


def test_whom_a_gpu_hears_is_its_peer(session: DebugSession) -> None:
    commands = Commands(session)
    found = commands.do("until kind == PeerUp and gpu == a.1 and peer == 0")
    assert found["moved"]
    assert (found["message"]["gpu"], found["message"]["peer"]) == ("a.1", 0)
    assert in_words(commands.do("show")).splitlines()[1:] == ["  role: entry", "  peer: 0"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "jump 5",
            "found 'jump'; allowed are step, back, next, previous, until, back-until, assert, show, state, card",
        ),
        ("step 0", "found '0'; allowed is a number of messages from 1 to 1,000,000,000"),
        ("back x", "found 'x'; allowed is a number of messages"),
        ("next statistic", "found kind 'statistic'; allowed are "),
        ("until count >", "found the end; wanted is a number"),
        ("until kind == Counter", "found 'Counter'; allowed are statistics, keepalive"),
        ("until not (kind != 5)", "found '5'; allowed are statistics, keepalive"),
        (
            "back-until way == to_firm",
            "found 'to_firm'; allowed are to_firmware, from_firmware",
        ),
        ("break gpu == a.5", "found 'a.5'; allowed are a.0 .. a.4"),
        ("branch", "found no FILE; wanted is its name"),
        ("edit ", "found no FILE; wanted is its name"),
        ("compare", "found no FILE; wanted is its name"),
        ("set a.7 weight 1", "found GPU 'a.7'; there are a.0 .. a.4"),
        ("state a.9", "found GPU 'a.9'; there are a.0 .. a.4"),
        ("state", "found GPU ''; there are a.0 .. a.4"),
        ("card z", "found card 'z'; there are a"),
        ("x" * 3000, "found 3000 letters; allowed are 2000"),
    ],
)
def test_commands_that_cannot_be_done_change_nothing(session: DebugSession, line: str, says: str) -> None:
    commands = Commands(session)
    commands.do("step 5")
    before = commands.do("show")
    with pytest.raises(DebugError) as error:
        commands.do(line)
    assert str(error.value).startswith(says)
    assert commands.do("show") == before


def test_commands_say_where_they_are(session: DebugSession) -> None:
    commands = Commands(session)
    assert in_words(commands.do("show")) == "cycle 0 before the first message"
    found = commands.do("next Elected")
    assert found["message"] == {
        "number": session.number,
        "cycle": session.cycle,
        "gpu": "a.0",
        "kind": "Elected",
        "role": "entry",
        "epoch": 1,
    }
    assert found["moved"] is True
    assert in_words(found) == f"{session.number}: cycle {session.cycle} a.0 Elected"
    assert in_words(commands.do("show")).endswith("\n  role: entry\n  epoch: 1")
    assert in_words(commands.do("previous Elected")).startswith("no more\n")
    assert isinstance(session.here, object)
    commands.do("step")
    assert isinstance(session.here, RecordedMessage)
    state = commands.do("state a.0")
    assert state["registers"] == session.registers("a.0")
    assert state["firmware"] == session.firmware("a.0")
    assert f"  status: {state['registers']['status']}" in in_words(state)
    assert commands.do("card a")["card"] == session.card("a")
    json.dumps([state, found, commands.do("card a")])


def test_without_its_firmware_or_rtl_there_are_messages_and_no_states(recorded: Path, tmp_path: Path) -> None:
    other = FirmwareChoice(("a.1=x",), {"a.1": Chosen("x", our_program, "")})
    (tmp_path / "r").write_bytes(recorded.read_bytes())
    with closing(sqlite3.connect(tmp_path / "r")) as db, db:
        db.execute("UPDATE about SET header = replace(header, 'sha256:', 'sha256:5')")
    for path, firmware, says in (
        (recorded, other, "no state: .* was recorded with our firmware; found --firmware a.1=x$"),
        (tmp_path / "r", OURS, "no state: .* was recorded on the RTL sha256:5.*; this one is sha256:"),
    ):
        with DebugSession(path, cells_library(), firmware=firmware) as session:
            assert session.step(3)
            with pytest.raises(DebugError, match=says):
                session.card("a")
            assert session.step()


@pytest.mark.parametrize("changed", ["mine.py", "beside.py"])
def test_of_firmware_that_has_changed_since_there_are_messages_and_no_states(changed: str, tmp_path: Path) -> None:
    """Whatever the change does."""
    (tmp_path / "s.yaml").write_text(SERVER)
    (tmp_path / "beside.py").write_text("from ringhil.firmware import our_program\n")
    (tmp_path / "mine.py").write_text("from beside import our_program\ndef program(boot): return our_program(boot)\n")
    firmware = ("--firmware", "a.1=mine:program")
    assert ringhil("run", "s.yaml", "--record", "r.rec", *firmware, cwd=tmp_path).returncode == 0
    stepped = ("step", "r.rec", "--script", "-", *firmware)
    assert "census_config" in ringhil(*stepped, cwd=tmp_path, said="step 9\nstate a.1\n").stdout
    with (tmp_path / changed).open("a") as file:
        file.write("# changed\n")
    done = ringhil(*stepped, cwd=tmp_path, said="step 9\nstate a.1\n")
    assert (done.returncode, done.stdout[:2]) == (2, "9:")
    wanted = (
        r"ringhil: standard input:2: no state: r.rec: firmware of a.1 has changed: recorded with mine:program \w{12}; "
        r"this is mine:program \w{12}; record the run anew, or see by `ringhil replay` what it does otherwise\n"
    )
    assert re.fullmatch(wanted, done.stderr), done.stderr
    assert ringhil("replay", "r.rec", *firmware, cwd=tmp_path).returncode == 0


# ------------------------------------------------------------------------------------------------ the command line

SCRIPT = "# to the first count\nnext Counted\n\nstep 3\nback 3\nback-until kind == Elected\nstate a.0\n"


def test_a_script_of_a_recording_and_of_a_server_gives_the_same(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVER)
    (tmp_path / "script").write_text(SCRIPT)
    done = [ringhil("step", file, "--script", "script", "--json", cwd=tmp_path) for file in (recorded, "s.yaml")]
    assert [each.returncode for each in done] == [0, 0]
    assert done[0].stdout == done[1].stdout
    found = [json.loads(line) for line in done[0].stdout.splitlines()]
    assert [each["command"] for each in found] == [line for line in SCRIPT.splitlines() if line and line[0] != "#"]
    assert found[0]["message"]["kind"] == "Counted"
    assert found[0]["message"]["count"] == 5
    assert found[2]["message"]["number"] < found[1]["message"]["number"]
    assert found[3]["message"]["kind"] == "Elected"
    assert found[4]["firmware"]["electors"]["entry"]["held_epoch"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.yaml", "script"]


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize(
    ("lines", "strict", "code", "last"),
    [
        ("until kind == Counted and count == 3\nassert count == 3 and members has 1", False, 0, ""),
        ("until kind == Counted\nassert count == 4\nstep", False, 1, ":2: assert count == 4: does not hold"),
        ("until count == 77\nwhy rejected\nshow", False, 0, ""),
        ("until count == 77\nshow", True, 1, ":1: until count == 77: finds nothing"),
        ("why rejected\nshow", True, 1, ":1: why rejected: finds nothing"),
    ],
)
def test_a_script_fails_by_what_it_asserts_and_strictly_by_what_it_seeks_in_vain(
    recorded: Path, tmp_path: Path, lines: str, strict: bool, code: int, last: str
) -> None:
    (tmp_path / "s").write_text(lines)
    done = ringhil("step", recorded, "--script", "s", *(["--strict"] if strict else []), cwd=tmp_path)
    assert (done.returncode, done.stderr.removeprefix("ringhil: s").strip()) == (code, last)
    whole = len(lines.splitlines()) if code == 0 else int(last.split(":")[1])
    shown = [line for line in done.stdout.splitlines() if ": cycle " in line or line.startswith("cycle ")]
    assert len(shown) == whole


def test_a_script_without_a_command_has_asserted_nothing(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("# assert count == 8\n\n")
    done = ringhil("step", recorded, "--script", "s", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "ringhil: s: found no command; a script has one in each line\n")


@pytest.mark.rest
def test_the_bits_of_registers_have_names(session: DebugSession) -> None:
    commands = Commands(session)
    commands.do("until kind == Elected")
    shown = in_words(commands.do("go 8000") | commands.do("state a.0")).splitlines()
    assert "  control: 7: entry monitor entry_capable" in shown


@pytest.mark.parametrize(("script", "end"), [(None, "quit"), ("-", "exit"), ("script", "quit")])
def test_commands_come_from_standard_input_or_a_script(
    recorded: Path, tmp_path: Path, script: str | None, end: str
) -> None:
    asked = f"next Counted\n{end}\nnext Counted\n"
    (tmp_path / "script").write_text(asked)
    given = "" if script == "script" else asked
    done = ringhil("step", recorded, *(() if script is None else ("--script", script)), said=given, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    assert " a.0 Counted\n" in done.stdout


def test_a_command_that_cannot_be_done_is_told_with_its_line(recorded: Path, tmp_path: Path) -> None:
    """As an editor counts them: a form feed or a separator of Unicode's begins none."""
    asked = "step\r\n\r\n# why\x0cnot\u2028here\r\nnext Counted\nstep 0\n"
    (tmp_path / "script").write_text(asked, newline="")
    done = ringhil("step", recorded, said=asked)
    of_script = ringhil("step", recorded, "--script", tmp_path / "script")
    for found, where in ((done, "standard input"), (of_script, f"{tmp_path}/script")):
        assert found.returncode == 2
        assert found.stdout.count("\n") == 2
        assert found.stderr.startswith(f"ringhil: {where}:5: found '0'; allowed is a number of messages"), where


def test_wrong_input_is_one_line(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("step\n\nuntil kind = x\n")
    done = ringhil("step", recorded, "--script", tmp_path / "script")
    assert done.returncode == 2
    first, condition, mark = done.stderr.splitlines()
    assert first == f"ringhil: {tmp_path}/script:3: found '='; allowed are == != < <= > >= has"
    assert (condition, mark) == ("kind = x", "     ^")
    assert "cannot be read: No such file" in refusal("step", recorded, "--script", tmp_path / "no")
    assert "cannot be read: No such file" in refusal("step", tmp_path / "no")


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        ("UPDATE messages SET cycle = 'x' WHERE number > 200", "go 9000", "is damaged: message "),
        (
            "UPDATE events SET fields = '{}' WHERE kind = 'Counted'",
            "why count",
            "is damaged: events that Counted refers",
        ),
        (
            "UPDATE events SET fields = '{}' WHERE kind = 'Elected'",
            "why role",
            "is damaged: events that Elected refers",
        ),
    ],
)
def test_rows_that_are_damaged_are_one_line(recorded: Path, tmp_path: Path, change: str, line: str, says: str) -> None:
    path = Path(shutil.copy(recorded, tmp_path / "damaged"))
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(change).rowcount > 0
    script = tmp_path / "script"
    script.write_text(line if line.startswith("go") else f"go 9000\n{line}\n")
    done = ringhil("step", path, "--script", script)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
