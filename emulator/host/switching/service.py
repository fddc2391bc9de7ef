"""Serves requests by a policy, each exactly once, on one GPU after the other."""

from collections.abc import Callable

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.emulator.host.switching import SWITCH_POLICIES
from ringhil.emulator.host.switching.plan import SwitchPlan
from ringhil.emulator.host.switching.policy import ServingGpu
from ringhil.emulator.host.switching.report import NO_OTHER_GPU, PhaseSpan, RequestReport
from ringhil.emulator.host.switching.strands import Strands


class SwitchService:
    """When a GPU is lost, what was computed there and not over is lost with it: those requests, and no others, begin
    again on the next one. `plan` None: there is nothing to do.
    `since`: the cycle from which on requests come."""

    def __init__(self, port: CardPort, driver: Driver, plan: SwitchPlan | None) -> None:
        self._port, self._driver, self.plan = port, driver, plan
        requests = plan.requests if plan else ()
        self.reports = [RequestReport(wanted.task.name) for wanted in requests]
        self.spans: list[PhaseSpan] = []
        self.on_progress: Callable[[int, int], None] = lambda done, total: None  # requests
        self._gpu = 0
        self.since = 0
        self._strands: Strands | None = None
        self._open: list[PhaseSpan] = []

    def begin(self) -> None:
        """Requests come from now on."""
        if self.plan is None:
            return
        self.since = self._port.now
        for wanted, report in zip(self.plan.requests, self.reports, strict=True):
            report.wanted = self.since + wanted.at
        self._begin_on(self.plan)

    @property
    def finished(self) -> bool:
        """All requests are served, or can't be, and nothing is under way."""
        return self.plan is None or (self._strands is not None and self._strands.idle and not self._unserved)

    @property
    def _unserved(self) -> list[int]:
        return [number for number, report in enumerate(self.reports) if report.ended is None and report.failed is None]

    def _begin_on(self, plan: SwitchPlan) -> None:
        strands = self._strands = Strands(self._port, self._driver, self._lost)
        self._open = []
        card, gpu = plan.gpus[self._gpu]
        serving = ServingGpu(
            self._port, strands, card, gpu, self._gpu, self.since, self.reports, self.spans, self._open, self._stepped
        )
        policy = SWITCH_POLICIES[plan.policy](serving, plan, [plan.requests[number] for number in self._unserved])
        for strand in policy.strands():
            strands.begin(strand)

    def _lost(self) -> None:
        """The GPU is gone, and all its contexts with it."""
        assert self.plan is not None
        now = self._port.now
        self.spans += [PhaseSpan(s.request, s.phase, s.part, s.gpu, s.began, now, lost=True) for s in self._open]
        self._gpu += 1
        for number in self._unserved:
            report = self.reports[number]
            report.first = report.began = None
            report.ran = report.launches = 0
            if self._gpu == len(self.plan.gpus):
                report.failed = NO_OTHER_GPU
        if self._unserved:
            self._begin_on(self.plan)

    def _stepped(self) -> None:
        self.on_progress(len(self.reports) - len(self._unserved), len(self.reports))
