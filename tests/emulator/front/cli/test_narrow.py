"""Tables on a narrow terminal and in a pipe have the same words: all headers, and every value whole."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.command import ringhil, started
from tests.emulator.campaign.explore.servers import RING

from ringhil.emulator.coverage.cross import Cross
from ringhil.emulator.coverage.functional_json import save

MANY = """\
server: {cards: {a-card-with-a-long-name: {gpus: 40, host_links: [0, 1, 2, 3, 4, 5, 6, 7]}}}
timeline:
  - {at: 60000, fault: switch_stuck_bypass, gpu: a-card-with-a-long-name.12}
until: 61000
"""
EXPLORE = "explore ring.yaml --faults dead,slow --phases 2"
COMMANDS = [
    "run many.yaml",
    "verify many.yaml",
    f"{EXPLORE} --store store",
    "explore query store",
    "explore query store --campaigns",
    "explore compare store store",
    "rtl check --rule control.own --no-waves",
    "rtl coverage functional.json",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("narrow")
    (made / "many.yaml").write_text(MANY)
    (made / "ring.yaml").write_text(RING)
    save(made / "functional.json", [Cross("crossed", {"a": ("x", "y")})], {"crossed": {("x",): 1}})
    assert ringhil(*EXPLORE.split(), "--store", "store", cwd=made).returncode == 0
    return made


def on_a_terminal(folder: Path, command: str, columns: int) -> str:
    """What it prints on a terminal of this width, without colours."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    process = started(*command.split(), cwd=folder, stdout=theirs, stderr=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    said = b""
    try:
        while chunk := os.read(ours, 1 << 16):
            said += chunk
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
    assert process.wait(timeout=300) in (0, 1)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode())


def words(text: str) -> list[str]:
    """Without what differs from run to run: times and rates."""
    return re.sub(r"[0-9.,]+ (s|a second)\b", "", text).split()


# One with a report of many columns every day, the others in `make soak`.
EACH = [c if c == "run many.yaml" else pytest.param(c, marks=pytest.mark.slow(part="benches")) for c in COMMANDS]


@pytest.mark.rest
@pytest.mark.parametrize("command", EACH)
def test_no_word_is_lost_on_a_narrow_terminal(folder: Path, command: str) -> None:
    piped = ringhil(*command.split(), cwd=folder, env={**os.environ, "COLUMNS": "40"})
    assert words(on_a_terminal(folder, command, 40)) == words(piped.stdout)


@pytest.mark.rest
def test_a_long_case_is_whole_in_a_pipe(folder: Path) -> None:
    drawn = "explore ring.yaml --depth 6 --parts random --random 8 --json"
    worst = json.loads(ringhil(*drawn.split(), cwd=folder).stdout)["total"]["worst"]
    assert len(worst) > 40
    assert worst in ringhil(*drawn.split()[:-1], cwd=folder).stdout


def test_a_row_stays_a_line_in_a_pipe_however_long(folder: Path) -> None:
    done = ringhil("run", "many.yaml", cwd=folder)
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["card", "GPUs", "working", "break", "share", "done", "censuses", "rejected", "suspects"]
    (members,) = (line for line in lines if line.startswith("CPU - "))
    assert ", ".join(f"a-card-with-a-long-name.{gpu}" for gpu in range(8)) in members
    assert len(members) > 200
