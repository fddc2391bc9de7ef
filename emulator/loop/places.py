"""Where in its source something in a library is, as far as the library and this machine's tools say."""

import re
import shutil
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import run
from ringhil.emulator.documents import one_line

_TOOLS = ("addr2line", "llvm-addr2line")
_LINE = re.compile(r"(?P<file>[^/\n]+):(?P<line>[1-9][0-9]*)( \(discriminator [0-9]+\))?")
_UNKNOWN = "??"
_SHOWN = 200  # letters


def place_in(library: Path, places: Sequence[int]) -> str:
    """The first of these offsets from where it is loaded: its function, and its line where the library was compiled
    with -g; the bare offset where nothing is known. Empty when there is none."""
    try:
        return _place(library, library.stat().st_mtime_ns, places[0]) if places else ""
    except OSError:
        return ""


@lru_cache(maxsize=1000)
def _place(library: Path, changed: int, place: int) -> str:
    bare = f"{library.name}+0x{place:x}"
    tool = next((found for name in _TOOLS if (found := shutil.which(name)) is not None), None)
    if tool is None:
        return bare
    try:
        (done,) = run([[tool, "-f", "-s", "-e", str(library), f"0x{place:x}"]], env=child_environment())
    except BuildError:
        return bare
    function, _, where = done.output.strip().partition("\n")
    line = _LINE.fullmatch(where.strip())
    if done.returncode or (function == _UNKNOWN and line is None):
        return bare
    found = one_line(function) if line is None else f"{line['file']}:{line['line']}, {one_line(function)}"
    return found[:_SHOWN]
