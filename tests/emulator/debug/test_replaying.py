"""A recorded run comes out the same again; what was changed is the first difference, by message and field."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command import refusal, ringhil
from tests.emulator.scenario.samples import unhurried

from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.debug.replaying import RunReplay, RunReplayed
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.firmware_choice import OURS, Chosen, FirmwareChoice
from ringhil.emulator.trace.recording import Recording
from ringhil.firmware.actions import Action
from ringhil.firmware.boot import Boot, our_program
from ringhil.firmware.commands import Send
from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive, Statistics

SERVER = """
server:
  cards: {a: {gpus: 5, host_links: [0, 1]}, b: {gpus: 3}}
  boundary_links: [{from: [a.3, a.2], to: [b.1, b.2]}]
workload: {units: 30, size: 600}
timeline:
- {at: 20000, fault: dead, gpu: a.4}
- {at: 70000, clear: dead, gpu: a.4}
until: 90000
"""


def record(path: Path, text: str = SERVER, firmware: FirmwareChoice = OURS) -> Path:
    run = Run(loads(text), cells_library(), firmware=firmware)
    with RunRecorder(path, run, firmware=firmware.given) as recorder:
        recorder.end(run.run())
    run.close()
    return path


def replayed(path: Path, firmware: FirmwareChoice = OURS) -> RunReplayed:
    with Recording(path) as recording:
        return RunReplay(recording, cells_library(), firmware=firmware).run()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return record(tmp_path_factory.mktemp("recorded") / "r").read_bytes()


@pytest.fixture
def path(recorded: bytes, tmp_path: Path) -> Path:
    (tmp_path / "r").write_bytes(recorded)
    return tmp_path / "r"


def change(path: Path, text: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(text, values).rowcount != 0


def number(path: Path, query: str, *values: object) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute(query, values).fetchone()[0])


def test_what_failed_in_it_is_told(tmp_path: Path) -> None:
    path = record(tmp_path / "r", f"{SERVER}expect: [{{at: 50000, count: {{a: 5}}}}]\n")
    (failure,) = replayed(path).failures
    assert failure.startswith("line 10: expected at 50000: count of card a is 5")
    told = ringhil("replay", path)
    assert told.returncode == 0
    first, second = told.stdout.splitlines()
    assert first.endswith("; verdict fail")
    assert second == f"failed: {failure}"
    assert json.loads(ringhil("replay", path, "--json").stdout)["failures"] == [failure]


def test_it_is_identical(path: Path) -> None:
    found = replayed(path)
    assert found.difference is None
    assert (found.cycles, found.complete, found.verdict) == (90_000, True, "pass")
    assert found.messages == number(path, "SELECT count(*) FROM messages") > 1000


def test_all_kinds_of_what_happens_are_there(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        kinds = {kind for (kind,) in db.execute("SELECT DISTINCT kind FROM events")}
        (struck,) = db.execute("SELECT fields FROM events WHERE kind = 'Struck' ORDER BY number LIMIT 1").fetchone()
        states = [cycle for (cycle,) in db.execute("SELECT cycle FROM states")]
    assert {"Counted", "Elected", "Granted", "PeerUp", "SharedOut", "Struck"} <= kinds
    assert json.loads(struck) == {"at": 20_000, "fault": "dead", "gpu": "a.4"}
    assert states == [65_536, 90_000]


FAULTS = st.sampled_from(["dead", "hang", "skip_count", "double_count", "slow"])


@pytest.mark.rest
@settings(unhurried, max_examples=8)
@given(
    st.lists(st.tuples(st.integers(0, 20_000), FAULTS, st.integers(0, 4)), max_size=4, unique_by=lambda f: f[2]),
    st.integers(0, 99),
)
def test_random_faults_come_out_the_same(tmp_path: Path, faults: list[tuple[int, str, int]], seed: int) -> None:
    lines = "".join(f"- {{at: {at}, fault: {kind}, gpu: a.{gpu}}}\n" for at, kind, gpu in faults)
    text = f"seed: {seed}\n" + SERVER.split("timeline")[0] + f"timeline:\n{lines or '  []'}\nuntil: 25000\n"
    found = replayed(record(tmp_path / "r", text))
    assert found.difference is None
    assert found.cycles == 25_000


def test_two_recordings_are_the_same_file(recorded: bytes, tmp_path: Path) -> None:
    assert record(tmp_path / "again").read_bytes() == recorded


def test_a_message_that_was_changed_is_told_by_its_field(path: Path) -> None:
    row = number(path, "SELECT min(number) FROM messages WHERE kind = ? AND way = 0", Statistics.KIND)
    with closing(sqlite3.connect(path)) as db:
        cycle, frame = db.execute("SELECT cycle, frame FROM messages WHERE number = ?", (row,)).fetchone()
    message = codec.decode(frame, link=False)
    assert isinstance(message, Statistics)
    changed = codec.encode(replace(message, count=7))
    change(path, "UPDATE messages SET frame = ? WHERE number = ?", changed, row)
    difference = replayed(path).difference
    assert difference is not None
    assert (difference.number, difference.cycle) == (row, cycle)
    assert difference.fields == (("count", 7, message.count),)
    assert difference.text == f"cycle {cycle}, b.0 to_firmware statistics: count is {message.count}, recorded 7"


CHANGES: dict[str, tuple[str, str]] = {
    "one cycle later": ("UPDATE messages SET cycle = cycle + 1 WHERE number = 500", "; recorded cycle "),
    "at another GPU": ("UPDATE messages SET cell = 7 WHERE number = 500", "; recorded cycle "),
    "another port": ("UPDATE messages SET port = port + 1 WHERE number = 500", ": port is "),
    "damaged": ("UPDATE messages SET bad = 1 - bad WHERE number = 500", ": bad is "),
    "left out": ("DELETE FROM messages WHERE number = 500", ""),
    "what was said": ("""UPDATE events SET fields = '{"role":"entry","epoch":9}' WHERE number = (
        SELECT min(number) FROM events WHERE kind = 'Elected')""", "Elected: epoch is 1, recorded 9"),
    "who was struck": ("UPDATE events SET kind = 'Flapped' WHERE kind = 'Struck'", "found cycle 20000, the server: S"),
    "registers": ("UPDATE states SET hash = x'00' WHERE cycle = 65536", "cycle 65536: all messages are the same, and"),
    "no registers": ("DELETE FROM states WHERE cycle = 90000", "cycle 90000: all messages are the same, and"),
    "the last message": ("DELETE FROM messages WHERE number = (SELECT max(number) FROM messages)", "recorded"),
    "one more at the end": (
        "INSERT INTO messages SELECT number + 1000000, cycle, cell, way, port, bad, kind, frame FROM messages LIMIT 1",
        "found no more; recorded cycle ",
    ),
    "the verdict": ("""UPDATE about SET outcome = replace(outcome, '"pass"', '"fail"')""", "verdict is pass, recorded"),
    "no verdict": ("UPDATE about SET outcome = json_remove(outcome, '$.verdict')", "verdict is pass, recorded None"),
    "the seed": ("UPDATE about SET header = replace(header, 'seed: 1', 'seed: 2')", ""),
}  # fmt: skip


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("what", CHANGES)
def test_what_was_changed_is_the_first_difference(path: Path, what: str) -> None:
    text, says = CHANGES[what]
    before = path.read_bytes()
    change(path, text)
    assert path.read_bytes() != before
    difference = replayed(path).difference
    assert difference is not None
    assert says in difference.text


def test_one_that_breaks_off_is_compared_as_far_as_it_goes(path: Path) -> None:
    change(path, "UPDATE about SET outcome = NULL")
    change(path, "DELETE FROM messages WHERE number > 700")
    change(path, "DELETE FROM events WHERE number > 700")
    change(path, "DELETE FROM states")
    found = replayed(path)
    assert (found.difference, found.complete, found.verdict) == (None, False, None)
    assert found.messages == number(path, "SELECT count(*) FROM messages")
    change(path, "UPDATE messages SET port = 3 WHERE number = (SELECT max(number) FROM messages)")
    assert replayed(path).difference is not None


class Eager:
    """Ours, whose keepalives say another interval."""

    def __init__(self, boot: Boot) -> None:
        self._ours = our_program(boot)

    def __getattr__(self, name: str) -> Callable[..., list[Action]]:
        ours = getattr(self._ours, name)

        def act(*given: object) -> list[Action]:
            return [self._changed(action) for action in ours(*given) or []]

        return act

    @staticmethod
    def _changed(action: Action) -> Action:
        if isinstance(action, Send):
            message = codec.decode(action.frame, link=False)
            if isinstance(message, Keepalive):
                return replace(action, frame=codec.encode(replace(message, members=99)))
        return action


def test_other_firmware_differs_first_where_it_says_something_else(path: Path) -> None:
    difference = replayed(path, FirmwareChoice(("a.1=x",), {"a.1": Chosen("x", Eager, "")})).difference  # type: ignore[arg-type]
    assert difference is not None
    assert "a.1 from_firmware keepalive: members is 99, recorded " in difference.text


# ------------------------------------------------------------------------------------------------ the command line


def test_run_records_and_replay_compares(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVER)
    plain = json.loads(ringhil("run", "s.yaml", "--json", cwd=tmp_path).stdout)
    done = json.loads(ringhil("run", "s.yaml", "--record", "r.rec", "--json", cwd=tmp_path).stdout)
    assert done | {"engine": 0} == plain | {"engine": 0}
    again = ringhil("replay", "r.rec", cwd=tmp_path)
    assert again.returncode == 0
    assert again.stdout.startswith("identical: 90000 cycles, ")
    assert again.stdout.endswith(" messages; verdict pass\n")
    change(tmp_path / "r.rec", "UPDATE messages SET port = 3 WHERE number = 500")
    again = ringhil("replay", "r.rec", cwd=tmp_path)
    assert (again.returncode, again.stdout[:15]) == (1, "differs: cycle ")
    document = json.loads(ringhil("replay", "r.rec", "--json", cwd=tmp_path).stdout)
    assert document["difference"]["number"] == 500
    assert (document["hashes"], document["changed"]) == (done["hashes"], [])
    with closing(sqlite3.connect(tmp_path / "r.rec")) as db:
        header = json.loads(db.execute("SELECT header FROM about").fetchone()[0])
    header["hashes"]["firmware"] = "sha256:" + "5ca1ab1e" * 8
    change(tmp_path / "r.rec", "UPDATE about SET header = ?", json.dumps(header))
    said = ringhil("replay", "r.rec", cwd=tmp_path).stdout.splitlines()[1:]
    assert said == [f"recorded with firmware 5ca1ab1e5ca1; this is firmware {done['hashes']['firmware'][7:19]}"]
    assert document["difference"]["fields"] == [["port", 3, document["difference"]["fields"][0][2]]]


def test_a_run_with_files_is_replayed_from_anywhere(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    (here / "data").write_bytes(bytes(range(256)) * 9)
    (here / "s.yaml").write_text("server: {cards: {a: {gpus: 3}}}\nworkload: {data: data, size: 600}\n")
    assert ringhil("run", "s.yaml", "--record", "r.rec", cwd=here).returncode == 0
    assert ringhil("run", "s.yaml", "--data", "data", "--record", "d.rec", cwd=here).returncode == 0
    for name in ("r.rec", "d.rec"):
        done = ringhil("replay", here / name, cwd=there)
        assert (done.returncode, done.stdout[:10]) == (0, "identical:"), done.stderr


def test_a_file_that_is_no_recording_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVER)
    said = refusal("run", "s.yaml", "--record", "s.yaml", cwd=tmp_path)
    assert said == "ringhil: s.yaml: cannot be written: it is a file that is no recording; name another"
    assert (tmp_path / "s.yaml").read_text() == SERVER
    (tmp_path / "r.rec").touch()
    for _ in range(2):
        assert ringhil("run", "s.yaml", "--record", "r.rec", cwd=tmp_path).returncode == 0


def test_firmware_that_was_chosen_must_be_chosen_again(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVER)
    firmware = ("--firmware", "a.1=ringhil.firmware.boot:our_program")
    ringhil("run", "s.yaml", "--record", "r.rec", *firmware, cwd=tmp_path)
    assert refusal("replay", "r.rec", cwd=tmp_path).endswith(
        f"was recorded with {' '.join(firmware)}; found our firmware"
    )
    assert ringhil("replay", "r.rec", *firmware, cwd=tmp_path).returncode == 0


def test_recordings_that_cannot_be_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVER)
    (tmp_path / "r.rec").write_bytes(b"SQLite format 3\0" + bytes(5000))
    assert "r.rec: is " in refusal("replay", "r.rec", cwd=tmp_path)
    said = refusal("run", "s.yaml", "--record", "no/r.rec", cwd=tmp_path)
    assert said.startswith("ringhil: no/r.rec: cannot be written: ")


def test_a_run_whose_expectations_fail_replays_wherever_they_stand_in_its_file(tmp_path: Path) -> None:
    text = "\n\n# The recording's own text has no such lines.\n" + SERVER + "expect:\n- {end: true, count: {a: 1}}\n"
    path = record(tmp_path / "r", text)
    with Recording(path) as recording:
        assert recording.outcome is not None
        assert "expected at the end: count of card a is 1" in recording.outcome["failures"][0]
        outcome = recording.outcome
    assert replayed(path).difference is None
    # What another version of the judge adds to an item is no difference; what it says is.
    for item, same in ({**outcome["expect"][0], "ok": True}, False), ({"index": 0}, True):
        kept = [{**{key: outcome["expect"][0][key] for key in ("index", "ok", "expected", "found")}, **item}]
        change(path, "UPDATE about SET outcome = ?", json.dumps({**outcome, "expect": kept}))
        assert (replayed(path).difference is None) == same


@pytest.mark.parametrize(
    ("version", "newer"), [(2, ("clock", "samples", "hashes")), (3, ("samples", "hashes")), (4, ("hashes",))]
)
def test_one_of_an_earlier_version_replays(path: Path, version: int, newer: tuple[str, ...]) -> None:
    with closing(sqlite3.connect(path)) as db:
        header = json.loads(db.execute("SELECT header FROM about").fetchone()[0])
    kept = {name: value for name, value in header.items() if name not in newer}
    change(path, "UPDATE about SET header = ?", json.dumps(kept))
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    found = replayed(path)
    assert (found.difference, found.complete) == (None, True)


def test_what_breaks_off_before_its_first_message_is_not_called_identical(path: Path) -> None:
    change(path, "UPDATE about SET outcome = NULL")
    change(path, "DELETE FROM messages")
    change(path, "DELETE FROM events")
    line = refusal("replay", path)
    assert line == f"ringhil: {path}: breaks off before its first message; there is nothing to compare"
