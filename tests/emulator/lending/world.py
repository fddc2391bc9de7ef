"""Loans with all that is around them: a host, guests and bus, a database; and what may never be, looked at at any time.

The host is a model; `test_loans_in_the_ring.py` has a real one.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import event

from ringhil.emulator.lending.attachment import AttachmentError, GuestState, LendableGpu
from ringhil.emulator.lending.database import LendingDatabase, LendingDatabaseError, open_database
from ringhil.emulator.lending.journal import LoanJournal
from ringhil.emulator.lending.loan import GpuLoan, LoanStep
from ringhil.emulator.lending.loans import GpuLoans, HostRefusal, IdleTimes, LoanRefused, LoanWish
from ringhil.emulator.lending.pci import PciAddress
from ringhil.emulator.lending.sim import SimAttachment

STEP = 500  # cycles between two turns
IDLE = IdleTimes(period=40_000, grace=12_000)
GPUS = ("a.0", "a.1", "a.2", "a.3")
NODES = ("i-00000001", "i-00000002", "i-00000003", "i-00000004")


def _unsafe(connection: Any, _: object) -> None:
    """Nobody cuts the power: a disk that is waited for would be most of a test's time."""
    connection.execute("PRAGMA synchronous=OFF").close()


class Crash(BaseException):
    """The process of the loans is gone."""


class FragileJournal(LoanJournal):
    """`crash_in`: writes until it crashes, before or after (`late`) that is done; None: never. `away`: the database
    doesn't answer."""

    def __init__(self, database: LendingDatabase) -> None:
        super().__init__(database)
        self.crash_in: int | None = None
        self.late = False
        self.away = False
        self.writes = 0

    def new(self, loan: GpuLoan, cycle: int) -> int:
        self._before()
        number = super().new(loan, cycle)
        self._after()
        return number

    def save(self, loan: GpuLoan, cycle: int, did: tuple[LoanStep, str] | None = None) -> None:
        self._before()
        super().save(loan, cycle, did)
        self._after()

    def _before(self) -> None:
        if self.away:
            raise LendingDatabaseError("database: is away")
        self.writes += 1
        if self.crash_in is not None:
            self.crash_in -= 1
            if self.crash_in == 0 and not self.late:
                raise Crash

    def _after(self) -> None:
        if self.crash_in == 0:
            raise Crash


class ModelHost:
    """Of a host: draining and coming back take a while."""

    def __init__(self, clock: "list[int]") -> None:
        self._clock, self._began = clock, clock[0]
        self.state = dict.fromkeys(GPUS, "away")
        self.due = dict.fromkeys(GPUS, 1000)  # when it will be counted
        self.contexts: dict[str, tuple[str, ...]] = {}
        self.failed = set[str]()

    @property
    def now(self) -> int:
        return self._clock[0] - self._began

    def pass_time(self) -> None:
        for gpu in GPUS:
            if self.now >= self.due[gpu]:
                if self.state[gpu] == "draining":
                    self.state[gpu] = "lent"
                elif self.state[gpu] == "away" and gpu not in self.failed:
                    self.state[gpu] = "here"
            if self.state[gpu] in ("here", "draining") and gpu in self.failed:
                self.state[gpu] = "away"

    def counted(self, gpu: str) -> bool:
        return self.state[gpu] == "here"

    def needed(self, gpu: str) -> bool:
        return False

    def placed(self, gpu: str) -> int:
        return 0

    def holders(self, gpu: str) -> Sequence[str]:
        return self.contexts.get(gpu, ())

    def drain(self, gpu: str) -> bool:
        if self.state[gpu] == "here" and not self.holders(gpu):
            self.state[gpu], self.due[gpu] = "draining", self.now + 700
        elif self.state[gpu] in ("here", "away"):
            raise HostRefusal(f"{gpu} can't be lent", self.holders(gpu))
        return self.state[gpu] == "lent"

    def restore(self, gpu: str) -> bool:
        if self.state[gpu] in ("draining", "lent"):
            self.state[gpu], self.due[gpu] = "away", self.now + 900
        return self.state[gpu] == "here" or gpu in self.failed


