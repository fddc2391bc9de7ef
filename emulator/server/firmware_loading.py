"""Loads somebody else's firmware, as people write it: `a.3=module:Class`, or `*=module:Class` for every GPU that has
any.

Code is only ever named by whoever starts a run, never by a file that is read. Nothing that plays or judges imports
this.
"""

import importlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ringhil.emulator.documents import shown
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server.firmware_choice import ALL, FirmwareChoice
from ringhil.emulator.server.foreign import METHODS, FirmwareError, Maker

_CLASS = re.compile(r"[A-Za-z_][\w]*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_ALLOWED = "GPU=MODULE:CLASS, such as a.3=mine:Firmware, or '*=MODULE:CLASS'"


def firmware_of(given: Sequence[str]) -> FirmwareChoice:
    """What was written, with the classes loaded; a later one for the same GPU counts. Raises FirmwareError."""
    makers = dict[str, tuple[str, Maker]]()
    for text in given:
        where, mark, what = text.partition("=")
        if not mark or not _CLASS.fullmatch(what):
            raise FirmwareError(f"--firmware: found {shown(text)}; allowed is {_ALLOWED}")
        if where != ALL:
            try:
                where = str(GpuRef.parse(where))
            except ValueError as error:
                raise FirmwareError(f"--firmware {text}: {error}") from None
        makers[where] = (what, _loaded(text, what))
    return FirmwareChoice(tuple(given), makers)


def _loaded(text: str, what: str) -> Maker:
    module, _, name = what.partition(":")
    here = str(Path.cwd())  # modules of whoever starts a run stand beside it
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise FirmwareError(f"--firmware {text}: {module} can't be loaded: {type(error).__name__}: {reason}") from error
    if found is None:
        raise FirmwareError(f"--firmware {text}: {module} has no {name}")
    if not callable(found):
        raise FirmwareError(f"--firmware {text}: {name} is no class")
    missing = [method for method in METHODS if isinstance(found, type) and not hasattr(found, method)]
    if missing:
        raise FirmwareError(f"--firmware {text}: {name} has no method {missing[0]}; wanted are {', '.join(METHODS)}")
    maker: Maker = found
    return maker
