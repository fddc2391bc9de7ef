"""The shared library `libnvidia-ml.so.1`, compiled when it is first wanted and kept in the build cache."""

import hashlib
import json
from pathlib import Path

from ringhil.emulator.build.cache import BuildStore, cache_dir
from ringhil.emulator.build.diagnostics import compiler_complaint
from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import run, unwinding_on_termination
from ringhil.emulator.build.toolchain import find_compiler

NAME = "libnvidia-ml.so.1"
CSRC = Path(__file__).resolve().parent / "csrc"
SOURCES = (CSRC / "asking.c", CSRC / "functions.c")
_HEADERS = (CSRC / "asking.h", CSRC / "nvml_types.h")
_FLAGS = ["-std=gnu11", "-O2", "-fPIC", "-pthread", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
_LINK = ["-shared", f"-Wl,-soname,{NAME}", "-Wl,-z,defs"]


def library() -> Path:
    """The library's path; where it is, nothing else is. Raises BuildError."""
    store = BuildStore(cache_dir())
    try:
        compiler = find_compiler(store.root / "versions")
        sources = [[file.name, file.read_text()] for file in (*SOURCES, *_HEADERS)]
        key = hashlib.sha256(json.dumps([NAME, compiler.identity, _FLAGS, _LINK, sources]).encode()).hexdigest()
        entry = store.find(key)
        if entry is None:
            with unwinding_on_termination(), store.claim(key) as claim:
                entry = claim.existing
                if entry is None:
                    # The compiler is one of C++, which has to be told of each file that it is C.
                    sources_of_c = [word for file in SOURCES for word in ("-x", "c", str(file))]
                    output = ["-o", str(claim.work / NAME)]
                    _compile([*compiler.argv, *_FLAGS, *sources_of_c, *_LINK, *output], claim.work)
                    entry = claim.commit([claim.work / NAME])
    except OSError as error:
        raise BuildError(f"can't use the cache directory {store.root}: {error.strerror}") from error
    return entry / NAME


def _compile(command: list[str], work: Path) -> None:
    (done,) = run([command], env=child_environment({"TMPDIR": str(work)}), cwd=work)
    if done.returncode:
        complaint = compiler_complaint(done.output) or f"the compiler failed (exit {done.returncode})"
        raise BuildError(f"{NAME}: {complaint}", done.output)
