"""A server at work whose GPUs are lent: plays its run, takes loans on, and answers the request API."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Self

from ringhil.emulator.judge.run import Run
from ringhil.emulator.lending.attachment import Attachment
from ringhil.emulator.lending.desk import LoanDesk
from ringhil.emulator.lending.handover import HandoverFolder
from ringhil.emulator.lending.journal import LoanJournal
from ringhil.emulator.lending.keeping import UsageKeeper
from ringhil.emulator.lending.loans import GpuLoans, IdleTimes
from ringhil.emulator.lending.office import LoanOffice
from ringhil.emulator.lending.rates import RequestRate
from ringhil.emulator.lending.run_host import RunHost
from ringhil.emulator.lending.web import application
from ringhil.emulator.serial.server.serving import Serving
from ringhil.emulator.web_server import TlsFiles, WebServer

_STEP = 512  # cycles


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
        usage: UsageKeeper | None = None,
        tls: TlsFiles | None = None,
        data: HandoverFolder | None = None,
    ) -> None:
        self._run = run
        with ExitStack() as stack:
            self.web = WebServer(where, tls=tls)
            stack.callback(self.web.close)
            self._desk = LoanDesk()
            stack.callback(self._desk.close)
            self._serving = Serving(run, clock=clock)
            stack.callback(self._serving.close)
            stack.callback(attachment.close)
            self._count()
            host = RunHost(run.server)
            choose = usage.choose if usage is not None else None
            self.loans = GpuLoans(journal, attachment, host, idle, choose=choose, mappings=mappings)
            self._usage = usage
            self._office = LoanOffice(self.loans, cycle)
            self._app = application(self._office, self._desk, token, rate or RequestRate(), self.web.used, data)
            self._stack = stack.pop_all()

    def serve(self, until: Callable[[], bool]) -> None:
        """Serve until `until` says so."""
        self._serving.add_reader(self._desk.fileno(), self._desk.attend)
        self.web.begin(self._app)

        def over() -> bool:
            self._office.turn()
            if self._usage is not None:
                self._usage.turn(self.loans)
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

    def _count(self) -> None:
        """Until every card has reported, or those that will."""
        cpu, kernel = self._run.cpu, self._run.kernel
        while kernel.now < cpu.config.silence and not all(card.known for card in cpu.cards):
            self._run.run_to(kernel.now + _STEP)
