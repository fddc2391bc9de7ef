"""A program on the CPU: it waits for time to pass and for what GPUs answer, and does nothing in between."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.contexts.command import Command, Reply
from ringhil.emulator.host.contexts.driver import Then


@dataclass(frozen=True, slots=True)
class Busy:
    """The program works on the CPU for so many cycles."""

    cycles: int


Program = Generator[Busy | Command, Reply | None, None]


class Process:
    """One program; `ask` has its commands carried out by the context that it uses. It runs from `start` until it
    returns, which `on_end` is told."""

    def __init__(
        self, port: CardPort, ask: Callable[[Command, Then], None], program: Program, on_end: Callable[[], None]
    ) -> None:
        self._port, self._ask, self._program, self._on_end = port, ask, program, on_end
        self.ended = False

    def start(self) -> None:
        """Run it to where it waits for the first time."""
        self._go_on(None)

    def _go_on(self, answer: Reply | None) -> None:
        try:
            wanted = self._program.send(answer)
        except StopIteration:
            self.ended = True
            self._on_end()
            return
        if isinstance(wanted, Busy):
            self._port.after(wanted.cycles, lambda: self._go_on(None))
        else:
            self._ask(wanted, self._go_on)


class TaskPort(CardPort):
    """Another port, whose plans are counted. Whatever a task waits for, time or an answer, has one: a task that hasn't
    ended and has none `pending` waits for ever. `on_act` is called when one was carried out. It takes no mail."""

    def __init__(self, port: CardPort) -> None:
        super().__init__()
        self._port = port
        self.pending = 0
        self.on_act: Callable[[], None] = lambda: None

    @property
    def now(self) -> int:
        return self._port.now

    def at(self, cycle: int, act: Callable[[], None]) -> None:
        self.pending += 1
        self._port.at(cycle, partial(self._act, act))

    def _act(self, act: Callable[[], None]) -> None:
        self.pending -= 1
        act()
        self.on_act()

    def send(self, cell: int, frames: Sequence[bytes]) -> None:
        self._port.send(cell, frames)
