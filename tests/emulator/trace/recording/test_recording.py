"""A recording gives back what was written, grows in batches, and says what is wrong with a file that is none."""

import gc
import os
import resource
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.scenario.samples import unhurried

from ringhil.emulator.events.hardware import FRAMES, FrameSeen
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import About, RecordedState, Recording, RecordingWriter
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.emulator.trace.recording.writer import Chain

ABOUT = About(ringhil="1", rtl="sha256:0", name="n", scenario="server: {}\n", firmware=["a.1=x"], nodes=[])
GPUS = ["a.0", "a.1"]
FRAMES_SEEN = st.builds(
    lambda kind, *values: kind(*values),
    st.sampled_from(FRAMES),
    st.integers(0, 2**62),
    st.integers(0, 1),
    st.integers(0, 3),
    st.binary(max_size=80),
    st.booleans(),
)
EVENTS = st.tuples(
    st.integers(0, 2**62),
    st.none() | st.integers(0, 1),
    st.sampled_from(["Counted", "Struck"]),
    st.dictionaries(st.sampled_from("ab"), st.integers() | st.text()),
)


def written(path: Path, happened: list[Any], ended: bool = True) -> None:
    with RecordingWriter(path, ABOUT, GPUS) as writer:
        for each in happened:
            if isinstance(each, FrameSeen):
                writer.message(each)
            else:
                writer.event(*each)
        writer.state(7, b"state")
        if ended:
            writer.end({"verdict": "pass"})


def frame(cycle: int) -> FrameSeen:
    return FRAMES[cycle % 4](cycle, cycle % 2, cycle % 3, cycle.to_bytes(8), cycle % 5 == 0)


@unhurried
@given(st.lists(FRAMES_SEEN | EVENTS, max_size=20), st.booleans())
def test_what_was_written_is_read_in_its_order(tmp_path: Path, happened: list[Any], ended: bool) -> None:
    written(tmp_path / "r", happened, ended)
    with Recording(tmp_path / "r") as found:
        messages, events = list(found.messages()), list(found.events())
        assert found.about == ABOUT
        assert found.gpus == GPUS
        assert found.complete is ended
        assert len(found) == len(messages)
    for number, each in enumerate(happened, 1):
        if isinstance(each, FrameSeen):
            read = messages.pop(0)
            kind = each.frame[0] if each.frame else 0
            way = WAYS.index(each.WAY)
            assert read == (number, each.cycle, each.cell, way, each.port, each.bad, kind, each.frame)
        else:
            assert events.pop(0)[:4] == (number, *each[:3])
    assert (messages, events) == ([], [])


@unhurried
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=12))
def test_the_last_of_a_cycle_is_found_among_messages_and_events(tmp_path: Path, steps: list[tuple[int, bool]]) -> None:
    """Wherever they lie in their tables. `steps`: cycles from one to the next, and whether it is an event."""
    cycle, happened = 0, list[Any]()
    for further, is_event in steps:
        cycle += further
        happened.append((cycle, None, "Struck", {}) if is_event else FRAMES[0](cycle, 0, 0, b"x" * 8, False))
    written(tmp_path / "r", happened)
    with Recording(tmp_path / "r") as found:
        every = list(found.all())
        for at in range(-1, cycle + 2):
            assert found.at(at) == next((told for told in reversed(every) if told.cycle <= at), None)


def test_one_that_goes_on_has_the_states_of_before(tmp_path: Path) -> None:
    """And what goes on goes into the hashes with them."""
    chain = Chain()
    with RecordingWriter(tmp_path / "trunk", ABOUT, GPUS) as trunk:
        for cycle in (5, 15, 25, 35):
            seen = frame(cycle)
            trunk.message(seen)
            trunk.state(cycle + 5, b"state %d" % cycle)
            if cycle < 20:
                way = WAYS.index(seen.WAY)
                chain.message(cycle, seen.cell, way, seen.port, seen.bad, seen.frame)
                chain.state(cycle + 5, b"state %d" % cycle)
        trunk.end({})
    with RecordingWriter(tmp_path / "branch", ABOUT, GPUS) as branch:
        branch.go_on(tmp_path / "trunk", 2, chain, 21)
        for cycle in (25, 35):
            branch.message(frame(cycle))
            branch.state(cycle + 5, b"state %d" % cycle)
        branch.end({})
    with Recording(tmp_path / "trunk") as one, Recording(tmp_path / "branch") as other:
        assert [state.cycle for state in other.states()] == [10, 20, 30, 40]
        assert list(other.states()) == list(one.states())
        assert list(other.all()) == list(one.all())


