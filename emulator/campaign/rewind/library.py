"""The C part, which puts a process's memory back: csrc/rewind.c."""

import ctypes
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.in_c import made_of_c

_SOURCE = Path(__file__).resolve().parent / "csrc" / "rewind.c"


@cache
def library() -> Any:
    """Its calls; None where there is nothing of the kind: another system, or no compiler."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return None
    try:
        # Calls keep the interpreter's lock: what it looks like is part of what is put back.
        calls = ctypes.PyDLL(str(made_of_c("rewind.so", [_SOURCE], link=["-shared"])))
    except (BuildError, OSError):
        return None
    calls.rewind_back.restype = None
    return calls
