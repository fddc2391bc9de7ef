"""A server at work whose GPUs are lent: plays its run, takes loans on, and answers the request API."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Self

from ringhil.emulator.judge.run import Run
from ringhil.emulator.lending.attachment import Attachment
from ringhil.emulator.lending.choice import GpuChoice
from ringhil.emulator.lending.desk import LoanDesk
from ringhil.emulator.lending.journal import LoanJournal
from ringhil.emulator.lending.loan import GpuLoan, LoanStep
from ringhil.emulator.lending.loans import GpuLoans, IdleTimes
from ringhil.emulator.lending.office import LoanOffice
from ringhil.emulator.lending.rates import RequestRate
from ringhil.emulator.lending.run_host import RunHost
from ringhil.emulator.lending.usage import LoanUsage, MeterReading, UsageLog
from ringhil.emulator.lending.web import application
from ringhil.emulator.lending.web_server import WebServer
from ringhil.emulator.serial.server.serving import Serving

_STEP = 512  # cycles
_SAMPLED = 0.1  # seconds of the run between two samples of what GPUs use
_NANOSECONDS, _MICROJOULES = 10**9, 10**6


class LendServing:
    """`run` has started; its cards are counted first. `cycle`: seconds that one stands for. Everything that it opens is
    closed with it. Raises LendingDatabaseError and WebError."""

    def __init__(
        self,
        run: Run,
        journal: LoanJournal,
        attachment: Attachment,
        idle: IdleTimes,
        *,
        where: str,
        token: str,
        cycle: float,
        clock: int | None = None,
        rate: RequestRate | None = None,
        mappings: dict[str, frozenset[str]] | None = None,
        choice: GpuChoice | None = None,
        usage: UsageLog | None = None,
    ) -> None:
        self._run, self._attachment, self._usage, self._cycle = run, attachment, usage, cycle
        self._sampled = -1.0
        with ExitStack() as stack:
            self.web = WebServer(where)
            stack.callback(self.web.close)
            self._desk = LoanDesk()
            stack.callback(self._desk.close)
            self._serving = Serving(run, clock=clock)
            stack.callback(self._serving.close)
            stack.callback(attachment.close)
            self._count()
            host = RunHost(run.server)
            self.loans = GpuLoans(journal, attachment, host, idle, choice=choice, mappings=mappings)
            self.loans.on_step = self._stepped
            self._office = LoanOffice(self.loans, cycle)
            self._app = application(self._office, self._desk, token, rate or RequestRate())
            self._stack = stack.pop_all()

    def serve(self, until: Callable[[], bool]) -> None:
        """Serve until `until` says so."""
        self._serving.add_reader(self._desk.fileno(), self._desk.attend)
        self.web.begin(self._app)

        def over() -> bool:
            self._office.turn()
            self._sample()
            return until()

        self._serving.serve(over)

    @property
    def behind(self) -> float:
        """Seconds that the run is behind its clock."""
        return self._serving.behind

    def close(self) -> None:
        """Answers what is under way, and listens no more; a second call does nothing."""
        self._desk.close()
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sample(self) -> None:
        if self._usage is not None and self._now - self._sampled >= _SAMPLED:
            self._sampled = self._now
            self._usage.note(round(self._now * _NANOSECONDS), self._readings(self.loans.gpus))

    def _stepped(self, loan: GpuLoan, step: LoanStep) -> None:
        """What a guest uses begins when it has its GPU, and ends when it hasn't."""
        if self._usage is None:
            return
        at, name = round(self._now * _NANOSECONDS), str(loan.id)
        if step is LoanStep.ATTACH:
            among = self.loans.among(loan)
            used = LoanUsage(name, loan.node, loan.kind, loan.size, loan.gpus[0], among, at)
            self._usage.lent(used, self._readings(loan.gpus))
        elif step is LoanStep.DETACH:
            self._usage.back(name, at, self._readings(loan.gpus))

    @property
    def _now(self) -> float:
        """Seconds of the run."""
        return self._run.kernel.now * self._cycle

    def _readings(self, gpus: Iterable[str]) -> dict[str, MeterReading]:
        found = {gpu: self._attachment.meters(gpu) for gpu in gpus}
        return {
            gpu: MeterReading(
                energy=round(meters.energy * _MICROJOULES), busy=round(meters.busy * self._cycle * _NANOSECONDS)
            )
            for gpu, meters in found.items()
        }

    def _count(self) -> None:
        """Until every card has reported, or those that will."""
        cpu, kernel = self._run.cpu, self._run.kernel
        while kernel.now < cpu.config.silence and not all(card.known for card in cpu.cards):
            self._run.run_to(kernel.now + _STEP)
