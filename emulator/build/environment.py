"""The environment of every program that we start: what it needs to run at all, and what it is told on purpose.

What surrounds a run must not change its verdict: a filter for tests, a seed, a flag of Python or of a compiler that
happens to be set outside would. So only variables of this table are handed on, and whoever starts a program may add
others by name.

| handed on | for |
|---|---|
| PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH | finding programs and their libraries |
| HOME, USER, LOGNAME, TMPDIR, TEMP, TMP, XDG_CACHE_HOME, XDG_RUNTIME_DIR | places for files |
| PYTHONDONTWRITEBYTECODE, PYTHONPYCACHEPREFIX | places for Python's own files |
| RINGHIL_CACHE, RINGHIL_LOG, YOWASP_CACHE_DIR | caches, and how much is told |
| CPATH, C_INCLUDE_PATH, CPLUS_INCLUDE_PATH, LIBRARY_PATH | compilers: what they find |
| COMPILER_PATH, GCC_EXEC_PREFIX, SDKROOT | compilers: their own parts |
| CCACHE_*, DISTCC_*, NIX_* | compilers that stand behind another program |
"""

import os
import re
from collections.abc import Mapping

_COMPILERS = "CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH COMPILER_PATH GCC_EXEC_PREFIX SDKROOT"
_NAMES = frozenset(
    "PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH HOME USER LOGNAME TMPDIR TEMP TMP XDG_CACHE_HOME XDG_RUNTIME_DIR "
    f"PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX RINGHIL_CACHE RINGHIL_LOG YOWASP_CACHE_DIR {_COMPILERS}".split()
)
_FAMILIES = re.compile("(CCACHE|DISTCC|NIX)_.*")


def child_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """For a program: of ours what the table allows, and messages in English; `given` counts before it."""
    ours = {name: value for name, value in os.environ.items() if name in _NAMES or _FAMILIES.fullmatch(name)}
    return ours | {"LC_ALL": "C"} | dict(given or {})
