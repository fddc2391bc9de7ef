"""GPUs that are lent to virtual machines: out of the ring on purpose, and back again (V4, V7).

A GPU that the census counts, and that has no contexts, gets no new work; when the last unit that it had is done, or
has gone elsewhere, its register `lent` is set, and its switch joins the ring's ports. A role that it had as entry or
boundary GPU goes to another one, as it does when a GPU falls silent.
"""

from collections.abc import Callable
from enum import StrEnum

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.driver import Driver


class LendState(StrEnum):
    """Where a GPU is, as far as the CPU knows."""

    HERE = "here"  # counted, and the server's
    DRAINING = "draining"  # counted, without new work; it will be lent
    LENT = "lent"
    AWAY = "away"  # not counted: it has failed, is cut off, or is on its way back


class LendError(RinghilError):
    """A GPU can't be lent. `holders`: whose contexts are on it; none: it is not counted."""

    def __init__(self, why: str, holders: tuple[str, ...] = ()) -> None:
        super().__init__(why)
        self.holders = holders


class Lending:
    """Lends GPUs, and takes them back; each call changes nothing that is so already. `dispatch` gives
    out work again. `on_register`: the register `lent` of a GPU is to be written; `on_draining`, `on_refused` tell what
    becomes of a loan; `holders`: names whose contexts are on a GPU."""

    def __init__(self, driver: Driver, dispatch: Callable[[], None]) -> None:
        self._driver, self._dispatch = driver, dispatch
        self.on_register: Callable[[CardView, int, bool], None] = lambda card, gpu, lent: None
        self.on_draining: Callable[[CardView, int], None] = lambda card, gpu: None
        self.on_refused: Callable[[CardView, int, str], None] = lambda card, gpu, why: None
        self.holders: Callable[[CardView, int], tuple[str, ...]] = lambda card, gpu: tuple(
            f"context {place.context}" for place in driver.held((card.number, gpu))
        )

    def state(self, card: CardView, gpu: int) -> LendState:
        """Where the GPU is."""
        if gpu in card.lent:
            return LendState.LENT
        if gpu not in card.members:
            return LendState.AWAY
        return LendState.DRAINING if gpu in card.leaving else LendState.HERE

    def check(self, card: CardView, gpu: int) -> None:
        """Raises LendError when the GPU can't be lent now."""
        name = f"{card.name}.{gpu}"
        if gpu not in card.members and gpu not in card.lent:
            raise LendError(f"{name} is not counted; a GPU that works can be lent")
        holders = self.holders(card, gpu)
        if holders:
            raise LendError(f"{name} has contexts of {', '.join(holders)}; a GPU without contexts can be lent", holders)

    def lend(self, card: CardView, gpu: int) -> None:
        """Lend it as soon as it has no work left; `on_refused` is told why if it can't be."""
        if gpu in card.lent or gpu in card.leaving:
            return
        try:
            self.check(card, gpu)
        except LendError as error:
            self.on_refused(card, gpu, str(error))
            return
        card.leaving.add(gpu)
        self.on_draining(card, gpu)
        self.look(card, gpu)

    def look(self, card: CardView, gpu: int) -> None:
        """It may have no work left. Meanwhile it may have failed, or somebody has made a context on it."""
        if gpu not in card.leaving or card.load.get(gpu, 0):
            return
        card.leaving.discard(gpu)
        try:
            self.check(card, gpu)
        except LendError as error:
            self._stays(card, gpu, str(error))
            return
        self.on_register(card, gpu, True)
        card.lend(gpu)
        self._driver.counted(card)

    def take_back(self, card: CardView, gpu: int) -> None:
        """The server's again: its switch lets it take part after `gpu_restore`, then it is counted."""
        if gpu in card.leaving:
            card.leaving.discard(gpu)
            self._stays(card, gpu, f"{card.name}.{gpu} was taken back before it was lent")
        elif gpu in card.lent:
            card.lent.discard(gpu)
            self.on_register(card, gpu, False)

    def _stays(self, card: CardView, gpu: int, why: str) -> None:
        self.on_refused(card, gpu, why)
        self._dispatch()
