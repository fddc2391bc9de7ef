"""Usage of a served run: what samples add up to is what the registers of its GPUs and the meters of guests say."""

from pathlib import Path

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.lending.choice import LeastUsedChoice
from ringhil.emulator.lending.database import open_database
from ringhil.emulator.lending.journal import LoanJournal
from ringhil.emulator.lending.keeping import UsageKeeper
from ringhil.emulator.lending.loans import GpuLoans, IdleTimes, LoanWish
from ringhil.emulator.lending.run_host import RunHost
from ringhil.emulator.lending.sim import SimAttachment
from ringhil.emulator.lending.sim_gpus import sim_gpus
from ringhil.emulator.lending.usage import GpuUsage, LoanUsage, UsageLog, gpus_used, loans_used
from ringhil.emulator.scenario import loads
from ringhil.emulator.server import LiveServer

_STEP, _END = 500, 60_000  # cycles
_CYCLE = 1e-6
_FILE = """
server:
  cards: {a: {gpus: 6, host_links: [0, 1]}}
  power: {default: {run_power: 700, idle_power: 90}}
sharing:
  applications:
    x: {gpu: a.2, steps: 7, host: 1600, compute: 1740, memory: 58}
    y: {gpu: a.3, steps: 3, host: 1600, compute: 1740, memory: 40}
until: 60000
"""


class _Served:
    """Two guests have GPUs for a while. `period`: seconds between two samples."""

    def __init__(self, url: str, period: float) -> None:
        self.server = LiveServer(loads(_FILE), cells_library())
        gpus = sim_gpus(self.server.scenario)
        self.sim = SimAttachment(gpus, lambda: self.server.kernel.now, work=9000, watts={"generic": 70.0}, cycle=_CYCLE)
        with open_database(url) as database, UsageLog(database) as log:
            self.server.start()
            keeper = UsageKeeper(log, self.server, self.sim, LeastUsedChoice(), period=period, cycle=_CYCLE)
            loans: GpuLoans | None = None
            for cycle in range(_STEP, _END + 1, _STEP):
                self.server.run_to(cycle)
                if loans is None and all(card.known for card in self.server.cpu.cards):
                    idle = IdleTimes(1 << 30, 1 << 30)
                    loans = GpuLoans(LoanJournal(database), self.sim, RunHost(self.server), idle, choose=keeper.choose)
                if loans is None:
                    continue
                if cycle in (10_000, 40_000):
                    loans.request(LoanWish(f"i-{cycle:08}", "training", 1000))
                if cycle == 35_000:
                    loans.release(1)
                loans.turn()
                keeper.turn(loans)
            keeper.close()
            log.write()
            self.loans: list[LoanUsage] = loans_used(database)
            self.gpus: dict[str, GpuUsage] = {gpu: used for gpu, (used,) in gpus_used(database)[0].items()}
        engine = self.server.engine
        self.registers = [
            {name: engine.peek(cell, name) for name in ("energy_low", "busy_low", "memory_held", "units_done")}
            for cell in range(self.server.wiring.cells)
        ]
        self.server.close()


def _near(one: int | None, other: float, by: float) -> bool:
    return one is not None and abs(one - other) <= by


def test_samples_add_up_to_registers_and_meters_of_guests(tmp_path: Path) -> None:
    served = _Served(f"sqlite:///{tmp_path}/lending.db", 0.002)
    before = 3 * _STEP  # cycles that may be over when the first sample is taken
    assert len(served.gpus) == 6
    for (gpu, used), registers in zip(served.gpus.items(), served.registers, strict=True):
        guests = served.sim.meters(gpu)
        joules = registers["energy_low"] * 0.1 * _CYCLE + guests.energy - guests.busy * 9 * _CYCLE
        assert _near(used.energy, joules * 1e6, 90 * 0.1 * before)
        assert _near(used.busy, (registers["busy_low"] + guests.busy) * 1000, before * 1000)
        assert _near(used.seen, _END * 1000, before * 1000)
    assert [used.launches for used in served.gpus.values()] == [0, 0, 7, 3, 0, 0]
    assert [(used.memory or 0) >> 20 for used in served.gpus.values()] == [0, 0, 52, 36, 0, 0]


def test_a_loan_has_what_its_guest_computed_and_whom_it_could_have_had(tmp_path: Path) -> None:
    served = _Served(f"sqlite:///{tmp_path}/lending.db", 0.002)
    first, second = served.loans
    assert (first.node, first.kind, first.size) == ("i-00010000", "training", 1000.0)
    assert {*first.among} == {"a.4", "a.5"}, "the others have contexts, or a role in the ring"
    assert {*second.among} == {*served.gpus} - {first.gpu, "a.0", "a.1"}, "one is on its way back, two have roles"
    for loan in (first, second):
        assert loan.busy == 9000 * 1000
        lasted = ((loan.ended or _END * 1000) - loan.began) / 1e9
        computed = 9000 * _CYCLE
        assert _near(loan.energy, 1e6 * (70 * computed + 9 * (lasted - computed)), 9 * _STEP)
    assert first.ended is not None
    assert second.ended is None


def test_looking_changes_nothing_in_the_run(tmp_path: Path) -> None:
    often, never = (_Served(f"sqlite:///{tmp_path}/{period}.db", period) for period in (0.0001, 1e6))
    assert often.registers == never.registers
    assert [each.energy for each in often.loans] == [each.energy for each in never.loans]
