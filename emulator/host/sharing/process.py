"""A program on the CPU: it waits for time to pass and for what GPUs answer, and does nothing in between."""

from collections.abc import Generator
from dataclasses import dataclass

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.sharing.command import Command, Reply
from ringhil.emulator.host.sharing.driver import ContextRef, Driver


@dataclass(frozen=True, slots=True)
class Busy:
    """The program works on the CPU for so many cycles."""

    cycles: int


Program = Generator[Busy | Command, Reply | None, None]


class Process:
    """One program and the context that it uses. It runs from `start` until it returns."""

    def __init__(self, port: CardPort, driver: Driver, place: ContextRef, program: Program) -> None:
        self._port, self._driver, self._place, self._program = port, driver, place, program
        self.ended = False

    def start(self) -> None:
        """Run it to where it waits for the first time."""
        self._go_on(None)

    def _go_on(self, answer: Reply | None) -> None:
        try:
            wanted = self._program.send(answer)
        except StopIteration:
            self.ended = True
            return
        if isinstance(wanted, Busy):
            self._port.after(wanted.cycles, lambda: self._go_on(None))
        else:
            self._driver.ask(self._place, wanted, self._go_on)
