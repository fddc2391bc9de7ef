"""A few C files of ours, compiled when what they make is first wanted, and kept in the build cache."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from ringhil.emulator.build.cache import BuildStore, cache_dir
from ringhil.emulator.build.diagnostics import compiler_complaint
from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import run, unwinding_on_termination
from ringhil.emulator.build.toolchain import find_compiler

_FLAGS = ["-std=gnu11", "-O2", "-fPIC", "-pthread", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]


def made_of_c(name: str, sources: Sequence[Path], headers: Sequence[Path] = (), link: Sequence[str] = ()) -> Path:
    """The path of what `sources` make; where it is, nothing else is. `link`: how it is linked. Raises BuildError."""
    store = BuildStore(cache_dir())
    try:
        compiler = find_compiler(store.root / "versions")
        texts = [[file.name, file.read_text()] for file in (*sources, *headers)]
        key = hashlib.sha256(json.dumps([name, compiler.identity, _FLAGS, list(link), texts]).encode()).hexdigest()
        entry = store.find(key)
        if entry is None:
            with unwinding_on_termination(), store.claim(key) as claim:
                entry = claim.existing
                if entry is None:
                    # The compiler is one of C++, which has to be told of each file that it is C.
                    files = [word for file in sources for word in ("-x", "c", str(file))]
                    output = ["-x", "none", *link, "-o", str(claim.work / name)]
                    _compile(name, [*compiler.argv, *_FLAGS, *files, *output], claim.work)
                    entry = claim.commit([claim.work / name])
    except OSError as error:
        raise BuildError(f"can't use the cache directory {store.root}: {error.strerror}") from error
    return entry / name


def _compile(name: str, command: list[str], work: Path) -> None:
    (done,) = run([command], env=child_environment({"TMPDIR": str(work)}), cwd=work)
    if done.returncode:
        complaint = compiler_complaint(done.output) or f"the compiler failed (exit {done.returncode})"
        raise BuildError(f"{name}: {complaint}", done.output)
