"""A seeded bug in a copy of the package, and an exploration that looks for it there."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ringhil.emulator as emulator
from ringhil.emulator.scenario import Scenario, load

from .bugs import SERVERS, Bug

ROOT = Path(emulator.__file__).resolve().parents[1]
_PACKAGES = ("emulator", "firmware", "protocol", "rtl")
_IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc")


@dataclass(frozen=True)
class Found:
    """`number`: of the first case that failed, the one without any fault being 0. None: no case has failed."""

    cases: int
    number: int | None
    key: str
    violated: str
    failed: int
    shrunk: Path | None

    @property
    def small(self) -> Scenario:
        """What is left of that case."""
        assert self.shrunk is not None
        return load(self.shrunk)

    @property
    def tries(self) -> int:
        """Plays that it took to make it small."""
        assert self.shrunk is not None
        found = re.search(r"^# Shrunk: (\d+) plays", self.shrunk.read_text(), re.MULTILINE)
        assert found is not None
        return int(found[1])


def copy_of_the_package(folder: Path, bug: Bug | None = None) -> Path:
    """`folder`, which then stands for `src`: what is in it is imported when it is in PYTHONPATH."""
    for package in _PACKAGES:
        shutil.copytree(ROOT / package, folder / "ringhil" / package, ignore=_IGNORED)
    if bug is not None:
        file = folder / "ringhil" / bug.file
        text = file.read_text()
        assert text.count(bug.before) == 1, f"{bug.file} has {text.count(bug.before)} times: {bug.before}"
        file.write_text(text.replace(bug.before, bug.after))
    return folder


def python(source: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """The interpreter, with the package of `source`."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )


def explore(source: Path, bug: Bug, out: Path) -> dict[str, Any]:
    """The document of `ringhil explore` with the faults among which the bug is to be found."""
    server = source / "server.yaml"
    server.write_text(SERVERS[bug.server])
    options = ["--faults", ",".join(bug.faults), "--number", bug.number, "--out", out, "--json", *bug.options]
    done = python(source, "-m", "ringhil.emulator", "explore", server, *options)
    assert done.returncode in (0, 1), done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def hunt(bug: Bug, folder: Path) -> Found:
    """Seed it, look for it, and make the first failing case small."""
    source = copy_of_the_package(folder / "src", bug)
    document = explore(source, bug, folder / "out")
    failing = document["failing"]
    if not failing:
        return Found(document["done"], None, "", "", 0, None)
    first = failing[0]
    shrunk = None if first["shrunk"] is None else Path(first["shrunk"])
    return Found(document["done"], first["number"], first["key"], first["violated"], len(failing), shrunk)
