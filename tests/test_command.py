"""A forked `ringhil` can't be told from one that was started anew."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from tests import command

ONE_CARD = Path(__file__).resolve().parents[1] / "examples" / "one-card.yaml"
MISSING = "ringhil: missing.yaml: cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--version"], 0), (["run", "--help"], 0), (["run", "here.yaml"], 0), (["run", "missing.yaml"], 2), ([], 2)],
)
def test_a_fork_does_what_a_new_process_does(
    arguments: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here.yaml").write_text(ONE_CARD.read_text())
    environment = {**os.environ, "COLUMNS": "70"}
    forked = command.ringhil(*arguments, cwd=tmp_path, env=environment)
    monkeypatch.setenv(command.ANEW, "1")
    anew = command.ringhil(*arguments, cwd=tmp_path, env=environment)
    assert forked.returncode == code
    assert vars(forked) == vars(anew)
    assert forked.stdout + forked.stderr


def test_each_command_has_an_environment_and_a_folder_of_its_own(tmp_path: Path) -> None:
    assert command.refusal("run", "missing.yaml", cwd=tmp_path, env={}) == MISSING
    there = command.ringhil("--help").stdout  # of this environment, in which the process that forks was started
    assert command.ringhil("--help", env={**os.environ, "COLUMNS": "50"}).stdout != there
    assert command.ringhil("--help").stdout == there
    wide, narrow = (command.ringhil("--help", env={**os.environ, "COLUMNS": n}).stdout for n in ("200", "50"))
    assert max(map(len, wide.splitlines())) > 50 >= max(map(len, narrow.splitlines()))


def test_who_takes_too_long_is_ended_and_the_next_is_served(tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text("server: {cards: {a: {gpus: 64}}}\nworkload: {units: 1000000, size: 4096}\n")
    start = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        command.ringhil("run", file, timeout=1)
    assert time.monotonic() - start < 60
    assert command.refusal("run", "missing.yaml", cwd=tmp_path) == MISSING
