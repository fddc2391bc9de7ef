"""A branch: from a moment on the run goes another way, and what comes of it is a recording like any other."""

import json
import shutil
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emulator.debug.test_questions import CARD, recorded
from tests.emulator.scenario.samples import unhurried

from ringhil.emulator.debug.changes import fault
from ringhil.emulator.debug.commands import Commands
from ringhil.emulator.debug.items import first_difference
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import STATES_EVERY
from ringhil.emulator.debug.replaying import RunReplay
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.trace.recording import RecordedMessage, Recording
from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive

WORK = CARD % "{at: 9000, fault: slow, gpu: a.4}" + "workload: {units: 20, size: 600}\n"
STRUCK = (
    *("fault: dead, gpu: a.3", "fault: hang, gpu: a.0", "fault: skip_count, gpu: a.2", "fault: babble, gpu: a.5"),
    *("fault: link_cut, link: a.1-a.2", "lend: a.3", "lend: [a.0, a.2]"),
)


@pytest.fixture(scope="module")
def trunk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("trunk") / "r", WORK)


def assert_replays(path: Path) -> None:
    with Recording(path) as recording:
        replayed = RunReplay(recording, cells_library()).run()
        assert (replayed.difference, replayed.complete) == (None, True)


@pytest.mark.rest
@settings(unhurried, max_examples=12)
@given(cycle=st.integers(0, 39_000), what=st.sampled_from(STRUCK))
def test_a_branch_is_the_run_whose_file_has_the_event(
    trunk: Path, tmp_path_factory: pytest.TempPathFactory, cycle: int, what: str
) -> None:
    folder = tmp_path_factory.mktemp("branch")
    with DebugSession(trunk, cells_library()) as session:
        session.go(cycle)
        at = 0 if session.here is None else session.cycle + 1
        session.inject(f"{{{what}}}")
        session.branch(folder / "branch")
    timeline = sorted([(9000, "fault: slow, gpu: a.4"), (at, what)], key=lambda event: event[0])
    events = ", ".join(f"{{at: {at}, {what}}}" for at, what in timeline)
    text = CARD % events + "workload: {units: 20, size: 600}\n"
    with Recording(recorded(folder / "whole", text)) as whole, Recording(folder / "branch") as branch:
        assert first_difference(whole, branch) is None
        assert list(whole.states()) == list(branch.states())
        wrong = {name for name in whole.outcome or {} if (whole.outcome or {})[name] != (branch.outcome or {})[name]}
        assert wrong == set()
    assert_replays(folder / "branch")


@pytest.mark.rest(but_one_in=6)
@pytest.mark.parametrize("before", [1, 2, 30])
@pytest.mark.parametrize("until", [0, 4000])
def test_a_branch_may_begin_where_all_hardware_is_looked_at(tmp_path: Path, before: int, until: int) -> None:
    """Or so near before it that nothing happens in between."""
    events = f"{{at: {STATES_EVERY - before}, fault: slow, gpu: a.4}}"
    text = (CARD % events).replace("until: 40000", f"until: {STATES_EVERY + until}")
    assert f"until: {STATES_EVERY + until}" in text
    with DebugSession(recorded(tmp_path / "trunk", text), cells_library()) as session:
        session.go(STATES_EVERY - before)
        session.inject("{fault: dead, gpu: a.3}")
        session.branch(tmp_path / "branch")
    assert_replays(tmp_path / "branch")
    with Recording(tmp_path / "branch") as branch:
        assert STATES_EVERY in [state.cycle for state in branch.states()]


@pytest.mark.rest
def test_what_is_set_and_sent_is_replayed_and_stepped_through(trunk: Path, tmp_path: Path) -> None:
    with DebugSession(trunk, cells_library()) as session:
        commands = Commands(session)
        commands.do("until kind == keepalive and way == from_firmware and cycle > 20000")
        here = session.here
        assert isinstance(here, RecordedMessage)
        at, count = session.cycle, session.number
        commands.do("set a.3 weight 7")
        commands.do(f"send a.2 cw {here.frame.hex()}")
        found = commands.do(f"branch {tmp_path / 'branch'}")
        assert found["verdict"] == "fail", "a.2 sends what is another's"
        assert session.registers("a.3")["weight"] == 1, "the recording that was stepped stays what it was"
    with DebugSession(tmp_path / "branch", cells_library()) as session:
        (sent,) = [
            m for m in session.recording.messages() if m.frame == here.frame and (m.cell, m.cycle) == (2, at + 1)
        ]
        assert isinstance(codec.decode(sent.frame, link=False), Keepalive)
        assert [change.cycle for change in session.recording.about.changes] == [at + 1] * 2
        session.go(at)
        assert session.number >= count
        assert session.registers("a.3")["weight"] == 1
        session.go(at + 2)
        assert session.registers("a.3")["weight"] == 7
        session.set("a.3", "weight", 9)
        session.branch(tmp_path / "second")
    with DebugSession(tmp_path / "second", cells_library()) as session:
        assert [change.value for change in session.recording.about.changes] == [7, None, 9]
    assert_replays(tmp_path / "branch")
    assert_replays(tmp_path / "second")


