"""Whose firmware runs where, as people write it: `a.3=module:Class`, or `*=module:Class` for every GPU that has any.

Code is only ever named by whoever starts a run, never by a file that is read.
"""

import hashlib
import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ringhil.emulator.documents import shown
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server.foreign import METHODS, FirmwareError, Maker
from ringhil.emulator.server.wiring import Wiring

ALL = "*"
_CLASS = re.compile(r"[A-Za-z_][\w]*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_ALLOWED = "GPU=MODULE:CLASS, such as a.3=mine:Firmware, or '*=MODULE:CLASS'"


@dataclass(frozen=True)
class FirmwareChoice:
    """`given`: as it was written. Raises FirmwareError when that is wrong, or can't be loaded."""

    given: tuple[str, ...] = ()
    _makers: dict[str, tuple[str, Maker]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, given: Sequence[str]) -> "FirmwareChoice":
        """What was written, with the classes loaded: a later one for the same GPU counts."""
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
        return cls(tuple(given), makers)

    def sources(self) -> dict[str, str]:
        """What was written, and a hash of the file that each class stands in: results of another one are others."""
        found = dict[str, str]()
        for text in self.given:
            module = sys.modules[text.partition("=")[2].partition(":")[0]]
            file = getattr(module, "__file__", None)
            found[text] = hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12] if file else ""
        return found

    def by_cell(self, wiring: Wiring) -> Mapping[int, tuple[str, Maker]]:
        """By cell, its name in messages and what makes its firmware. Raises FirmwareError for a GPU that isn't
        there."""
        found = dict[int, tuple[str, Maker]]()
        for cell in range(wiring.cells):
            card, gpu = wiring.place(cell)
            name = str(GpuRef(wiring.cards[card].name, gpu))
            chosen = self._makers.get(name)
            if chosen is None and (gpu in wiring.cards[card].host_links or cell in wiring.crossings):
                chosen = self._makers.get(ALL)
            if chosen is not None:
                found[cell] = (f"firmware of {name} ({chosen[0]})", chosen[1])
        cards = {card.name: card.gpus for card in wiring.cards}
        for where in self._makers.keys() - {ALL}:
            ref = GpuRef.parse(where)
            if ref.index >= cards.get(ref.card, 0):
                there = ", ".join(f"{name}.0 .. {name}.{gpus - 1}" for name, gpus in cards.items())
                raise FirmwareError(f"--firmware: found GPU {where}; there are {there}")
        return found


OURS = FirmwareChoice()


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
