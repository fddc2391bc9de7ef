"""The shared library `libnvidia-ml.so.1`, compiled when it is first wanted and kept in the build cache."""

from pathlib import Path

from ringhil.emulator.build.in_c import made_of_c

NAME = "libnvidia-ml.so.1"
CSRC = Path(__file__).resolve().parent / "csrc"
SOURCES = (CSRC / "asking.c", CSRC / "functions.c", CSRC / "unsupported.c")
_HEADERS = (CSRC / "asking.h", CSRC / "nvml_types.h")
_LINK = ("-shared", f"-Wl,-soname,{NAME}", "-Wl,-z,defs")


def library() -> Path:
    """The library's path; where it is, nothing else is. Raises BuildError."""
    return made_of_c(NAME, SOURCES, _HEADERS, _LINK)
