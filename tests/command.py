"""`ringhil` as a user calls it: a process of its own."""

import subprocess
import sys
from typing import Any

RINGHIL = [sys.executable, "-m", "ringhil.emulator"]


def ringhil(*arguments: object, **how: Any) -> "subprocess.CompletedProcess[str]":
    """A command that has ended."""
    command = [*RINGHIL, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **how)


def refusal(*arguments: object, **how: Any) -> str:
    """The one line of a command that ends with exit code 2, and prints nothing."""
    done = ringhil(*arguments, **how)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line
