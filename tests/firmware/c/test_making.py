"""`make -C firmware/c` without the compiler that it needs: one line, and nothing is made."""

import subprocess
import sys
from pathlib import Path

import pytest

from .library import FOLDER

NO_C = "no C compiler: CC is nowhere; install one, e.g. apt-get install gcc.  Stop."
CROSS = "pip install 'ringhil[board]', PYTHON=... says which Python has it.  Stop."
WITHOUT = {
    ("CC=nowhere",): NO_C,
    ("CC=nowhere", "board"): NO_C,
    ("cortex-m3", "CROSS=nowhere"): f"no cross compiler: CROSS is nowhere; {CROSS}",
    # A Python that sees no packages.
    ("cortex-m3", f"PYTHON={sys.executable} -I -S"): CROSS,
}


@pytest.mark.parametrize("given", WITHOUT, ids=" ".join)
def test_no_compiler_is_one_line(given: tuple[str, ...], tmp_path: Path) -> None:
    build = tmp_path / "build"
    command = ["make", "-s", "-C", str(FOLDER), f"BUILD={build}", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (said,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert said.startswith("Makefile:")
    assert said.endswith(WITHOUT[given])
    assert not build.exists()


def test_what_was_made_is_removed_without_one(tmp_path: Path) -> None:
    build = tmp_path / "build"
    build.mkdir()
    subprocess.run(["make", "-s", "-C", str(FOLDER), f"BUILD={build}", "CC=nowhere", "clean"], check=True)
    assert not build.exists()