def test_a_long_one_is_read_in_parts(tmp_path: Path) -> None:
    written(tmp_path / "r", [frame(cycle) for cycle in range(20_000)])
    with Recording(tmp_path / "r") as found:
        assert [m.cycle for m in found.messages()] == list(range(20_000))
        assert [m.number for m in found.messages(1999, 2001)] == [1999, 2000, 2001]
        assert found.last_cycle == 19_999
        assert [m.cycle for m in found.messages_back()] == list(range(19_999, -1, -1))
        assert [m.number for m in found.messages_back(2)] == [2, 1]


def test_messages_and_events_come_in_one_order_forwards_and_backwards(tmp_path: Path) -> None:
    happened = [frame(n) if n % 3 else (n, None, "Struck", {}) for n in range(3000)]
    written(tmp_path / "r", happened)
    with Recording(tmp_path / "r") as found:
        forwards, backwards = list(found.all()), list(found.all_back())
    assert [each.cycle for each in forwards] == list(range(3000))
    assert backwards == forwards[::-1]


def test_the_same_run_gives_the_same_file(tmp_path: Path) -> None:
    for name in "ab":
        written(tmp_path / name, [frame(cycle) for cycle in range(9000)])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("changed", [3, 8999])
def test_each_message_goes_into_the_hashes(tmp_path: Path, changed: int) -> None:
    hashes = set()
    for change in (False, True):
        frames = [frame(cycle) for cycle in range(9000)]
        if change:
            frames[changed] = FRAMES[0](changed, 0, 0, b"another!")
        written(tmp_path / "r", frames)
        with Recording(tmp_path / "r") as found:
            hashes |= {state.hash for state in found.states()}
    assert len(hashes) == 2


def test_a_state_goes_into_its_hash_and_all_later_ones(tmp_path: Path) -> None:
    found: list[list[RecordedState]] = []
    for state in (b"a", b"b"):
        with RecordingWriter(tmp_path / "r", ABOUT, GPUS) as writer:
            writer.state(1, state)
            writer.state(2, b"same")
        with Recording(tmp_path / "r") as recording:
            found.append(list(recording.states()))
    assert all(one.hash != other.hash for one, other in zip(*found, strict=True))


def test_one_whose_writer_was_killed_has_all_batches(tmp_path: Path) -> None:
    path, ends = tmp_path / "r", os.pipe()
    child = os.fork()
    if child == 0:
        writer = RecordingWriter(path, ABOUT, GPUS)
        for cycle in range(20_000):
            writer.message(frame(cycle))
        os.write(ends[1], b"x")
        signal.pause()
    os.read(ends[0], 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with Recording(path) as found:
        assert not found.complete
        assert [m.cycle for m in found.messages()] == list(range(2 * 8192))


HEAD = 16 * 8192  # bytes: where all tables begin, and the first rows


@pytest.mark.rest
@unhurried
@given(st.integers(0, 10**6))
def test_one_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path, at: int) -> None:
    """Nothing else than what was written, without a gap; the more of the file is there the more is read."""
    path, cut = tmp_path / "r", tmp_path / "cut"
    if not path.exists():
        written(path, [frame(n) if n % 3 else (n, None, "split", {"units": n}) for n in range(3000)])
    whole = path.read_bytes()
    at %= len(whole)
    cut.write_bytes(whole[:at])
    with Recording(path) as recording:
        everything = list(recording.all())
    found, file = [], cut
    with suppress(RecordingError), Recording(cut) as recording:
        found, file = list(recording.all()), recording.file
        assert not recording.complete or found == everything
    assert found == everything[: len(found)]
    assert len(found) >= len(everything) * (at - HEAD) / len(whole)
    assert file == cut or not file.exists()
    assert cut.read_bytes() == whole[:at]


