"""The way to the cards that tasks and their driver use: it knows whether anything of theirs is still to come."""

from collections.abc import Callable, Sequence
from functools import partial

from ringhil.emulator.card_port import CardPort


class TaskPort(CardPort):
    """Another port, whose plans are counted. Whatever a task waits for, time or an answer, has one: a task that hasn't
    ended and has none `pending` waits for ever. It takes no mail."""

    def __init__(self, port: CardPort) -> None:
        super().__init__()
        self._port = port
        self.pending = 0

    @property
    def now(self) -> int:
        return self._port.now

    def at(self, cycle: int, act: Callable[[], None]) -> None:
        self.pending += 1
        self._port.at(cycle, partial(self._act, act))

    def _act(self, act: Callable[[], None]) -> None:
        self.pending -= 1
        act()

    def send(self, cell: int, frames: Sequence[bytes]) -> None:
        self._port.send(cell, frames)
