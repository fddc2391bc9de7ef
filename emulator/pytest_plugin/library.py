"""The engine's library, once for each process of pytest; processes that need the same build share one."""

from functools import cache
from pathlib import Path

from ringhil.emulator.build.node_rtl import NODE
from ringhil.emulator.engine.library import RTL, Library, cells_library


@cache
def library_of(rtl: Path | None, top: str | None) -> Library:
    """The library of the RTL in a directory; None: ours. Raises BuildError."""
    return cells_library(rtl or RTL, top=top or NODE)
