"""Judges a run while it is played: reads the stream of observations, knows the truth, and never acts on the run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.hardware import FromFirmware
from ringhil.emulator.events.server import CpuSaid, FirmwareStopped, Flapped, LossOver, SharedOut, Struck, TakenIn
from ringhil.emulator.judge.census.names import Names
from ringhil.emulator.judge.census.orphans import Orphans
from ringhil.emulator.judge.conduct import Conduct
from ringhil.emulator.judge.contexts.applications import taken_now
from ringhil.emulator.judge.contexts.turn_log import MemoryWatch
from ringhil.emulator.judge.evidence import RunEvidence
from ringhil.emulator.judge.expectations import EXPECT, Expectations
from ringhil.emulator.judge.findings import Finding, FindingKind, Name, say
from ringhil.emulator.judge.oracle import BLOCKED, OK
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.recovery.bounds import bounds_of, horizon
from ringhil.emulator.judge.recovery.switchover import SwitchOvers
from ringhil.emulator.judge.recovery.watch import Watch
from ringhil.emulator.judge.results import Results
from ringhil.emulator.judge.switching.outcome import SwitchingEvidence, SwitchingOutcome, switching_outcome
from ringhil.emulator.judge.switching.planned import misplanned
from ringhil.emulator.judge.work.acceptance import Acceptance
from ringhil.emulator.scenario import PartKind, TimelineEvent
from ringhil.emulator.server import LiveServer
from ringhil.firmware.observations import Counted, Deposed, Elected, Lapsed, Rejected, Suspected
from ringhil.protocol.frames import Report, Statistics
from ringhil.protocol.wire import Role

_EPOCH = slice(8, 12)  # bytes of a report


class Judge:
    """Make it before the server is started."""

    def __init__(self, server: LiveServer) -> None:
        self._server, self._wiring = server, server.wiring
        self.bounds = bounds_of(server.scenario.server)
        kernel, cpu = server.kernel, server.cpu
        self.watch = Watch(server.wiring, self.bounds, cpu.cards)
        self.orphans = Orphans(kernel, [card.name for card in server.wiring.cards], self.bounds)
        self.acceptance = Acceptance(server.wiring, cpu, [card.role for card in self.watch.cards])
        self.names = Names(self.watch, cpu.cards, self.bounds)
        self._switchovers = SwitchOvers(server, self.bounds)
        self.results = Results(server.wiring, kernel, cpu, self.watch, self.orphans, server.applications)
        server.on_work_over = self._work_over
        switching = server.scenario.switching
        self._memory = MemoryWatch(server, switching.gpus if switching else ())
        listen = server.observations.listen
        listen(FirmwareSaid, self._said)
        listen(FromFirmware, self._sent)
        listen(CpuSaid, self._granted)
        listen(TakenIn, self._taken_in)
        listen(SharedOut, self._shared_out)
        listen(Struck, self._struck)
        listen(FirmwareStopped, self._stopped)
        listen(Flapped, self._flapped)
        listen(LossOver, self._loss_over)
        self.conduct = Conduct(server, self.watch, self.bounds, self._switchovers, self.results.lent)
        self.expectations = Expectations(
            server.scenario.expect,
            kernel,
            cpu,
            self.results,
            self.watch.differs,
            self.conduct.ledger,
            self._switching,
        )

    def _work_over(self) -> None:
        server = self._server
        self.results.until_done = taken_now(server.scenario.server, server.wiring, server.engine, server.kernel.now)

    # ------------------------------------------------------------------------------------------- what is observed

    def _said(self, o: FirmwareSaid) -> None:
        card, gpu = self._wiring.place(o.cell)
        what, watch = o.what, self.watch
        if isinstance(what, Counted):
            watch.counted(card, gpu, what, o.cycle)
        elif isinstance(what, Rejected):
            watch.rejected(card, what, o.cycle)
        elif isinstance(what, Suspected):
            watch.suspected(card, what, o.cycle)
            self.names.suspected(card, what.gpus, o.cycle)
        elif isinstance(what, (Elected, Deposed)):
            group = self._wiring.crossings[o.cell].group if what.role is Role.BOUNDARY else None
            role = watch.cards[card].role if group is None else watch.links[group]
            if isinstance(what, Elected):
                role.elected(gpu, what.epoch, o.cycle)
            else:
                role.gone(gpu, o.cycle)
                watch.noticed([card], o.cycle)
            watch.roles_changed(o.cycle)

    def _sent(self, o: FromFirmware) -> None:
        if o.frame[0] == Statistics.KIND:
            card, gpu = self._wiring.place(o.cell)
            # A GPU that is muted may hold its own message back.
            if self.watch.cards[card].truth.possible((PartKind.GPU, gpu), o.cycle) == {OK}:
                self.orphans.sent(card, o.frame)
        elif o.frame[0] == Report.KIND:
            card, gpu = self._wiring.place(o.cell)
            self.acceptance.said(card, gpu, int.from_bytes(o.frame[_EPOCH]), o.cycle)

    def _granted(self, o: CpuSaid) -> None:
        if isinstance(o.what, Lapsed):
            self.watch.noticed([o.card], o.cycle)
        self.watch.roles_changed(o.cycle)
        self.expectations.news()

    def _taken_in(self, o: TakenIn) -> None:
        card, _ = self._wiring.place(o.cell)
        self.acceptance.taken_in(o)
        self.watch.reported(card, o.cycle)
        self.watch.look_at_shares(self._server.cpu.work.completed > 0, o.cycle)
        if not self._server.cpu.finished:
            self.watch.busy_until = o.cycle
        self.names.reported(card, o.cycle)
        self.expectations.news()

    def _shared_out(self, o: SharedOut) -> None:
        self.watch.shared_out(o.units, o.shares, o.cycle)

    def _struck(self, o: Struck) -> None:
        self.expectations.struck()
        numbers, part = self.watch.oracle.place(o.event)
        if part is None:
            self.watch.event(o.event, o.cycle)
            for number in numbers:
                self.orphans.struck(number, o.event, blocked=False)
            self.expectations.news()
            return
        (card,) = numbers
        truth = self.watch.cards[card].truth
        before = truth.state(part)
        opened = self.watch.event(o.event, o.cycle)
        after = truth.state(part)
        self.orphans.struck(card, o.event, blocked=BLOCKED in (before, after))
        self.expectations.news()
        if after != before:
            self._switchovers.begin(card, part, after, opened)

    def _stopped(self, o: FirmwareStopped) -> None:
        card, gpu = self._wiring.place(o.cell)
        self.watch.cards[card].role.gone(gpu, o.cycle)
        crossing = self._wiring.crossings.get(o.cell)
        if crossing is not None and crossing.leads:
            self.watch.links[crossing.group].gone(gpu, o.cycle)

    def _flapped(self, o: Flapped) -> None:
        self.watch.flapped(o.card, o.gpu, o.failed, o.cycle)
        self.expectations.news()

    def _loss_over(self, o: LossOver) -> None:
        self.watch.loss_over(*self._wiring.place(o.cell), o.cycle)

    # ---------------------------------------------------------------------------------------------------- the end

    def horizon(self) -> int:
        """The cycle by which everything that the scenario speaks of has happened and has had time to be dealt with.
        What is lost on the way changes nothing: the run ends where it would have, also when it is played again."""
        server = self._server
        return horizon(server.scenario, server.planned, self._wiring, self.bounds, self.expectations.last_cycle)

    def outcome(self, since: int) -> Outcome:
        """What came of the run, which is over; `since`: the cycle from which on it was played to its end."""
        server = self._server
        self.conduct.finish(max(self.horizon(), since) if server.scenario.until is None else None)
        switching = self._switching()
        evidence = RunEvidence(
            server.kernel.now,
            self._wiring,
            server.cpu,
            self.watch,
            self.orphans,
            self.acceptance,
            self.names,
            self.conduct,
            server.applications,
            switching.broken if switching else (),
        )
        found = self.results.outcome(server.scenario, self.expectations.end(), evidence, server.seconds)
        unjudged = (*found.unjudged, *self.expectations.untold(), *_without_effect(server.scenario.timeline))
        return replace(found, switching=switching, unjudged=unjudged)

    def _switching(self) -> SwitchingOutcome | None:
        switching, service = self._server.scenario.switching, self._server.switching
        if switching is None or service.plan is None:
            return None
        whole = self._server.scenario.until is None
        held = self._memory.changes
        slice_ = self._server.scenario.server.settings.default_slice
        seen = SwitchingEvidence(service.plan, service.reports, service.spans, held, service.since, whole, slice_)
        found = switching_outcome(switching, seen)
        tasks, now = self.conduct.tasks, self._server.kernel.now
        memory = self._server.scenario.server.settings.device_memory
        wrong = (
            *misplanned(switching, memory, service.plan),
            *tasks.served.wrong(service.reports, service.spans),
            *tasks.freed_parts.wrong(now),
        )
        return replace(found, broken=(*found.broken, *wrong))


def _without_effect(timeline: Sequence[TimelineEvent]) -> Iterator[Finding]:
    """Faults of the file that end in the cycle in which they begin: nothing can come of them."""
    begun: dict[tuple[str, str], int] = {}
    for event in timeline:
        if event.begins:
            begun[event.kind, event.where] = event.at
        elif begun.pop((event.kind, event.where), None) == event.at:
            where = Name(event.where)
            text = say("{} at {} begins and ends in cycle {}: it changes nothing", Name(event.kind), where, event.at)
            yield Finding(text, promise=EXPECT, kind=FindingKind.NOT_JUDGED)
