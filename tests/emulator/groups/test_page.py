"""docs/howto/sharing.md shows what there is, and its examples work."""

import errno
import re
from pathlib import Path

import pytest

from ringhil.emulator.host.groups.files import FILES
from ringhil.emulator.scenario.file.sharing import LONGEST_NAME, MOST_DEPTH, MOST_GROUPS

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "sharing.md").read_text().split("## Groups of applications")[1]


def test_every_file_stands_there_and_says_whether_it_is_written() -> None:
    rows = re.findall(r"^\| `([a-z.]+)` \| .+ \|(.*) \|$", PAGE, re.MULTILINE)
    assert {name: bool(written.strip()) for name, written in rows} == {
        name: f.write is not None for name, f in FILES.items()
    }


def test_limits_and_errors_are_those_of_the_tree() -> None:
    assert f"At most {MOST_DEPTH} groups in one another, {MOST_GROUPS} in all, names of up to {LONGEST_NAME}" in PAGE
    assert set(re.findall(r"\bE[A-Z]{4,}\b", PAGE)) <= {*errno.errorcode.values()}


def test_the_example_for_python_prints_what_the_session_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (yaml,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    (python,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "groups.yaml").write_text(yaml)
    exec(python, {})
    shown = capsys.readouterr().out.splitlines()
    session = re.findall(r"^[0-9]{7} name=.*$", PAGE, re.MULTILINE)
    assert shown[:2] == session[:2]
    assert shown[2].replace("memory.max=max slice=200", "memory.max=5242880000 slice=default") == session[2]
