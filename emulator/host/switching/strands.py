"""Programs of one policy that run beside one another: each waits for time, for a GPU's answer or for what others do.

A strand goes on in the very cycle in which what it waits for is there; of several, whoever has waited longest goes
first. When an answer says that the GPU is lost, all of them end where they are, and give up all
contexts that they have spoken to.
"""

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.contexts.command import Command, ContextRef, Reply
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.emulator.host.tasks.process import Busy
from ringhil.protocol.wire import AckStatus


@dataclass(frozen=True, slots=True)
class Sent:
    """The strand has asked a context for something, and goes on with the answer."""

    place: ContextRef
    command: Command


@dataclass(frozen=True, slots=True)
class Until:
    """The strand goes on when this holds, which only what strands do can change."""

    holds: Callable[[], bool]


Strand = Generator[Busy | Sent | Until, Reply | None, None]


class Strands:
    """`on_lost` is called when the GPU is gone, once."""

    def __init__(self, port: CardPort, driver: Driver, on_lost: Callable[[], None]) -> None:
        self._port, self._driver, self._on_lost = port, driver, on_lost
        self._ready: deque[tuple[Strand, Reply | None]] = deque()
        self._waiting: list[tuple[Strand, Until]] = []
        self._running = False
        self._stopped = False
        self._number = 0
        self._places: dict[ContextRef, None] = {}  # in the order of their first commands

    @property
    def idle(self) -> bool:
        """All have ended."""
        return self._number == 0

    def begin(self, strand: Strand) -> None:
        """Let it run, beside those that there are."""
        self._number += 1
        self._resume(strand, None)

    def _resume(self, strand: Strand, answer: Reply | None) -> None:
        if self._stopped:
            return
        self._ready.append((strand, answer))
        if not self._running:
            self._running = True
            try:
                self._run()
            finally:
                self._running = False

    def _run(self) -> None:
        while self._ready and not self._stopped:
            strand, answer = self._ready.popleft()
            self._step(strand, answer)
            if not self._ready:
                self._look()

    def _look(self) -> None:
        for entry in self._waiting:
            if entry[1].holds():
                self._waiting.remove(entry)
                self._ready.append((entry[0], None))
                return

    def _step(self, strand: Strand, answer: Reply | None) -> None:
        try:
            wanted = strand.send(answer)
        except StopIteration:
            self._number -= 1
            return
        match wanted:
            case Busy():
                self._port.after(wanted.cycles, partial(self._resume, strand, None))
            case Until():
                self._waiting.append((strand, wanted))
            case Sent():
                self._places[wanted.place] = None
                self._driver.ask(wanted.place, wanted.command, partial(self._answered, strand))

    def _answered(self, strand: Strand, answer: Reply) -> None:
        if self._stopped:
            return
        if answer.status is None or answer.status is AckStatus.NO_CONTEXT:  # it has been down, and is back already
            self._stopped = True
            self._number = 0
            for place in self._places:
                self._driver.give_up(place)
            self._on_lost()
        else:
            self._resume(strand, answer)
