"""Checks how firmware and CPU keep to the protocol: leases, claims, keepalives, rounds, units on their way.

It reads the stream, and never acts on the run. Its parts listen themselves; what several of them need to know is
derived once, by translators that tell it on the same stream (`SeatEvents`, `CpuEvents`, `ContextEvents`). Here they are
made, and what they have found is put together.
"""

from collections.abc import Callable, Sequence

from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.census.exits import Exits
from ringhil.emulator.judge.census.noise import NoisyLinks
from ringhil.emulator.judge.census.pace import Pace, silence_of
from ringhil.emulator.judge.census.rounds import Rounds
from ringhil.emulator.judge.census.weighing import Weighing
from ringhil.emulator.judge.contexts.tasks_conduct import TasksConduct
from ringhil.emulator.judge.elections.announcing import Announcing
from ringhil.emulator.judge.elections.cpu_answers import CpuAnswers
from ringhil.emulator.judge.elections.fence import Fence
from ringhil.emulator.judge.elections.frame_contents import FrameContents
from ringhil.emulator.judge.elections.grants import Grants
from ringhil.emulator.judge.elections.hold_offs import HoldOffs
from ringhil.emulator.judge.elections.holding import Holding
from ringhil.emulator.judge.elections.messages import seats_of
from ringhil.emulator.judge.elections.peers import Peers
from ringhil.emulator.judge.elections.seat_events import SeatEvents
from ringhil.emulator.judge.elections.warden_keepalives import WardenKeepalives
from ringhil.emulator.judge.elections.winners import Elections
from ringhil.emulator.judge.findings import FindingList
from ringhil.emulator.judge.oracle import LoanTruth
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.judge.recovery.switchover import SwitchOvers
from ringhil.emulator.judge.recovery.watch import Watch
from ringhil.emulator.judge.work.beginning import Beginning, Lingering, TasksBegin
from ringhil.emulator.judge.work.cpu_events import CpuEvents
from ringhil.emulator.judge.work.ledger import Ledger
from ringhil.emulator.judge.work.loans import Loans
from ringhil.emulator.judge.work.routes import Routes
from ringhil.emulator.server import LiveServer
from ringhil.protocol.wire import Role


class Conduct:
    """Make it after the parts of the judge that it looks at, which have seen everything before it. The order in which
    parts are made is the one in which they hear of an event: translators first, then who is asked before who asks."""

    def __init__(
        self,
        server: LiveServer,
        watch: Watch,
        bounds: Sequence[Bounds],
        switchovers: SwitchOvers,
        reported_lent: Callable[[CardView], tuple[int, ...]],
    ) -> None:
        stream, wiring, cpu, scenario = server.observations, server.wiring, server.cpu, server.scenario
        settings, peek, remind = scenario.server.settings, server.engine.peek, server.kernel.remind
        latency, silence = settings.firmware_latency, silence_of(bounds)
        self._kernel = server.kernel

        seats = seats_of(wiring, bounds)
        SeatEvents(stream, seats, latency, settings.host_latency)
        counted = TasksBegin(stream, cpu.cards, silence)
        CpuEvents(stream, wiring, cpu, remind, silence // 2)

        roles = {(Role.ENTRY, number): card.role for number, card in enumerate(watch.cards)}
        roles |= {(Role.BOUNDARY, number): role for number, role in enumerate(watch.links)}
        truths = [card.truth for card in watch.cards]
        self.peers, self.switchovers = Peers(stream), switchovers
        self.grants = Grants(stream, list(seats.values()), roles, self.peers)
        self.holding, self.hold_offs = Holding(stream, seats), HoldOffs(stream, self.peers)
        self.announcing = Announcing(stream, self.peers)
        self.warden_keepalives, self.answers = WardenKeepalives(stream), CpuAnswers(stream, seats)
        self.fence = Fence(stream, wiring, seats, peek, remind)
        self.frame_contents = FrameContents(stream, wiring, seats, latency)
        self.elections = Elections(stream, watch)

        self.exits, self.noise = Exits(stream, wiring, peek), NoisyLinks(stream, wiring)
        self.rounds = Rounds(stream, wiring.places, latency, never=settings.records == "never")
        self.weighing = Weighing(stream, wiring, truths, bounds)
        self.pace = Pace(stream, wiring, cpu.cards, bounds)

        work, workload = cpu.workload, scenario.workload
        lent, wake = LoanTruth(), scenario.server.longest_wake
        self.ledger = Ledger(stream, cpu.cards, bounds, settings, work, silence // 2, wake, lent)
        self.loans = Loans(
            stream, wiring, cpu.cards, lent, self.ledger.units_at, lambda cell: peek(cell, "lent"), reported_lent
        )
        across = 0 if workload is None else workload.across
        self._routes = None if work is None else Routes(stream, wiring, cpu.cards, truths, across)
        splits = work is not None and work.units > 0 and settings.policy == "proportional"
        self._beginning = Beginning(stream, cpu.cards, silence) if splits else None
        # Tasks may have more to do than the work.
        alone = work is not None and scenario.sharing is None and scenario.switching is None
        self._lingering = Lingering(stream, cpu.work) if alone else None
        self.tasks = TasksConduct(server, counted)

    @property
    def too_soon(self) -> FindingList:
        """What was taken back before its time."""
        parts = (self.switchovers, self.peers, self.holding, self.announcing, self.hold_offs, self.grants, self.ledger)
        return FindingList.in_time(*(part.too_soon for part in parts))

    @property
    def off_terms(self) -> FindingList:
        """What is wrong with leases and epochs."""
        return FindingList.in_time(self.grants.wrong, self.holding.wrong)

    @property
    def mistold(self) -> FindingList:
        """Messages that don't say what they must."""
        parts = (self.frame_contents, self._routes, self.answers, self.rounds, self.exits)
        return FindingList.in_time(*(part.wrong for part in parts if part is not None), self.peers.mistold)

    @property
    def uneven(self) -> FindingList:
        """What came too soon or too late."""
        groups = (self.holding.uneven, self.warden_keepalives.uneven, self.peers.late, self.pace.wrong)
        of_work = (part.wrong for part in (self._beginning, self._lingering) if part is not None)
        return FindingList.in_time(*groups, *of_work)

    def finish(self, horizon: int | None) -> None:
        """The run is over. `horizon`: the cycle up to which it is played even if all work is done; None: it ends when
        its file says so."""
        now = self._kernel.now
        if horizon is not None and self._lingering is not None:
            self._lingering.finish(horizon, now)
        for part in (self.grants, self.holding, self.peers, self.pace, self.frame_contents, self.warden_keepalives):
            part.finish(now)
        self.exits.finish(now)
        self.fence.finish(now)
        self.tasks.finish(now, whole=horizon is not None)
        self.ledger.finish(now)
        self.loans.finish(now)
