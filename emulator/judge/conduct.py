"""Checks how firmware and CPU keep to the protocol: leases, claims, keepalives, rounds, units on their way.

It reads the stream, and never acts on the run.
"""

from collections.abc import Sequence

from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.hardware import FromCpu, FromFirmware, ToCpu, ToFirmware
from ringhil.emulator.events.server import CountAsked, CpuSaid, FirmwareStopped, SharedOut, Struck, TakenIn
from ringhil.emulator.judge.census.exits import Exits
from ringhil.emulator.judge.census.noise import NoisyLinks
from ringhil.emulator.judge.census.pace import Pace
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
from ringhil.emulator.judge.elections.messages import Ask, cut_short, read, seats_of
from ringhil.emulator.judge.elections.peers import Peers
from ringhil.emulator.judge.elections.warden_keepalives import WardenKeepalives
from ringhil.emulator.judge.elections.winners import Elections
from ringhil.emulator.judge.findings import FindingList, Name
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.judge.recovery.switchover import SwitchOvers
from ringhil.emulator.judge.recovery.watch import Watch
from ringhil.emulator.judge.work.beginning import Beginning
from ringhil.emulator.judge.work.ledger import Ledger
from ringhil.emulator.judge.work.routes import Routes
from ringhil.emulator.server import LiveServer
from ringhil.firmware.observations import (
    Counted,
    Deposed,
    Elected,
    Granted,
    Lapsed,
    PeerDown,
    PeerUp,
    Rejected,
    Suspected,
)
from ringhil.protocol import codec
from ringhil.protocol.frames import Acknowledgement, Election, Keepalive, Report, Result, Statistics
from ringhil.protocol.wire import Operation, Port, Role

_ELECTIONS = (Keepalive.KIND, Election.KIND)
_UPLINKS = (Port.CPU.code, Port.BOUNDARY.code)
_RING = (Port.CW.code, Port.CCW.code)
_SEQUENCE = slice(12, 16)  # bytes of a statistics message
_ROLE = 24  # byte of a keepalive
_ROLES = {role.code: role for role in Role}


