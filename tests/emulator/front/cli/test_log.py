"""`-v` and `-vv` say on stderr what is done; results stay what they are, and without them nothing is said."""

import json
import re
from pathlib import Path

import pytest
from tests.command import ringhil

GOOD = "server: {cards: {a: {gpus: 4}}}\nworkload: {units: 8, size: 100}\n"


def said(folder: Path, *arguments: str) -> tuple[dict[str, object], list[str]]:
    """The one document on stdout, without what the engine tells of its speed; and the lines on stderr."""
    (folder / "s.yaml").write_text(GOOD)
    done = ringhil(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    document.pop("engine", None)
    return document, done.stderr.splitlines()


def test_a_run_says_what_it_loads_and_with_two_every_message(tmp_path: Path) -> None:
    quiet, nothing = said(tmp_path, "run", "s.yaml", "--json")
    once, lines = said(tmp_path, "-v", "run", "s.yaml", "--json")
    twice, all_lines = said(tmp_path, "-vv", "run", "s.yaml", "--json", "--record", "r.jsonl")
    assert quiet == once == twice
    assert nothing == []
    assert any("loaded s.yaml: seed 1, cards a (4 GPUs)" in line for line in lines)
    assert any(re.search(r"ended after \d+ cycles: pass", line) for line in lines)
    frames = [line for line in all_lines if re.search(r" \d+ a\.\d (to|from)_(cpu|firmware) [a-z]+, \d+ bytes", line)]
    recorded = (tmp_path / "r.jsonl").read_text().splitlines()[1:]
    assert len(frames) == len(recorded) > 40
    assert any(" from_cpu work, " in line for line in frames)
    assert not any("damaged" in line for line in frames), "nothing is: no link has a fault"


@pytest.mark.parametrize("command", [("verify", "."), ("explore", "s.yaml", "--number", "2")])
def test_processes_that_start_are_named(tmp_path: Path, command: tuple[str, ...]) -> None:
    _, lines = said(tmp_path, "-v", *command, "--json")
    assert any(re.search(r"process \d+ started", words) for words in lines), lines
