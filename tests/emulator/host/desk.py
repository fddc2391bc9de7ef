"""A CPU on the links of two cards of four GPUs, whose messages the test writes by hand."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.hardware import FromCpu
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.host.work.handing_out import CpuConfig
from ringhil.emulator.host.work.workload import Generated, digest
from ringhil.emulator.kernel import Kernel
from ringhil.firmware.census import NOBODY
from ringhil.firmware.election import CLAIM, HOLDER, RELEASE
from ringhil.firmware.grantor import Grantor
from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Acknowledgement, Election, Frame, Keepalive, Report, Result, Work

SIZE = 4  # GPUs of a card
HOST = (0, 1)  # those with a link to the CPU
LEASE, GUARD, SILENCE, PATIENCE = 50_000, 100, 60_000, 5_000  # cycles
A, B = 0, 1  # cards


@dataclass
class Desk:
    """`sent` is all that the CPU has sent: cell and frame."""

    units: int = 40
    policy: str = "proportional"
    window: int = 4
    across: int = 0  # percent of the units that enter by the other card; GPU 3 of each speaks to it
    sent: list[tuple[int, Frame]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kernel = Kernel(Engine(cells_library(), Topology((SIZE, SIZE))), 32, 64)
        views = [
            CardView(
                name,
                number,
                SIZE,
                HOST,
                tuple(SIZE * number + gpu for gpu in HOST),
                Grantor(wire.Role.ENTRY, LEASE, GUARD),
            )
            for number, name in enumerate("ab")
        ]
        self.workload = Generated(self.units, 64, seed=3)
        ways = {way: frozenset({3}) for way in ((A, B), (B, A))}
        config = CpuConfig(SILENCE, PATIENCE, self.window, 32, 1, self.across, ways, self.policy)
        self.cpu = Cpu(self.kernel, views, config, self.workload)
        self.a, self.b = views
        self.kernel.observations.listen(FromCpu, self._note)
        self.cpu.power_up()

    def close(self) -> None:
        self.kernel.engine.close()

    def _note(self, seen: FromCpu) -> None:
        self.sent.append((seen.cell, codec.decode(seen.frame, link=False)))

    # ---------------------------------------------------------------------------------------------- what comes

    def mail(self, cell: int, message: Frame, *, bad: bool = False) -> None:
        self.cpu.mail(cell, codec.encode(message), 0, bad)

    def claim(self, card: int, gpu: int, epoch: int, operation: int = CLAIM) -> None:
        self.mail(SIZE * card + gpu, Election(card, 0, 9, 0, epoch, 1, gpu, operation, wire.Role.ENTRY.code, 0, 3))

    def release(self, card: int, gpu: int, epoch: int) -> None:
        self.claim(card, gpu, epoch, RELEASE)

    def renew(self, card: int, gpu: int, epoch: int) -> None:
        role = wire.Role.ENTRY.code
        self.mail(SIZE * card + gpu, Keepalive(card, 0, 9, 0, epoch, 1, 7, 0, role, 0, 3, HOLDER, 1000, 3, 0, 0))

    def report(
        self, card: int, gpu: int, epoch: int, members: Iterable[int] = range(SIZE), degraded: Iterable[int] = ()
    ) -> None:
        members, degraded = set(members), set(degraded)
        weight = sum(1 if member in degraded else 4 for member in members)
        sets = (sum(1 << m for m in members), sum(1 << d for d in degraded), 1 << 3)
        none, ring = (NOBODY,) * 2, wire.CensusVerdict.RING.code
        found = Report(
            card, 0, 9, 0, epoch, 1, gpu, len(members), SIZE, ring, *none, 0, 0, 0, NOBODY, *none, weight, 0, sets
        )
        self.mail(SIZE * card + gpu, found)

    def count(self) -> None:
        """GPU 0 of either card takes the entry role under epoch 1, and counts all: work begins."""
        for card in (A, B):
            self.claim(card, 0, 1)
            self.report(card, 0, 1)

    def result(
        self, work: Work, cell: int | None = None, *, epoch: int | None = None, wrong: bool = False, bad: bool = False
    ) -> None:
        """The answer to a unit, by the way that it came unless told otherwise."""
        value = digest(self.workload.read(work.unit)) ^ wrong
        by, of = self._answer(work, cell, epoch)
        self.mail(by, Result(*of, 0, value, 64, 100), bad=bad)

    def refuse(self, work: Work) -> None:
        by, of = self._answer(work, None, None)
        self.mail(by, Acknowledgement(*of, 0))

    def _answer(self, work: Work, cell: int | None, epoch: int | None) -> tuple[int, tuple[int, ...]]:
        by = SIZE * work.source_card + work.source if cell is None else cell
        under = work.epoch if epoch is None else epoch
        home = (work.source_card, 0, 9, work.source, under, work.unit, work.destination, work.attempt, 0, work.card)
        return by, home

    # --------------------------------------------------------------------------------------------- what is sent

    def work(self) -> list[Work]:
        """The units sent since the last call."""
        found = [frame for _, frame in self.sent if isinstance(frame, Work)]
        self.sent.clear()
        return found
