"""A forked `ringhil` can't be told from one that was started anew."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests import command

ONE_CARD = Path(__file__).resolve().parents[1] / "examples" / "one-card.yaml"
LONG = "server: {cards: {a: {gpus: 64}}}\nworkload: {units: 1000000, size: 4096}\n"
MISSING = "ringhil: missing.yaml: cannot be read: No such file or directory"


@pytest.mark.rest(but_one_in=3)
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


@pytest.mark.rest
def test_a_fork_is_told_of_and_ended_as_a_new_process_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its streams are those that were given, under their numbers; who waits learns by which signal it went."""
    (tmp_path / "here.yaml").write_text(ONE_CARD.read_text())
    (tmp_path / "long.yaml").write_text(LONG)
    found = []
    for anew in (False, True):
        if anew:
            monkeypatch.setenv(command.ANEW, "1")
        with (tmp_path / f"out{anew}").open("w+") as out:
            words = ("run", "here.yaml", "--record", f"/dev/fd/{out.fileno()}")
            done = command.ringhil(*words, cwd=tmp_path, stderr=subprocess.STDOUT, pass_fds=[out.fileno()])
            out.seek(0)
            written = len(out.read())
        piped = command.ringhil("step", "missing", said="go 1\n", cwd=tmp_path)
        ended = []
        for number in (signal.SIGTERM, signal.SIGKILL):
            with command.started("-v", "run", "long.yaml", cwd=tmp_path, stderr=subprocess.PIPE) as running:
                assert running.stderr is not None
                assert running.poll() is None
                running.stderr.readline()
                with pytest.raises(subprocess.TimeoutExpired):
                    running.wait(0.1)
                running.send_signal(number)
                ended.append(running.wait(60))
            assert running.poll() == running.returncode
        found.append((done.returncode, done.stdout, written, vars(piped), ended))
    assert found[0] == found[1]
    assert found[0][-1] == [143, -signal.SIGKILL]
    assert found[0][2] > 1000


def test_commands_that_run_at_a_time_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(LONG)
    with command.started("run", "long.yaml", cwd=tmp_path, stderr=subprocess.PIPE) as long:
        assert command.refusal("run", "missing.yaml", cwd=tmp_path) == MISSING
        assert long.poll() is None
        long.kill()
    assert long.returncode == -signal.SIGKILL


def test_who_takes_too_long_is_ended_and_the_next_is_served(tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text(LONG)
    start = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        command.ringhil("run", file, timeout=1)
    assert time.monotonic() - start < 60
    assert command.refusal("run", "missing.yaml", cwd=tmp_path) == MISSING
