"""Whose firmware runs where: somebody else's on some GPUs, or on all; ours on the others."""

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server.foreign import FirmwareError, Maker
from ringhil.emulator.server.wiring import Wiring

ALL = "*"


@dataclass(frozen=True)
class FirmwareChoice:
    """`given`: as it was written; `makers`: by GPU (`a.3`) or ALL, the class as it was written, and the class
    (`firmware_loading.firmware_of`)."""

    given: tuple[str, ...] = ()
    makers: Mapping[str, tuple[str, Maker]] = field(default_factory=dict, compare=False, repr=False)

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
            chosen = self.makers.get(name)
            if chosen is None and (gpu in wiring.cards[card].host_links or cell in wiring.crossings):
                chosen = self.makers.get(ALL)
            if chosen is not None:
                found[cell] = (f"firmware of {name} ({chosen[0]})", chosen[1])
        cards = {card.name: card.gpus for card in wiring.cards}
        for where in self.makers.keys() - {ALL}:
            ref = GpuRef.parse(where)
            if ref.index >= cards.get(ref.card, 0):
                there = ", ".join(f"{name}.0 .. {name}.{gpus - 1}" for name, gpus in cards.items())
                raise FirmwareError(f"--firmware: found GPU {where}; there are {there}")
        return found


OURS = FirmwareChoice()