class World:
    """Everything, and what was seen of it. `groups`: the IOMMU group of each GPU."""

    def __init__(self, folder: Path, groups: Sequence[str] = GPUS, url: str = "", idle: IdleTimes = IDLE) -> None:
        self.clock, self.idle = [0], idle
        self.database = open_database(url or f"sqlite:///{folder}/lending.db")
        if not url:
            self.database.close()
            event.listen(self.database.engine, "connect", _unsafe)
        self.host = ModelHost(self.clock)
        gpus = [
            LendableGpu(name, (PciAddress(0, 2, place, 0), PciAddress(0, 2, place, 1)), group, "T4", 1 << 30)
            for place, (name, group) in enumerate(zip(GPUS, groups, strict=True))
        ]
        self.sim = SimAttachment(gpus, lambda: self.clock[0])
        self.journal = FragileJournal(self.database)
        self.busy_until = dict.fromkeys(GPUS, 0)
        self.got: dict[tuple[int, int | None], int] = {}  # when each loan, and whether its guest, had its GPUs
        self.lost = 0  # cycles without a database, and such as the loans' clock forgot in a crash
        self.ended: dict[int, str] = {}
        self.crashes = 0
        self.restart_crashed = self.restart_loans
        self.pass_time(3)
        self.loans = self._loans()
        self.turn()

    def _loans(self) -> GpuLoans:
        return GpuLoans(self.journal, self.sim, self.host, self.idle)

    # ------------------------------------------------------------------------------------------------- what happens

    def pass_time(self, steps: int) -> None:
        for _ in range(steps):
            self.clock[0] += STEP
            self.host.pass_time()

    def turn(self, steps: int = 1) -> None:
        """Time passes, loans go on, and it is looked whether all is well."""
        for _ in range(steps):
            self.pass_time(1)
            if self.journal.away:
                self.lost += STEP
            with self.crashing():
                self.loans.turn()
            self.check()

    def request(self, node: str, **wish: object) -> GpuLoan | None:
        """None: refused."""
        try:
            with self.crashing():
                return self.loans.request(LoanWish(node, "training", **wish))[0]  # type: ignore[arg-type]
        except (LoanRefused, LendingDatabaseError):
            return None
        return None

    def release(self, number: int) -> None:
        with self.crashing(), suppress(LendingDatabaseError):
            self.loans.release(number)

    def crash_soon(self, writes: int, *, late: bool) -> None:
        self.journal.crash_in, self.journal.late = writes, late

    def crashing(self) -> "_Crashing":
        """What crashes in it is started anew (`restart_crashed`)."""
        return _Crashing(self)

    def restart_loans(self) -> None:
        """After a crash: all that they knew is gone, but for the journal."""
        before = self.loans.now
        self.journal = FragileJournal(self.database)
        self.loans = self._loans()
        self.lost += before - self.loans.now

    def restart_host(self) -> None:
        """The whole machine: its drivers have every GPU, guests are down, and nothing has been counted."""
        contexts, failed = self.host.contexts, self.host.failed
        self.host = ModelHost(self.clock)
        self.host.contexts, self.host.failed = contexts, failed
        self.stops(GPUS)
        self.sim.restart()
        self.restart_loans()

    def compute(self, gpu: str, cycles: int) -> None:
        """The guest that has it does."""
        if gpu in self.sim.held():
            self.sim.compute(gpu, cycles)
            self.busy_until[gpu] = self.clock[0] + cycles

    def stops(self, gpus: Sequence[str]) -> None:
        """They compute no more."""
        for gpu in gpus:
            self.busy_until[gpu] = min(self.busy_until[gpu], self.clock[0])

    # ------------------------------------------------------------------------------------------------ what must hold

    def check(self) -> None:
        held, bound = self.sim.held(), self.sim.bound()
        open_ = self.loans.opened()
        in_loans = [gpu for loan in open_ for gpu in loan.gpus]
        assert len(in_loans) == len(set(in_loans)), "a GPU is in two loans"
        for gpu in GPUS:
            loan = self.loans.of(gpu)
            if gpu in held or gpu in bound:
                assert self.host.state[gpu] not in ("here", "draining") or self.host.now < 20_000, (
                    f"{gpu}: host and guest have it"
                )
                assert loan is not None, f"{gpu} is lost: no loan has it, and not the host"
            if gpu in held:
                assert loan is not None
                assert held[gpu] == loan.node, f"{gpu}: another guest has it"
                self._guest_looks(held[gpu], gpu, loan)
            elif gpu not in bound and loan is None:
                assert not self.sim.dirty(gpu), f"{gpu}: the host has a guest's memory"
        for loan in open_:
            self._look_at_idleness(loan)
            twins = [gpu for group in self.loans.groups for gpu in group.gpus if group.gpus[0].name == loan.gpus[0]]
            assert loan.gpus == tuple(each.name for each in twins), "not the whole IOMMU group"

    def _guest_looks(self, node: str, gpu: str, loan: GpuLoan) -> None:
        secret = f"{node} {loan.id}"
        with suppress(AttachmentError):
            for found in self.sim.read(node, gpu).values():
                assert found.decode() == secret, f"{gpu}: {node} reads what {found!r} has left"
            self.sim.write(node, gpu, 7, secret.encode())

    def _look_at_idleness(self, loan: GpuLoan) -> None:
        got = self.got.setdefault((loan.id, loan.attached), self.clock[0])
        idle = self.clock[0] - max(got, *(self.busy_until[gpu] for gpu in loan.gpus))
        if loan.released:
            if loan.reason == "idle" and loan.id not in self.ended:
                assert idle >= self.idle.period + IDLE.grace - 2 * STEP, "it was not idle for so long"
            self.ended.setdefault(loan.id, loan.reason)
        else:
            most = 2 * self.idle.period + IDLE.grace + 2 * STEP + self.lost
            assert idle <= most, "it is idle, and was not taken back"

    def all_comes_back(self) -> None:
        """When everything works again, and guests have stopped."""
        self.journal.away, self.journal.crash_in = False, None
        self.host.failed.clear()
        for node in NODES:
            self.sim.says(node, GuestState.UP)
        for gpu in GPUS:
            self.sim.mend(gpu)
        for _ in range((2 * self.idle.period + IDLE.grace + self.lost) // STEP + 200):
            self.turn()
            if not self.loans.opened():
                break
        self.turn(4)
        assert not self.loans.opened()
        assert not self.sim.bound()
        assert not self.sim.held()
        assert set(self.host.state.values()) == {"here"}


class _Crashing:
    """Whatever crashes in it is started anew."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        if kind is Crash:
            self._world.crashes += 1
            self._world.restart_crashed()
        return kind is Crash
