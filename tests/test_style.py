"""The code is clean under ruff and mypy --strict, and its generated files are not hand-edited."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_CODE = ["protocol", "firmware", "emulator", "tests", "benchmarks"]
_PACKAGES = ["ringhil.protocol", "ringhil.firmware", "ringhil.emulator"]


def _run(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_finds_nothing() -> None:
    _run("ruff", "check", *_CODE)


def test_formatting_is_ruffs() -> None:
    _run("ruff", "format", "--check", *_CODE)


def test_mypy_strict_finds_nothing() -> None:
    _run("mypy", *(word for package in _PACKAGES for word in ("-p", package)))
