"""The first session with a board, as docs/howto/hil.md shows it, is what happens, and the board is asked as often."""

import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from tests.command import ringhil

from ringhil.protocol.line.firmware_loop import LoopType

from .boards import process

ROOT = Path(__file__).resolve().parents[3]
ASKED = re.compile(
    r"asked (\d+) times in this run: it began once,\s+had (\d+) frames and (\d+) timers, .*in (\d+) mess"
)


@pytest.mark.rest
def test_what_the_page_shows_and_says(program: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "howto" / "hil.md").read_text()
    section = page.partition("## A GPU's firmware outside")[2]
    found = re.search(r"```console\n\$ ringhil (run \S+ --firmware a\.1=)/dev/pts/3\n(.*?)```", section, re.DOTALL)
    assert found is not None
    with process(program) as port:
        options = [*f"{found[1]}{port}".split(), "--record", tmp_path / "r"]
        done = ringhil(*options, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    shown = [line.rstrip() for line in found[2].splitlines() if line != "..."]
    assert len(shown) > 3
    assert [line for line in map(str.rstrip, done.stdout.splitlines()) if line in shown] == shown
    assert done.stdout == ringhil("run", "examples/fail-over.yaml", cwd=ROOT).stdout

    said = ASKED.search(section)
    assert said is not None
    times, frames, timers, others = map(int, said.groups())
    with closing(sqlite3.connect(tmp_path / "r")) as db:
        rows = [json.loads(fields) for (fields,) in db.execute("SELECT fields FROM outside")]
    kinds = Counter(bytes.fromhex(row["asked"])[0] for row in rows)
    assert kinds.total() == times
    assert (kinds[LoopType.FRAME.code], kinds[LoopType.TIMER.code], kinds[LoopType.START.code]) == (frames, timers, 1)
    assert others == times - frames - timers - 1
