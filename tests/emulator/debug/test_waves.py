"""Waves of a recorded run, all of it or a window: the same as of the run itself, and of no other."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.emulator.debug.test_questions import recorded
from tests.emulator.trace.waves.read_back import changes_in

from ringhil.emulator.debug.waves import window
from ringhil.emulator.trace.recording import Recording

SERVER = """
server:
  cards: {a: {gpus: 4, host_links: [0, 1]}}
  settings: {census_period: 900}
workload: {units: 8, size: 600}
until: 9000
timeline:
- {at: 3000, fault: dead, gpu: a.2}
"""
Changes = dict[str, list[tuple[int, int]]]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("waves") / "r", SERVER)


@pytest.fixture
def copy(path: Path, tmp_path: Path) -> Path:
    found = tmp_path / "copy"
    found.write_bytes(path.read_bytes())
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Changes:
    """As `run --waves` writes them."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "server.yaml").write_text(SERVER)
    assert ringhil("run", "server.yaml", "--waves", "w.fst", cwd=folder).returncode == 0
    return changes_in(folder / "w.fst")


def change(path: Path, text: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(text)


def held(changes: list[tuple[int, int]], cycle: int) -> int:
    return next(value for at, value in reversed(changes) if at <= cycle)


def test_without_a_moment_it_is_all_of_the_run(path: Path, tmp_path: Path, whole: Changes) -> None:
    done = ringhil("export", path, "--format", "fst", "-o", tmp_path / "w.fst", "--json")
    assert json.loads(done.stdout) == {
        "schema": "export/1", "format": "fst", "file": str(tmp_path / "w.fst"),
        "first": 0, "last": 9000, "complete": True,
    }  # fmt: skip
    assert changes_in(tmp_path / "w.fst") == whole


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("around", "cycles", "wanted"), [(3000, 400, (2800, 3200)), (50, 400, (0, 400)), (8990, 2000, (7990, 9000))]
)
def test_a_window_has_what_the_wires_were_there(
    path: Path, tmp_path: Path, whole: Changes, around: int, cycles: int, wanted: tuple[int, int]
) -> None:
    arguments = ("--format", "fst", "-o", tmp_path / "w.fst", "--around", around, "--cycles", cycles)
    done = ringhil("export", path, *arguments)
    assert done.stdout == f"cycles {wanted[0]} to {wanted[1]}\n", done.stderr
    found = changes_in(tmp_path / "w.fst")
    first, last = wanted
    assert found.keys() == whole.keys()
    for name, all_of_it in whole.items():
        inside = [(at, value) for at, value in all_of_it if first < at <= last]
        assert [each for each in found[name] if each[0] > first] == inside
        assert held(found[name], first) == held(all_of_it, first)
    assert any(len(each) > 1 for each in found.values())


def test_a_recording_that_breaks_off_is_shown_as_far_as_it_goes(copy: Path, tmp_path: Path, whole: Changes) -> None:
    change(copy, "UPDATE about SET outcome = NULL")
    change(copy, "DELETE FROM messages WHERE cycle > 4000")
    change(copy, "DELETE FROM events WHERE cycle > 4000")
    change(copy, "DELETE FROM states")
    with Recording(copy) as recording:
        _, last = window(recording, None, 1)
    done = ringhil("export", copy, "--format", "fst", "-o", tmp_path / "w.fst")
    assert "breaks off; what there is was written" in done.stderr
    assert 3000 < last <= 4000
    for name, changes in changes_in(tmp_path / "w.fst").items():
        assert changes == [each for each in whole[name] if each[0] <= last]


def test_what_is_played_otherwise_is_told_and_not_shown(copy: Path, tmp_path: Path) -> None:
    change(copy, "UPDATE messages SET port = 1 - port WHERE number = (SELECT min(number) FROM messages WHERE way = 0)")
    line = refusal("export", copy, "--format", "fst", "-o", tmp_path / "w.fst")
    assert "no waves: " in line
    assert "port is " in line
    assert [each.name for each in tmp_path.iterdir()] == ["copy"]


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("'$.rtl', 'another'", "was recorded on the RTL another; this one is "),
        ("'$.firmware', json('[\"a.0=mine:Program\"]')", "was recorded with --firmware a.0=mine:Program; found our"),
        ("'$.edited', 500", "its firmware was exchanged in cycle 500"),
        ('\'$.changes\', json(\'[{"cycle": 5, "gpu": "z.9", "set": "x"}]\')', "about: changes: found GPU 'z.9'"),
    ],
)
def test_a_run_that_cannot_be_played_as_it_was_is_refused(copy: Path, tmp_path: Path, header: str, says: str) -> None:
    change(copy, f"UPDATE about SET header = json_set(header, {header})")
    assert says in refusal("export", copy, "--format", "fst", "-o", tmp_path / "w.fst")
    assert [each.name for each in tmp_path.iterdir()] == ["copy"]


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--format", "fst", "-o", "{t}/w.fst", "--around", "9001"], "ends in cycle 9000; found 9001"),
        (["--format", "fst", "-o", "{t}/w.fst", "--around", "-1"], "found '-1'; allowed is a whole number from 0 to"),
        (["--format", "fst", "-o", "{t}/w.fst", "--cycles", "5"], "--cycles: wanted is --around CYCLE, too"),
        (["--format", "jsonl", "-o", "{t}/x", "--around", "5"], "--around: is for --format fst; found --format jsonl"),
        (["--format", "fst", "-o", "-"], "-: cannot be written: it is no file"),
        (["--format", "fst", "-o", "/dev/null"], "/dev/null: cannot be written: it is no file"),
        (["--format", "fst", "-o", "{t}/no/w.fst"], "no/w.fst: cannot be written"),
    ],
)
def test_wrong_input_is_one_line(path: Path, tmp_path: Path, arguments: list[str], says: str) -> None:
    assert says in refusal("export", path, *(each.replace("{t}", str(tmp_path)) for each in arguments))
    assert not list(tmp_path.iterdir())
