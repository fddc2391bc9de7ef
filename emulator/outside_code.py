"""Classes of somebody else's, as people name them: MODULE:CLASS. Only whoever starts a run names code, never a file.

What they print goes to standard error, while they are loaded and whenever they are called: standard output has what the
command prints."""

import importlib
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from ringhil.emulator.documents import one_line
from ringhil.emulator.terminated import ASKED_TO_END

NAMED = re.compile(r"[A-Za-z_][\w]*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


def look_here() -> None:
    """Modules of whoever starts a run stand beside it."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


def load_named(what: str, error: Callable[[str], Exception]) -> Any:
    """What stands under a name that `NAMED` fits; something that can be called. Raises `error`."""
    module, _, name = what.partition(":")
    look_here()
    try:
        with redirect_stdout(sys.stderr):
            found = getattr(importlib.import_module(module), name, None)
    except ASKED_TO_END:
        raise
    except BaseException as reason:
        raise error(f"{module} can't be loaded: {one_line(f'{type(reason).__name__}: {reason}')}") from reason
    if found is None:
        there = vars(sys.modules[module]).items()
        made = (each for each in there if not getattr(each[1], "__abstractmethods__", ()))
        own = (each for each, value in made if getattr(value, "__module__", "") == module)
        raise error(f"{module} has no {name}; allowed is what it has: {', '.join(sorted(own)) or 'nothing'}")
    if not callable(found):
        raise error(f"{name} is no class")
    return found