def test_of_one_that_was_cut_off_the_last_row_that_is_there_is_read(tmp_path: Path) -> None:
    written(tmp_path / "r", [frame(cycle) for cycle in range(20_000)])
    for at in (300_000, 500_001):
        whole, last = (tmp_path / "r").read_bytes(), 0
        (tmp_path / "cut").write_bytes(whole[:at])
        (tmp_path / "filled").write_bytes(whole[: at - at % 8192].ljust(len(whole), b"\0"))
        with closing(sqlite3.connect(tmp_path / "filled")) as db, suppress(sqlite3.DatabaseError):
            for row in db.execute("SELECT number FROM messages NOT INDEXED ORDER BY number"):
                last = row[0]
        assert 1000 < last < 20_000
        with Recording(tmp_path / "cut") as recording:
            assert recording.last_number == last


def test_questions_are_answered_by_index(tmp_path: Path) -> None:
    written(tmp_path / "r", [frame(1), (2, 0, "Counted", {})])
    asked = list[str]()
    with Recording(tmp_path / "r") as recording:
        recording._db.set_trace_callback(asked.append)
        list(recording.messages_of(1, 1, 5))
        recording.last_event("Counted")
        recording.events_of(["Counted", "Struck"], 1, 5)
        recording._db.set_trace_callback(None)
        plans = [str(recording._db.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()) for query in asked]
    assert len(plans) == 3
    for plan, index in zip(plans, ("messages_by_cell", "events_by_kind", "events_by_kind"), strict=True):
        assert f"USING INDEX {index}" in plan


def test_one_of_another_version_is_refused_also_when_it_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "r"
    written(path, [frame(cycle) for cycle in range(3000)])
    sql("PRAGMA user_version = 6")(path)
    path.write_bytes(path.read_bytes()[:-20_000])
    with pytest.raises(RecordingError, match="is version 6 of the format"):
        Recording(path)


def test_a_process_that_was_forked_leaves_what_is_left_of_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "r"
    written(path, [frame(cycle) for cycle in range(3000)])
    path.write_bytes(path.read_bytes()[:-20_000])
    with Recording(path) as recording:
        child = os.fork()
        if child == 0:
            recording.close()
            del recording
            gc.collect()
            os._exit(0)
        os.waitpid(child, 0)
        assert recording.file.exists()
        assert len(list(recording.messages())) == len(recording)
    assert not recording.file.exists()


def test_one_that_was_interrupted_has_all(tmp_path: Path) -> None:
    def interrupted() -> None:
        with RecordingWriter(tmp_path / "r", ABOUT, GPUS) as writer:
            writer.message(frame(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with Recording(tmp_path / "r") as found:
        assert (len(found), found.complete) == (1, False)


def sql(text: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as db:
            db.executescript(text)

    return change


WRONG: dict[str, Callable[[Path], Any]] = {
    "is no recording; name a file that": lambda path: path.write_text("hello"),
    "cannot be read: No such file": lambda path: path.unlink(),
    "is version 6 of the format; this program reads 2, 3, 4, 5": sql("PRAGMA user_version = 6"),
    "is no recording": sql("PRAGMA application_id = 5"),
    "found []; needed is 'ringhil' as well": sql("UPDATE about SET header = '{}'"),
    "about: not JSON": sql("UPDATE about SET header = 'x'"),
    "outcome: found 'x'; wanted is a JSON document": sql("UPDATE about SET outcome = 'x'"),
    "is damaged: no such table": sql("DROP TABLE gpus"),
    "gpus: found": sql("UPDATE gpus SET name = x'80' WHERE cell = 1"),
    "is damaged": lambda path: path.write_bytes(path.read_bytes()[:9000]),
}


@pytest.mark.parametrize("says", WRONG)
def test_what_is_no_recording_is_one_line(tmp_path: Path, says: str) -> None:
    path = tmp_path / "r"
    written(path, [frame(cycle) for cycle in range(3000)])
    WRONG[says](path)
    with pytest.raises(RecordingError) as error:
        Recording(path)
    assert str(error.value).startswith(f"{path}: ")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@unhurried
@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=4))
def test_any_damage_is_told_or_makes_no_difference_to_reading(tmp_path: Path, at: int, data: bytes) -> None:
    path = tmp_path / "r"
    path.unlink(missing_ok=True)  # of the example before: what is no recording any more would not be replaced
    written(path, [frame(cycle) for cycle in range(300)])
    whole = bytearray(path.read_bytes())
    at %= len(whole)
    whole[at : at + len(data)] = data
    path.write_bytes(whole)
    try:
        with Recording(path) as found:
            assert len(list(found.messages())) >= 0
            assert len(list(found.events())) >= 0
            assert len(list(found.states())) >= 0
    except RecordingError as error:
        assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "change",
    [
        "messages SET cell = 2 WHERE number = 3",
        "messages SET way = 4 WHERE number = 3",
        "messages SET frame = 'x' WHERE number = 3",
        "messages SET cycle = 'x' WHERE number = 3",
        "events SET fields = '[]'",
        "events SET fields = '{'",
        "events SET cell = -1",
        "events SET kind = x'05'",
        "states SET hash = 'x'",
    ],
)
def test_a_row_that_none_can_be_is_told(tmp_path: Path, change: str) -> None:
    written(tmp_path / "r", [*map(frame, range(5)), (3, None, "Struck", {})])
    sql(f"UPDATE {change}")(tmp_path / "r")
    with (
        Recording(tmp_path / "r") as found,
        pytest.raises(RecordingError, match=r": is damaged: (message|event|state) \d+: found \("),
    ):
        assert [*found.messages(), *found.events(), *found.states()]


