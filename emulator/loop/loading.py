"""Loads somebody else's firmware, as people write it: `a.3=module:Class`, `a.3=libfirmware.so`, `a.3=/dev/ttyACM0` or
any URL; `*=...` for every GPU that has any.

Code is only ever named by whoever starts a run, never by a file that is read. Nothing that plays or judges imports
this.
"""

import hashlib
import importlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ringhil.emulator.documents import shown
from ringhil.emulator.loop.board import Board
from ringhil.emulator.loop.library import firmware_in
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server.firmware_choice import ALL, Chosen, FirmwareChoice
from ringhil.emulator.server.foreign import METHODS, FirmwareError, Maker

_CLASS = re.compile(r"[A-Za-z_][\w]*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_URL = re.compile(r"[a-z][a-z0-9]*://.+|/dev/.+")
_ALLOWED = (
    "GPU=MODULE:CLASS, GPU=LIBRARY.so or GPU=URL, such as a.3=mine:Firmware; '*' for GPU is every one that has any"
)


def firmware_of(given: Sequence[str]) -> FirmwareChoice:
    """What was written, loaded; a later one for the same GPU counts. Raises FirmwareError."""
    found = dict[str, Chosen]()
    for text in given:
        where, mark, what = text.partition("=")
        if not mark or not _is_firmware(what):
            raise FirmwareError(f"--firmware: found {shown(text)}; allowed is {_ALLOWED}")
        try:
            where = where if where == ALL else str(GpuRef.parse(where))
            found[where] = _chosen(what)
        except (ValueError, FirmwareError) as error:
            raise FirmwareError(f"--firmware {text}: {error}") from error
        if found[where].board is not None and (where == ALL or sum(each.text == what for each in found.values()) > 1):
            raise FirmwareError(f"--firmware {text}: a board runs the firmware of one GPU")
    return FirmwareChoice(tuple(given), found)


def firmware_named(what: str) -> Chosen:
    """What stands behind `GPU=`, by itself. Raises FirmwareError."""
    if not _is_firmware(what):
        raise FirmwareError(f"found {shown(what)}; allowed is MODULE:CLASS, LIBRARY.so or the URL of a board")
    return _chosen(what)


def is_board(what: str) -> bool:
    """Whether this names a board."""
    return _URL.fullmatch(what) is not None


def _is_firmware(what: str) -> bool:
    return is_board(what) or what.endswith(".so") or _CLASS.fullmatch(what) is not None


def _chosen(what: str) -> Chosen:
    if is_board(what):
        board = Board(what)
        return Chosen(what, board.made, board.name, board)
    if what.endswith(".so"):
        return Chosen(what, firmware_in(Path(what)), _hash(what))
    maker = _loaded(what)
    file = getattr(sys.modules[what.partition(":")[0]], "__file__", None)
    return Chosen(what, maker, _hash(file) if file else "")


def _hash(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]


def _loaded(what: str) -> Maker:
    module, _, name = what.partition(":")
    here = str(Path.cwd())  # modules of whoever starts a run stand beside it
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise FirmwareError(f"{module} can't be loaded: {type(error).__name__}: {reason}") from error
    if found is None:
        raise FirmwareError(f"{module} has no {name}")
    if not callable(found):
        raise FirmwareError(f"{name} is no class")
    missing = [method for method in METHODS if isinstance(found, type) and not hasattr(found, method)]
    if missing:
        raise FirmwareError(f"{name} has no method {missing[0]}; wanted are {', '.join(METHODS)}")
    maker: Maker = found
    return maker
