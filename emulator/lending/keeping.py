"""What the GPUs of a served run use, noted between two steps of it; and which GPU is lent by what is known of that."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from ringhil.emulator.lending.attachment import AttachedMeters, Attachment
from ringhil.emulator.lending.choice import GpuChoice
from ringhil.emulator.lending.loan import LoanState
from ringhil.emulator.lending.loans import GpuGroup, GpuLoans, LoanWish
from ringhil.emulator.lending.usage import LoanUsage, MeterReading, UsageLog
from ringhil.emulator.nvml.meters import busy, has_meter, units_of
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server import LiveServer
from ringhil.protocol.registers import PowerState

_NANOSECONDS = 10**9
_UNIT = 100  # milliwatt: picojoules in a nanosecond
_PICOJOULES = 10**6  # in a microjoule
_PAGE = 1024  # KiB, where no file says otherwise
_KIB = 1024
_AT_REST = {state.code: f"{state}_power" for state in PowerState if state is not PowerState.RUNNING}


class UsageKeeper:
    """Of a server whose GPUs are lent through `attachment`. `period`: seconds of the run between two samples; `cycle`:
    seconds that a cycle stands for. Call `turn` between any two steps of the run: looking changes nothing in it."""

    def __init__(
        self,
        log: UsageLog,
        server: LiveServer,
        attachment: Attachment,
        choice: GpuChoice,
        *,
        period: float,
        cycle: float,
    ) -> None:
        self._log, self._server, self._attachment, self._choice = log, server, attachment, choice
        self._cycle = round(cycle * _NANOSECONDS)
        self._period = max(1, round(period / cycle))
        sharing = server.scenario.sharing
        self._page = (sharing.page if sharing is not None else _PAGE) * _KIB
        self._cells = {gpu.name: server.wiring.cell_of(GpuRef.parse(gpu.name)) for gpu in attachment.gpus()}
        self._among: dict[str, tuple[str, ...]] = {}  # by guest, GPUs that it could have been given
        self._lent: dict[str, tuple[str, ...]] = {}  # by loan, its GPUs
        self._rested: dict[str, tuple[AttachedMeters, int]] = {}  # by GPU: meters of guests, and `_rest` by then
        self._next = 0

    def choose(self, wish: LoanWish, free: Sequence[GpuGroup]) -> GpuGroup:
        """One of those that can be lent; a group is known by its first GPU."""
        by_name = {group.gpus[0].name: group for group in free}
        used = Counter(self._log.lent_busy)
        for name in by_name:
            used[name] += self._attachment.meters(name).busy * self._cycle
        self._among[wish.node] = tuple(by_name)
        return by_name[self._choice.choose(wish.kind, wish.size, [*by_name], used)]

    def turn(self, loans: GpuLoans) -> None:
        """Notes what is to be noted now: loans that guests have got or given back, and all meters when it is time."""
        now = self._server.kernel.now
        there = {str(loan.id): loan for loan in loans.opened() if loan.state is LoanState.IN_GUEST}
        for name in [name for name in self._lent if name not in there]:
            self._log.back(name, self._at(now), self._readings(self._lent.pop(name)))
        for name, loan in there.items():
            if name not in self._lent:
                self._lent[name] = loan.gpus
                among = self._among.pop(loan.node, loan.gpus[:1])
                began = LoanUsage(name, loan.node, loan.kind, loan.size, loan.gpus[0], among, self._at(now))
                self._log.lent(began, self._readings(loan.gpus))
        if now >= self._next:
            self._log.note(self._at(now), self._readings(self._cells))
            self._next = now - now % self._period + self._period

    def close(self) -> None:
        """Notes the last of it."""
        self._log.note(self._at(self._server.kernel.now), self._readings(self._cells))

    def _at(self, cycle: int) -> int:
        return cycle * self._cycle

    def _readings(self, gpus: "Sequence[str] | dict[str, int]") -> dict[str, MeterReading]:
        return {gpu: self._reading(gpu, self._cells[gpu]) for gpu in gpus}

    def _reading(self, gpu: str, cell: int) -> MeterReading:
        """What it has done in the ring, and for guests."""
        read, guests = partial(self._server.engine.peek, cell), self._attachment.meters(gpu)
        microjoules = round(guests.energy * 10**6)
        if metered := has_meter(read):
            microjoules += (units_of(read) - self._rest(gpu, guests)) * _UNIT * self._cycle // _PICOJOULES
        return MeterReading(
            microjoules if metered or microjoules else None,
            ((busy(read) or 0) + guests.busy) * self._cycle,
            read("memory_held") * self._page,
            read("units_done") + self._server.cpu.driver.launched[self._server.wiring.place(cell)],
        )

    def _rest(self, gpu: str, guests: AttachedMeters) -> int:
        """Units of energy that the GPU's own meter has counted as rest while it computed for a guest, whose meter has
        counted that as well."""
        before, rest = self._rested.get(gpu, (AttachedMeters(), 0))
        read = partial(self._server.engine.peek, self._cells[gpu])
        if guests.busy > before.busy and (power := _AT_REST.get(read("power_state"))) is not None:
            most = round((guests.energy - before.energy) * 10**6 * _PICOJOULES) // (_UNIT * self._cycle)
            rest += min((guests.busy - before.busy) * read(power), most)
        self._rested[gpu] = guests, rest
        return rest
