"""What pages show of sessions is what happens."""

import re
from pathlib import Path

from tests.command import ringhil

ROOT = Path(__file__).resolve().parents[1]


def test_the_session_of_the_readme() -> None:
    page = (ROOT / "README.md").read_text()
    ((words, shown),) = re.findall(r"```console\n\$ \.venv/bin/ringhil (run .*)\n([^$]*?)```", page)
    done = ringhil(*words.split(), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown
