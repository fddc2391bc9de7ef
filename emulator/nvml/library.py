"""What programs find in place of a driver: the shared library `libnvidia-ml.so.1`, compiled when it is first wanted,
and the command `nvidia-smi`. Both are kept in the build cache."""

import hashlib
import shlex
import sys
from pathlib import Path

from ringhil.emulator.build.cache import BuildStore, cache_dir
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.in_c import made_of_c
from ringhil.emulator.files import reason_of

NAME = "libnvidia-ml.so.1"
COMMAND = "nvidia-smi"
CSRC = Path(__file__).resolve().parent / "csrc"
SOURCES = (CSRC / "asking.c", CSRC / "functions.c", CSRC / "unsupported.c")
_HEADERS = (CSRC / "asking.h", CSRC / "nvml_types.h")
_LINK = ("-shared", f"-Wl,-soname,{NAME}", "-Wl,-z,defs")


def library() -> Path:
    """The library's path; where it is, nothing else is. Raises BuildError."""
    return made_of_c(NAME, SOURCES, _HEADERS, _LINK)


def command_path() -> Path:
    """The path of `nvidia-smi`; where it is, nothing else is. Raises BuildError."""
    store = BuildStore(cache_dir())
    script = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -m ringhil.emulator.nvml.smi "$@"\n'
    key = hashlib.sha256(f"{COMMAND} {script}".encode()).hexdigest()
    try:
        entry = store.find(key)
        if entry is None:
            with store.claim(key) as claim:
                entry = claim.existing
                if entry is None:
                    made = claim.work / COMMAND
                    made.write_text(script)
                    made.chmod(0o755)
                    entry = claim.commit([made])
    except OSError as error:
        raise BuildError(f"can't use the cache directory {store.root}: {reason_of(error)}") from error
    return entry / COMMAND
