"""Whose firmware runs where: somebody else's on some GPUs, or on all; ours on the others."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server.foreign import FirmwareError, Maker
from ringhil.emulator.server.wiring import Wiring

ALL = "*"
_HOW = re.compile(r"(?<=\.so),[^/,]*$")


def who(given: str) -> str:
    """What was written, without how a library runs: that changes nothing in a run."""
    return _HOW.sub("", given)


class FarEnd(Protocol):
    """A board, or what stands for one: a single one, which has one run at a time. `on_exchange` is told each request
    and its answer, None when it is gone."""

    on_exchange: Callable[[bytes, bytes | None], None]

    @property
    def difference(self) -> str | None:
        """What isn't as it was before, when it was recorded or told the same; None: nothing."""
        ...

    def exchange(self, request: bytes) -> bytes: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Chosen:
    """What runs somewhere. `text`: as it was written, without how a library runs; `maker` makes it; `source`: a hash of
    the file that it is in, of a board what it says that it is; `board`: the one that runs it; `forgiven`: if that
    answers what none may, it is gone and the run goes on."""

    text: str
    maker: Maker
    source: str
    board: FarEnd | None = None
    forgiven: bool = True


@dataclass(frozen=True)
class FirmwareChoice:
    """`given`: as it was written; `chosen`: by GPU (`a.3`) or ALL."""

    given: tuple[str, ...] = ()
    chosen: Mapping[str, Chosen] = field(default_factory=dict, compare=False, repr=False)

    @property
    def boards(self) -> dict[str, FarEnd]:
        """By GPU, the boards among them."""
        return {where: each.board for where, each in self.chosen.items() if each.board is not None}

    def close(self) -> None:
        """Give the ports of all boards back."""
        for board in self.boards.values():
            board.close()

    def sources(self) -> dict[str, str]:
        """What was written, and a hash of the file that it is in: results of another one are others. Of a board, which
        may be at another port tomorrow, what it says that it is."""
        return {where if each.board else f"{where}={each.text}": each.source for where, each in self.chosen.items()}

    def by_cell(self, wiring: Wiring) -> Mapping[int, tuple[str, Maker, bool]]:
        """By cell, its name in messages, what makes its firmware, and whether that is a board that may be given up.
        Raises FirmwareError for a GPU that isn't there."""
        found = dict[int, tuple[str, Maker, bool]]()
        for cell in range(wiring.cells):
            card, gpu = wiring.place(cell)
            name = str(GpuRef(wiring.cards[card].name, gpu))
            chosen = self.chosen.get(name)
            if chosen is None and (gpu in wiring.cards[card].host_links or cell in wiring.crossings):
                chosen = self.chosen.get(ALL)
            if chosen is not None:
                found[cell] = (
                    f"firmware of {name} ({chosen.text})",
                    chosen.maker,
                    chosen.board is not None and chosen.forgiven,
                )
        cards = {card.name: card.gpus for card in wiring.cards}
        for where in self.chosen.keys() - {ALL}:
            ref = GpuRef.parse(where)
            if ref.index >= cards.get(ref.card, 0):
                there = ", ".join(f"{name}.0 .. {name}.{gpus - 1}" for name, gpus in cards.items())
                raise FirmwareError(f"--firmware: found GPU {where}; there are {there}")
        return found


OURS = FirmwareChoice()