def test_a_place_that_is_no_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path, says in ((tmp_path / "fifo", "it is no file"), (tmp_path, "it is a folder"), (tmp_path / "no" / "r", "")):
        with pytest.raises(RecordingError, match=f"^{path}: cannot be written: .*{says}"):
            RecordingWriter(path, ABOUT, GPUS)


@pytest.mark.parametrize("room", [0, 4096, 20_000])
def test_a_disk_without_room_for_a_beginning_leaves_what_was_there(tmp_path: Path, room: int) -> None:
    path = tmp_path / "r.rec"
    written(path, [frame(1)])
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    assert len(before) > room
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        for place in (path, tmp_path / "new.rec"):
            with pytest.raises(RecordingError, match=f"{place.name}: cannot be written"):
                RecordingWriter(place, ABOUT, GPUS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.rec"]


def test_two_that_write_to_one_place_are_told(tmp_path: Path) -> None:
    first = RecordingWriter(tmp_path / "r", ABOUT, GPUS)
    with RecordingWriter(tmp_path / "r", ABOUT, GPUS) as second:
        second.end({})
    first.event(1, None, "CountAsked", {"card": 0})
    with pytest.raises(RecordingError, match=r"r: cannot be written: something else has put its own file there"):
        first.save()
    with Recording(tmp_path / "r") as found:
        assert found.complete


def test_a_link_leads_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    written(tmp_path / "link", [])
    assert (tmp_path / "link").is_symlink()
    with Recording(tmp_path / "real") as found:
        assert found.complete


@pytest.mark.parametrize(
    ("length", "changed"), [(0, None), (5, None), (5, 0), (5, 4), (2500, 999), (2500, 1000), (2500, 2499)]
)
@pytest.mark.parametrize("table", ["messages", "events"])
def test_the_first_row_that_is_unlike_is_found(tmp_path: Path, length: int, changed: int | None, table: str) -> None:
    """Pages have 1,000 rows."""
    happened = [frame(n) if table == "messages" else (n, None, "Counted", {"n": n}) for n in range(length)]
    written(tmp_path / "one", happened)
    if changed is not None:
        happened[changed] = frame(changed + 1) if table == "messages" else (changed, None, "Counted", {"n": -1})
    written(tmp_path / "other", happened)
    with Recording(tmp_path / "one") as one, Recording(tmp_path / "other") as other:
        assert one.unlike(other) == other.unlike(one) == (None if changed is None else changed + 1)


def test_a_row_that_one_has_not_is_unlike(tmp_path: Path) -> None:
    written(tmp_path / "one", [frame(n) for n in range(1000)])
    written(tmp_path / "other", [*(frame(n) for n in range(1000)), (1000, None, "Counted", {})])
    with Recording(tmp_path / "one") as one, Recording(tmp_path / "other") as other:
        assert one.unlike(other) == other.unlike(one) == 1001


@pytest.mark.parametrize("event", [0, 1])
def test_of_unlike_messages_and_events_the_first_counts(tmp_path: Path, event: int) -> None:
    for name in (1, 2):
        happened: list[Any] = [frame(name), frame(name), frame(0)]
        happened[event] = (name, None, "Counted", {})
        written(tmp_path / str(name), happened)
    with Recording(tmp_path / "1") as one, Recording(tmp_path / "2") as other:
        assert one.unlike(other) == other.unlike(one) == 1
