"""docs/howto/stepping.md: a firmware that is mended in the middle of a run does what the page says of its `edit`.

Firmware and scenario are those of docs/tutorials/firmware.md, whose commands tests/test_docs_tutorials.py runs.
"""

import re
import subprocess
from pathlib import Path

import pytest
from tests.command import ringhil, started

PAGE = (Path(__file__).parents[4] / "docs" / "tutorials" / "firmware.md").read_text()
BUG, MENDED = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SERVER = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]


@pytest.mark.rest
def test_it_is_mended_from_there_as_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BUG)
    (tmp_path / "server.yaml").write_text(SERVER)
    run = ("run", "server.yaml", "--firmware", "a.0=mine:Program", "--record", "r")
    assert ringhil(*run, cwd=tmp_path).returncode == 1
    words = ("step", "r", "--firmware", "a.0=mine:Program")
    with started(*words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as step:
        assert step.stdin is not None
        assert step.stdout is not None
        step.stdin.write("go 12000\n")
        step.stdin.flush()
        step.stdout.readline()
        (tmp_path / "mine.py").write_text(MENDED)
        said = step.communicate("edit late.rec\ngo 10000\nedit fixed.rec\n")[0]
    assert "changed: mine" in said
    assert "late.rec: verdict fail" in said
    assert "fixed.rec: verdict pass" in said
    assert "cycle 15226, a.0: Deposed" in said