class Conduct:
    """Make it after the parts of the judge that it looks at, which have seen everything before it."""

    def __init__(self, server: LiveServer, watch: Watch, bounds: Sequence[Bounds], switchovers: SwitchOvers) -> None:
        self._wiring, self._cpu, self._kernel = server.wiring, server.cpu, server.kernel
        settings = server.scenario.server.settings
        self._firmware_latency, self._host_latency = settings.firmware_latency, settings.host_latency
        self._seats = seats_of(server.wiring, bounds)
        roles = {(Role.ENTRY, number): card.role for number, card in enumerate(watch.cards)}
        roles |= {(Role.BOUNDARY, number): role for number, role in enumerate(watch.links)}
        self.grants = Grants(list(self._seats.values()), roles)
        self.holding, self.peers, self.switchovers = Holding(), Peers(), switchovers
        self.warden_keepalives, self.noise, self.answers = WardenKeepalives(), NoisyLinks(), CpuAnswers()
        self.announcing, self.exits = Announcing(self.peers), Exits(server.wiring, server.engine.peek)
        self.hold_offs = HoldOffs(self.peers)
        self.fence = Fence(server.wiring, self._seats, server.engine.peek, server.kernel.remind)
        self.rounds = Rounds(never=settings.records == "never")
        self.elections = Elections(watch)
        self.weighing = Weighing(server.wiring, [card.truth for card in watch.cards], bounds)
        self.frame_contents = FrameContents(server.wiring, self._seats, self._firmware_latency)
        self.pace = Pace([card.name for card in server.wiring.cards], server.cpu.cards, bounds)
        work = server.cpu.workload
        wake = server.scenario.server.longest_wake
        self.ledger = Ledger(server.cpu.cards, bounds, settings, work, self.pace.silence // 2, wake)
        self.tasks = TasksConduct(server, self.pace.silence)
        workload = server.scenario.workload
        truths = [card.truth for card in watch.cards]
        self.routes = Routes(server.wiring, server.cpu.cards, truths, 0 if workload is None else workload.across)
        splits = work is not None and work.units > 0 and settings.policy == "proportional"
        self.beginning = Beginning(server.cpu.cards, self.pace.silence, splits=splits)
        self._down: set[int] = set()  # cells whose GPU has failed, and has not said anything since
        self._completed = self._fenced = 0
        self._done_at: int | None = None  # when all work was done
        self._lingered = FindingList()
        listen = server.observations.listen
        listen(FirmwareSaid, self._said)
        listen(FromFirmware, self._from_firmware)
        listen(ToFirmware, self._to_firmware)
        listen(ToCpu, self._to_cpu)
        listen(FirmwareStopped, self._stopped)
        listen(Struck, self._struck)
        listen(CountAsked, lambda o: self.pace.asked(o.card, o.cycle))
        listen(CpuSaid, self._cpu_said)
        listen(TakenIn, self._taken_in)
        listen(FromCpu, self._from_cpu)
        self._works = work is not None
        self._tasks = server.scenario.sharing is not None or server.scenario.switching is not None
        if work is not None:
            listen(SharedOut, self._shared_out)

        self._look_later()

    def _look_later(self) -> None:
        """Just after the CPU looks whether its cards still report: nothing else may happen before one does again."""
        half = self.pace.silence // 2
        self._kernel.remind((self._kernel.now // half + 1) * half + 1, self._look)

    def _look(self) -> None:
        self.pace.look(self._kernel.now)
        self.ledger.other(self._kernel.now)
        self._look_later()

    # ------------------------------------------------------------------------------------------------- firmware

    def _said(self, o: FirmwareSaid) -> None:
        what, now = o.what, o.cycle
        if isinstance(what, Counted):
            card = self._wiring.place(o.cell)[0]
            self.pace.counted(card)
            self.noise.counted(o.cell, what, self._wiring.cards[card].gpus)
            self.exits.counted(o.cell, what, now)
            self.rounds.counted(o.cell)
            self.weighing.counted(o.cell, what, now)
            return
        if isinstance(what, Rejected):
            self.frame_contents.rejects(o.cell)
            self.rounds.rejected(o.cell, Name(str(self._wiring.gpu_of(o.cell))), what, now)
            if what.reason.ends_round:
                self.pace.failed(*self._wiring.place(o.cell), now)
            return
        if isinstance(what, Suspected):
            self.frame_contents.suspects(o.cell, what.gpus)
            return
        if not isinstance(what, Elected | Deposed | Granted | Lapsed | PeerUp | PeerDown):
            return
        self._runs(o.cell, now)
        seat = self._seats[o.cell, what.role]
        card, gpu = self._wiring.place(o.cell)
        if isinstance(what, Elected):
            self.holding.elected(o.cell, seat, what.epoch, now)
            self.hold_offs.elected(o.cell, seat, now)
            self.frame_contents.holds(o.cell, what.role, what.epoch, now)
            self.fence.holds(o.cell, what.role, now)
            self.elections.elected(seat.role, seat.number, gpu, now)
            if what.role is Role.ENTRY:
                self.pace.elected(card, gpu, now)
                self.noise.elected(o.cell, what.epoch)
                self.rounds.elected(o.cell, what.epoch)
        elif isinstance(what, Deposed):
            self.holding.deposed(o.cell, seat, what, now)
            self.hold_offs.deposed(o.cell, seat, what.why, now)
            self.frame_contents.holds_no_more(o.cell, what.role, now)
            self.fence.holds_no_more(o.cell, what.role, now)
            if what.role is Role.ENTRY:
                self.pace.over(card, gpu, now)
                self._counts_no_more(o.cell)
        elif isinstance(what, Granted):
            self.grants.granted(seat, what, now, self.peers.granting(o.cell, seat, now))
            self.frame_contents.holds(o.cell, what.role, what.epoch, now)
            self.fence.holds(o.cell, what.role, now)
        elif isinstance(what, Lapsed):
            self.grants.lapsed(seat, what, now)
            self.frame_contents.holds_no_more(o.cell, what.role, now)
            self.fence.holds_no_more(o.cell, what.role, now)
        elif isinstance(what, PeerUp):
            self.peers.up(o.cell, seat, what.gpu, now)
        else:
            self.peers.down(o.cell, seat, what.gpu, now)

    def _from_firmware(self, o: FromFirmware) -> None:
        self.frame_contents.writes(o.cell, o.port, o.frame, o.cycle)
        self._runs(o.cell, o.cycle)
        if o.frame[0] == Report.KIND:
            card, gpu = self._wiring.place(o.cell)
            name = Name(f"{self._wiring.cards[card].name}.{gpu}")
            self.noise.reported(o.cell, name, o.port, o.frame, o.cycle)
            self.rounds.reported(o.cell, name, o.frame, o.cycle)
        elif o.frame[0] == Keepalive.KIND and o.port in _RING and not cut_short(o.frame):
            self._keepalive(o.cell, o.frame, o.cycle)
        if o.port in _UPLINKS:
            self._up_its_link(o)
        elif o.frame[0] == Statistics.KIND:
            card, gpu = self._wiring.place(o.cell)
            self.pace.sent(card, gpu, int.from_bytes(o.frame[_SEQUENCE]), o.cycle)

    def _up_its_link(self, o: FromFirmware) -> None:
        """A member speaks to its grantor, or a warden to its leader."""
        message = read(o.frame)
        seat = None if message is None else self._seats.get((o.cell, message.role))
        if message is None or seat is None or o.port != seat.uplink.code:
            return
        claims = isinstance(message, Ask) and message.operation is Operation.CLAIM
        if not seat.grants:
            self.holding.sent(o.cell, seat, message, o.cycle)
            if not isinstance(message, Ask):
                self.hold_offs.sent(o.cell, seat, o.cycle)
            if claims and len(seat.members) > 1:
                self.hold_offs.claims(o.cell, seat, o.cycle)
                if seat.role is Role.BOUNDARY:
                    self.announcing.claims(o.cell, seat, o.cycle)
        elif isinstance(message, Ask):
            self.grants.answered(seat, message, o.cycle, self.peers.granting(o.cell, seat, o.cycle))

    def _runs(self, cell: int, now: int) -> None:
        """There is a sign of its firmware: it has booted, if it was down."""
        if cell not in self._down:
            return
        self._down.discard(cell)
        self.fence.boots(cell, now)
        self.weighing.boots(cell, now)
        for role in Role:
            seat = self._seats.get((cell, role))
            if seat is not None and seat.grants:
                self.grants.booted(seat, now)
            elif seat is not None:
                self.hold_offs.boots(cell, seat, now)

    def _keepalive(self, cell: int, frame: bytes, now: int) -> None:
        """It tells the others of its group how it is."""
        role = _ROLES.get(frame[_ROLE])
        seat = None if role is None else self._seats.get((cell, role))
        if seat is None:
            return
        self.peers.writes(cell, seat, frame, now)
        if seat.grants:
            self.warden_keepalives.sent(cell, seat, now)
        elif seat.role is Role.BOUNDARY:
            self.announcing.sent(cell, frame, now)

    def _counts_no_more(self, cell: int) -> None:
        for part in (self.noise, self.rounds, self.exits):
            part.over(cell)

    def _to_firmware(self, o: ToFirmware) -> None:
        if o.frame[0] == Statistics.KIND and o.port in _RING:
            self.rounds.heard(o.cell, o.frame, o.cycle + self._firmware_latency)
            if not o.bad:
                self.noise.heard(o.cell, o.frame)
        if o.bad or o.frame[0] not in _ELECTIONS:
            return
        self.frame_contents.reads(o.cell, o.port, o.frame, o.cycle)
        at = o.cycle + self._firmware_latency
        if o.port not in _UPLINKS:
            role = _ROLES.get(o.frame[_ROLE]) if o.frame[0] == Keepalive.KIND and not cut_short(o.frame) else None
            seat = None if role is None else self._seats.get((o.cell, role))
            if seat is not None and o.cell not in self._down:
                self.peers.heard(o.cell, seat, o.frame, at)
            return
        message = read(o.frame)
        seat = None if message is None else self._seats.get((o.cell, message.role))
        if message is None or seat is None or o.port != seat.uplink.code:
            return
        if seat.grants:
            self.grants.told(seat, message, at)
        else:
            self.holding.told(o.cell, seat, message, at)
            self.hold_offs.answered(o.cell, seat, at)

    def _stopped(self, o: FirmwareStopped) -> None:
        self._down.add(o.cell)
        self.frame_contents.stopped(o.cell)
        self.fence.stopped(o.cell)
        self.peers.stopped(o.cell)
        self.warden_keepalives.stopped(o.cell)
        self.announcing.stopped(o.cell)
        self._counts_no_more(o.cell)
        for role in Role:
            seat = self._seats.get((o.cell, role))
            if seat is None:
                continue
            if seat.grants:
                self.grants.stopped(seat)
            else:
                self.holding.stopped(o.cell, seat)
                self.hold_offs.stopped(o.cell, seat)
        self.pace.over(*self._wiring.place(o.cell), o.cycle)

    # ------------------------------------------------------------------------------------------------------ CPU

    def _to_cpu(self, o: ToCpu) -> None:
        if o.bad:
            return
        if o.frame[0] not in _ELECTIONS:
            self.routes.answer(o.frame, o.cycle)
            return
        message, seat = read(o.frame), self._seats.get((o.cell, Role.ENTRY))
        if message is not None and seat is not None:
            self.grants.told(seat, message, o.cycle + self._host_latency)
            if o.frame[0] == Keepalive.KIND:
                self.answers.asked(o.cell, o.frame)

    def _cpu_said(self, o: CpuSaid) -> None:
        card = self._wiring.cards[o.card]
        seat = self._seats[self._wiring.cell(o.card, card.host_links[o.what.rank]), Role.ENTRY]
        if isinstance(o.what, Granted):
            self.grants.granted(seat, o.what, o.cycle, {})
            self.answers.granted(o.card, o.what.rank, o.what.epoch)
            self.tasks.granted(o.card, o.cycle)
        else:
            self.grants.lapsed(seat, o.what, o.cycle)
            self.answers.lapsed(o.card)
            self.tasks.lapsed(o.card, o.cycle)
        self.pace.look(o.cycle)
        self.ledger.other(o.cycle)

    def _from_cpu(self, o: FromCpu) -> None:
        if o.frame[0] == Keepalive.KIND:
            self.answers.sent(o.cell, self._seats[o.cell, Role.ENTRY], o.frame, o.cycle)
        answer = read(o.frame)
        if isinstance(answer, Ask):
            self.grants.answered(self._seats[o.cell, Role.ENTRY], answer, o.cycle, {})
        if not self._works:
            return
        self.ledger.frame(o.frame, o.cycle)
        self.routes.frame(o.cell, o.frame, o.cycle)

    def _struck(self, o: Struck) -> None:
        self.weighing.struck(o.event, o.cycle)

    def _shared_out(self, o: SharedOut) -> None:
        self.ledger.split(o.shares)
        self.beginning.split(o.cycle)

    def _taken_in(self, o: TakenIn) -> None:
        self.beginning.look(o.cycle)
        self.tasks.counted.look(o.cycle)
        work = self._cpu.work
        booked, fenced = work.completed - self._completed, work.fenced - self._fenced
        self._completed, self._fenced = work.completed, work.fenced
        if o.frame[0] in _ELECTIONS:
            return
        self.pace.look(o.cycle)
        message = None
        if not o.bad and not fenced and o.frame[0] in (Result.KIND, Acknowledgement.KIND):
            message = _decoded(o.frame)
        if isinstance(message, Result | Acknowledgement):
            self.tasks.answered(message, o.cycle)
        elif o.frame[0] == Report.KIND and not o.bad and not fenced:
            self.tasks.reported(self._wiring.place(o.cell)[0], o.cycle)
        if isinstance(message, Result) and message.unit < work.units and message.source_card < len(self._cpu.cards):
            if booked:
                self._done_at = o.cycle if work.completed == work.units else None
                self.ledger.done(message.unit, (message.source_card, message.source), o.cycle)
            else:
                self.ledger.wrong_result(message, o.cycle)
        elif isinstance(message, Acknowledgement):
            self.ledger.refused(message, o.cycle)
        else:
            self.ledger.other(o.cycle)

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
        parts = (self.frame_contents, self.routes, self.answers, self.rounds, self.exits)
        return FindingList.in_time(*(part.wrong for part in parts), self.peers.mistold)

    @property
    def uneven(self) -> FindingList:
        """What came too soon or too late."""
        groups = (self.holding.uneven, self.warden_keepalives.uneven, self.peers.late)
        return FindingList.in_time(*groups, self.pace.wrong, self.beginning.wrong, self._lingered)

    def finish(self, horizon: int | None) -> None:
        """The run is over. `horizon`: the cycle up to which it is played even if all work is done; None: it ends when
        its file says so."""
        now = self._kernel.now
        alone = not self._tasks  # they may have more to do than the work
        if horizon is not None and self._done_at is not None and alone and now > max(horizon, self._done_at):
            self._lingered.tell(now, "the run went on to cycle {}; all work was done at {}", now, self._done_at)
        self.grants.finish(now)
        self.holding.finish(self._seats, now)
        self.peers.finish(now)
        self.pace.finish(now)
        self.frame_contents.finish(now)
        self.warden_keepalives.finish(now)
        self.exits.finish(now)
        self.fence.finish(now)
        self.tasks.finish(now, whole=horizon is not None)
        self.ledger.finish(now)


def _decoded(frame: bytes) -> object:
    try:
        return codec.decode(frame, link=False)
    except codec.FrameError:
        return None
