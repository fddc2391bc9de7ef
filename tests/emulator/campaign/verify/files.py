"""Small scenarios with known verdicts, and the command that is tested, as a process."""

import os
import subprocess
from pathlib import Path

from tests import command

GOOD = """\
server: {cards: {a: {gpus: 4}}}
timeline: [{at: 3000, fault: dead, gpu: a.2}]
until: 9000
expect:
  - {at: 8900, count: {a: 3}}
"""
BAD = """\
name: two mistakes
server: {cards: {a: {gpus: 4}}}
until: 4000
expect:
  - {at: 3500, count: {a: 3}}
  - {at: 3600, count: {a: 4}}
  - {end: true, entry: {a: null}}
"""
WRONG = """\
server: {cards: {a: {gpus: 4}}}
timeline:
  - {at: 3000, fault: dead, gpu: a.9}
"""
SWEEP = """\
sweep:
  gpu: {gpus: a, except: [a.0]}
  at: [3000, 3100]
server: {cards: {a: {gpus: 4}}}
timeline: [{at: "${at}", fault: dead, gpu: "${gpu}"}]
until: 9000
expect:
  - {at: 8900, members: {a: [0, 1, 2]}}
"""  # right only for gpu=a.3
FILES = {"bad.yaml": BAD, "deep/sweep.yaml": SWEEP, "good.yaml": GOOD, "wrong.yaml": WRONG}


def write(folder: Path, **files: str) -> None:
    """Files by name without extension."""
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)


def write_all(folder: Path) -> None:
    """FILES, and others that are no scenarios."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "notes.txt").write_text("server: no\n")
    (folder / "ci.yml").write_text("jobs:\n  server: {port: 80}\n")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "h.yaml").write_text(GOOD)


def ringhil(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`ringhil ...` in `folder`."""
    return command.ringhil(*arguments, cwd=folder, env=os.environ | environment)