def test_changes_of_a_moment_that_was_left_are_forgotten(trunk: Path, tmp_path: Path) -> None:
    with DebugSession(trunk, cells_library()) as session:
        session.go(5000)
        session.inject("{fault: dead, gpu: a.3}")
        session.go(8000)
        session.branch(tmp_path / "branch")
        with Recording(tmp_path / "branch") as branch:
            assert first_difference(session.recording, branch) is None
            assert branch.about.changes == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("inject dead a.3", "found 'dead a.3'; wanted is an event of a timeline, as {fault: dead, gpu: a.3}"),
        ("inject {fault: dead, gpu: a.9}", "a.9"),
        ("inject {fault: dead, gpu: a.3}, {fault: dead, gpu: a.2}", "one event at a time"),
        ("inject {fault: dead, gpu: a.3}, {at: 3, fault: dead, gpu: a.2}", "one event"),
        ("inject {", "found '{'; wanted is an event of a timeline, as {fault: dead, gpu: a.3}"),
        ("inject {fault: dead, gpu: a.3, at: 5}", "found 'at'; the event strikes next, and has no cycle"),
        ("inject {fault: ded, gpu: a.3}", "ded"),
        ("inject {clear: dead, gpu: a.3}", "dead is not active at a.3 in cycle 0; set it first"),
        ("inject {take_back: a.3}", "a.3 is not lent in cycle 0; lend it first"),
        ("inject {clear: dead, gpu: a.9}", "a.9"),
        ("inject {fault: line_cut, card: a}", "found 'line_cut'; a management line has no part in a branch"),
        ("set a.9 weight 1", "found GPU 'a.9'; there are a.0 .. a.5"),
        ("set a.3 status 1", "found register 'status'; those that can be set are"),
        ("set a.3 weight", "found 'a.3 weight'; wanted is GPU REGISTER VALUE"),
        ("set a.3 weight -1", "allowed is a value from 0 to 4,294,967,295"),
        ("send a.3 up 00", "found port 'up'; allowed are"),
        ("send a.3 cw 0011", "wanted are flits of 8 bytes in hexadecimal"),
        ("send a.3 cw __", "wanted are flits of 8 bytes in hexadecimal"),
        ("branch .", "cannot be written: it is a folder"),
    ],
)
def test_what_cannot_be_is_refused(trunk: Path, line: str, says: str) -> None:
    with DebugSession(trunk, cells_library()) as session, pytest.raises(DebugError) as refused:
        Commands(session).do(line)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_the_file_sets_in_the_same_cycle_can_be_cleared(trunk: Path) -> None:
    with DebugSession(trunk, cells_library()) as session:
        assert fault(session.scenario, 9000, "{clear: slow, gpu: a.4}").cycle == 9000
        with pytest.raises(DebugError, match=r"slow is not active at a\.4 in cycle 8,999"):
            fault(session.scenario, 8999, "{clear: slow, gpu: a.4}")


def test_a_branch_clears_what_its_file_or_another_branch_has_set(trunk: Path, tmp_path: Path) -> None:
    with DebugSession(trunk, cells_library()) as session:
        session.go(20_000)
        session.inject("{clear: slow, gpu: a.4}")  # it struck in cycle 9000
        session.inject("{fault: dead, gpu: [a.3, a.5]}")
        with pytest.raises(DebugError, match="found 2023 letters; allowed are 2000"):
            session.inject(f"{{fault: dead, gpu: a.3{' ' * 2000}}}")
        session.branch(tmp_path / "first")
    with DebugSession(tmp_path / "first", cells_library()) as session:
        session.go(25_000)
        with pytest.raises(DebugError, match=r"slow is not active at a\.4 in cycle"):
            session.inject("{clear: slow, gpu: a.4}")
        session.inject("{clear: dead, gpu: a.3}")
        with pytest.raises(DebugError, match=r"dead is not active at a\.3 in cycle"):
            session.inject("{clear: dead, gpu: [a.5, a.3]}")
        session.branch(tmp_path / "second")
    with Recording(tmp_path / "second") as recording:
        struck = [json.loads(event.fields) for event in recording.events() if event.kind == "Struck"]
    assert [(each.get("fault"), each.get("clear"), each["gpu"]) for each in struck] == [
        ("slow", None, "a.4"),
        (None, "slow", "a.4"),
        ("dead", None, "a.3"),
        ("dead", None, "a.5"),
        (None, "dead", "a.3"),
    ]
    assert_replays(tmp_path / "second")


@pytest.mark.parametrize("earlier", [1, 10_000])
def test_a_branch_of_a_branch_has_what_was_done_to_that_later_or_then(
    trunk: Path, tmp_path: Path, earlier: int
) -> None:
    with DebugSession(trunk, cells_library()) as session:
        session.go(20_000)
        first = [session.set("a.3", "weight", 9), session.inject("{fault: dead, gpu: a.3}")]
        session.branch(tmp_path / "first")
    with DebugSession(tmp_path / "first", cells_library()) as session:
        session.go(first[0].cycle - earlier)
        second = session.set("a.3", "weight", 7)
        session.branch(tmp_path / "second")
    with Recording(tmp_path / "second") as recording:
        assert recording.about.changes == ([*first, second] if earlier == 1 else [second, *first])
        assert [event.kind for event in recording.events()].count("Struck") == 2
    assert_replays(tmp_path / "second")


def test_a_recording_is_not_written_over_by_its_own_branch(trunk: Path) -> None:
    before = trunk.read_bytes()
    with DebugSession(trunk, cells_library()) as session, pytest.raises(DebugError, match="name another file"):
        session.branch(trunk)
    assert trunk.read_bytes() == before


def test_a_recording_that_was_cut_off_has_branches_as_far_as_it_goes(trunk: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(trunk.read_bytes()[: trunk.stat().st_size * 9 // 10])
    with DebugSession(cut, cells_library()) as session:
        session.go(12_000)
        session.back()
        session.inject("{fault: dead, gpu: a.3}")
        session.branch(tmp_path / "branch")
        session.back()
    assert_replays(tmp_path / "branch")


def test_behind_the_end_of_one_that_was_cut_off_there_is_no_branch(trunk: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(trunk, tmp_path / "r"))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE about SET outcome = NULL")
        for table in ("messages", "events", "states"):
            db.execute(f"DELETE FROM {table} WHERE cycle > 8000")
    with DebugSession(path, cells_library()) as session:
        last = session.recording.last_cycle
        session.go(last)
        why = f"^the recording breaks off in cycle {last}; a branch begins before it$"
        with pytest.raises(DebugError, match=why):
            session.branch(tmp_path / "branch")
        assert not (tmp_path / "branch").exists()
        session.go(last - 1)
        session.branch(tmp_path / "branch")
        assert (tmp_path / "branch").exists()


def test_a_run_that_is_not_the_recorded_one_is_told(trunk: Path, tmp_path: Path) -> None:
    """As of a recording that another version of ringhil has made."""
    path = tmp_path / "r"
    path.write_bytes(trunk.read_bytes())
    with Recording(path) as recording:
        scenario = recording.about.scenario
    with sqlite3.connect(path) as db:
        header = db.execute("SELECT header FROM about").fetchone()[0]
        db.execute("UPDATE about SET header = ?", (header.replace("at: 9000", "at: 9001"),))
    assert "at: 9000" in scenario
    long = recorded(tmp_path / "long", WORK.replace("until: 40000", "until: 140000"))
    with sqlite3.connect(long) as db:
        header = db.execute("SELECT header FROM about").fetchone()[0]
        db.execute("UPDATE about SET header = ?", (header.replace("at: 9000", "at: 9001"),))
    with DebugSession(long, cells_library()) as session:
        session.go(5000)
        assert session.registers("a.0")["control"]
        session.go(100_000)
        with pytest.raises(
            DebugError, match=r"to cycle 65536 the run isn't what was recorded: another .*, or --firmware"
        ):
            session.registers("a.0")
    with DebugSession(path, cells_library()) as session:
        session.go(20_000)
        session.inject("{fault: dead, gpu: a.3}")
        with pytest.raises(DebugError, match="the run isn't what was recorded"):
            session.branch(tmp_path / "branch")


def test_a_branch_before_the_first_message_has_all_of_them(trunk: Path, tmp_path: Path) -> None:
    with DebugSession(trunk, cells_library()) as session:
        session.set("a.1", "weight", 3)
        session.branch(tmp_path / "branch")
    with Recording(tmp_path / "branch") as branch:
        assert next(branch.all()).number == 1
        found = RunReplay(branch, cells_library()).run()
    assert (found.difference, found.complete) == (None, True)


SHARED = """
seed: 3
server: {cards: {a: {gpus: 4}}, settings: {device_memory: 4096, default_slice: 700, context_switch: 150}}
sharing:
  applications:
    p: {gpu: a.2, steps: 6, compute: 1500, memory: 900}
    q: {gpu: a.2, steps: 6, compute: 1100, memory: 300}
"""


def test_stopping_between_a_message_and_a_turn_makes_no_difference(tmp_path: Path) -> None:
    """The engine runs a little further than to a message, and so far only when it is stopped there."""
    library = cells_library()
    recorded(tmp_path / "r", SHARED)
    with Recording(tmp_path / "r") as recording:
        told = list(recording.all())
    close = [
        (one.cycle, other.cycle)
        for one, other in pairwise(told)
        if 0 < abs(one.cycle - other.cycle) < 8 and "Turn" in (one.kind, other.kind) and one.kind != other.kind
    ]
    assert len(close) > 5
    for number, cycles in enumerate(close[:5]):
        with DebugSession(tmp_path / "r", library) as session:
            session.go(min(cycles) + 1)
            session.go(max(cycles) + 2)
            assert session.branch(tmp_path / f"b{number}") == "pass"
