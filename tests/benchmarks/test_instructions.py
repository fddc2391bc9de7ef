"""An evaluation of a node stays as cheap as it has become: instructions, which load doesn't change."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow(part="benches")  # a build of its own, and a minute in valgrind
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
@pytest.mark.parametrize(("options", "most"), [((), 5400), (("--census",), 4700)], ids=("mix", "census"))
def test_an_evaluation_takes_no_more_instructions_than(options: tuple[str, ...], most: int) -> None:
    command = [sys.executable, "-m", "benchmarks.instructions", "--rounds=5", *options]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    found = re.match(r"([\d,]+) instructions an evaluation, ", said)
    assert found is not None, said
    assert most / 3 < int(found[1].replace(",", "")) <= most
