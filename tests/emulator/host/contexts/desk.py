"""A driver of one card, the other end of which is the test."""

import heapq
from collections.abc import Callable, Sequence

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.command import Command, ContextRef, Reply
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.firmware.grantor import Grantor
from ringhil.protocol import codec
from ringhil.protocol.frames import Result, Work
from ringhil.protocol.wire import Compute, ResultStatus, Role

GPU, PATIENCE, COMPUTES = 2, 100, 40


class Port(CardPort):
    """Time passes when a test says so; what is sent is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0
        self.sent: list[Work] = []
        self._planned: list[tuple[int, int, Callable[[], None]]] = []
        self._plans = 0

    @property
    def now(self) -> int:
        return self.time

    def at(self, cycle: int, act: Callable[[], None]) -> None:
        self._plans += 1
        heapq.heappush(self._planned, (cycle, self._plans, act))

    def send(self, cell: int, frames: Sequence[bytes]) -> None:
        for frame in frames:
            work = codec.decode(frame, link=False)
            assert isinstance(work, Work)
            self.sent.append(work)

    def pass_time(self, cycles: int) -> None:
        self.time += cycles
        while self._planned and self._planned[0][0] <= self.time:
            heapq.heappop(self._planned)[2]()


class Desk:
    """Of the driver: what it sends, and what it tells."""

    def __init__(self) -> None:
        self.port = Port()
        self.card = CardView("a", 0, 4, (0, 1), (0, 1), Grantor(Role.ENTRY, 1000, 100), members=(0, 1, 2, 3))
        self.card.granted(0, 1)
        self.driver = Driver(self.port, [self.card], PATIENCE)
        self.told: list[Reply] = []

    def launch(self) -> None:
        self.driver.ask(ContextRef(0, GPU, 3), Command(Compute.LAUNCH, 5, COMPUTES), self.told.append)

    def answer(self, status: ResultStatus, unit: int | None = None, source: int = GPU) -> None:
        """To the last command, or to an earlier one."""
        unit = self.port.sent[-1].unit if unit is None else unit
        self.driver.mail(Result(0, 0, 9, 0, 1, unit, source, 1, status.code, 0, 0, 0, 16, 40))
