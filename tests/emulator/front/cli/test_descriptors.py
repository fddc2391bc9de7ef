"""A descriptor named as a file is written to as it stands: what was in its file stays, and it stays that file."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.command import ringhil

RING = "server: {cards: {a: {gpus: 4}}, settings: {census_period: 600}}\nuntil: 4000\n"
COMMANDS = [
    "verify good.yaml --junit",
    "verify good.yaml --codequality",
    "run good.yaml --record",
    "export run.rec --format jsonl -o",
    "export run.rec --format pcapng -o",
    "export --format dissector -o",
    "explore good.yaml --faults dead --phases 1 --lasts left --number 1 --report",
    "rtl check --rule control.own --no-waves --junit",
]
NAMES = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/fd/{}", "/proc/self/fd/{}"]
# A process each: most of them are for `make soak`.
EACH = [
    pytest.param(command, name, marks=[pytest.mark.slow(part="benches")] if (row + column) % 10 else [])
    for row, command in enumerate(COMMANDS)
    for column, name in enumerate(NAMES)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario and its recording."""
    made = tmp_path_factory.mktemp("descriptors")
    (made / "good.yaml").write_text(RING)
    assert ringhil("run", "good.yaml", "--record", "run.rec", cwd=made).returncode == 0
    return made


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(("command", "name"), EACH)
def test_what_was_there_stays(folder: Path, tmp_path: Path, command: str, name: str) -> None:
    out = tmp_path / "out"
    with out.open("wb") as file:
        file.write(b"before\n")
        file.flush()
        number = file.fileno()
        is_stdout = "{}" not in name
        stdout = file if is_stdout else subprocess.PIPE
        done = ringhil(*command.split(), name.format(number), cwd=folder, stdout=stdout, pass_fds=[number])
        assert done.returncode == 0, done.stderr
        os.write(number, b"behind\n")
    content = out.read_bytes()
    assert content.startswith(b"before\n")
    assert content.endswith(b"behind\n")
    report = content.removeprefix(b"before\n").removesuffix(b"behind\n")
    assert len(report) > 100 or report.startswith(b"[")
    assert (" passed, 0 failed" in done.stderr) == (is_stdout and command.startswith("verify"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", NAMES[:3])
def test_standard_output_takes_one_thing(folder: Path, name: str) -> None:
    done = ringhil("verify", "good.yaml", "--json", "--junit", name, cwd=folder)
    assert done.returncode == 2
    assert done.stderr == "ringhil verify: --junit - and --json both write to standard output\n"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("verify good.yaml --junit", "Bad file descriptor"),
        ("run good.yaml --record", "Bad file descriptor"),
        ("run good.yaml --waves", "it is no file; name a file"),
        ("serve good.yaml --record", "it is no file; name a file"),
    ],
)
def test_a_descriptor_that_takes_nothing_is_refused(folder: Path, tmp_path: Path, command: str, why: str) -> None:
    file = tmp_path / "file"
    file.touch()
    with file.open("rb") as reading:
        name = f"/dev/fd/{reading.fileno()}"
        done = ringhil(*command.split(), name, cwd=folder, pass_fds=[reading.fileno()])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"ringhil: {name}: cannot be written: {why}\n"


def test_a_session_goes_through_a_descriptor(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with out.open("wb") as file:
        file.write(b"before\n")
        file.flush()
        words = ("card", "--record", f"/dev/fd/{file.fileno()}", "emulated://good.yaml#a", "info")
        done = ringhil(*words, cwd=folder, pass_fds=[file.fileno()])
    assert done.returncode == 0, done.stderr
    before, *rows = out.read_text().splitlines()
    assert before == "before"
    assert json.loads(rows[0])["ringhil"] == "session"
