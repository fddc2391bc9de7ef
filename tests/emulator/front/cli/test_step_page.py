"""docs/howto/stepping.md: the firmware, the scenario and the edit of its tutorial do what it says."""

import re
import subprocess
from pathlib import Path

import pytest
from tests.command import ringhil, started

PAGE = (Path(__file__).parents[4] / "docs" / "howto" / "stepping.md").read_text().split("## An election bug")[1]
BUG, MENDED = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SERVER = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
CONSOLE = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(BUG)
    (tmp_path / "server.yaml").write_text(SERVER)
    return tmp_path


def _mended(folder: Path) -> None:
    old = re.search(r"    def on_keepalive.*?return actions\n", BUG, re.DOTALL)
    assert old is not None
    (folder / "mine.py").write_text(BUG.replace(old[0], MENDED))


def _untimed(text: str) -> str:
    return re.sub(r", [0-9.]+ s$", "", text.strip(), flags=re.MULTILINE)


def test_the_bug_is_found_as_the_page_says(folder: Path) -> None:
    (asked, said), (again, passed) = (CONSOLE[at].removeprefix("$ ringhil ").split("\n", 1) for at in (0, 2))
    assert "passed, 0 failed" in ringhil("verify", "server.yaml", cwd=folder).stdout
    assert _untimed(ringhil(*asked.split(), cwd=folder).stdout) == _untimed(said)
    script = "until kind == Elected and gpu == a.1\nwhy role\nback-until gpu == a.0 and way == to_firmware\nwho state\n"
    (folder / "script").write_text(script + "step\n" * 3 + "diff 771\n")
    step = ("step", "ringhil-verify/server/run.rec", "--firmware", "a.0=mine:Program", "--script", "script")
    shown = ringhil(*step, cwd=folder).stdout
    assert "cycle 15319 Lapsed" in shown
    assert CONSOLE[1] in shown
    assert shown.rstrip().endswith("a.0.firmware.made.electors.entry.lease_until: 18058 -> 19052")
    _mended(folder)
    assert _untimed(ringhil(*again.split(), cwd=folder).stdout) == _untimed(passed)


def test_it_is_mended_from_there_as_the_page_says(folder: Path) -> None:
    assert ringhil("run", "server.yaml", "--firmware", "a.0=mine:Program", "--record", "r", cwd=folder).returncode == 1
    words = ("step", "r", "--firmware", "a.0=mine:Program")
    with started(*words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as step:
        assert step.stdin is not None
        assert step.stdout is not None
        step.stdin.write("go 12000\n")
        step.stdin.flush()
        step.stdout.readline()
        _mended(folder)
        said = step.communicate("edit late.rec\ngo 10000\nedit fixed.rec\n")[0]
    assert "changed: mine" in said
    assert "late.rec: verdict fail" in said
    assert "fixed.rec: verdict pass" in said
    assert "cycle 15226, a.0: Deposed" in said
