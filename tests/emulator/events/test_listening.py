"""What docs/howto/recordings.md says of listening to a live run is a program that runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def test_the_listener_of_the_page_runs_as_it_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    section = (ROOT / "docs/howto/recordings.md").read_text().partition("## Listen to a live run from Python\n")[2]
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    monkeypatch.chdir(ROOT)
    exec(compile(program, "recordings.md", "exec"), {})
    assert capsys.readouterr().out.startswith(shown)
    assert len(program.splitlines()) <= 10
