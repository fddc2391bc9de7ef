"""A card of a running server, as its management port sees it: it carries out requests, and tells what happens."""

from collections.abc import Callable
from functools import partial

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.hardware import FrameSeen, FromFirmware, ToCpu
from ringhil.emulator.events.server import LossOver, PassedOn, Struck
from ringhil.emulator.host.contexts.command import ContextRef, Reply, is_command
from ringhil.emulator.host.contexts.outside import OutsideClient, OutsideContext
from ringhil.emulator.scenario import EventAction, GpuRef, LinkRef, TimelineEvent
from ringhil.emulator.scenario.file.faults import FAULTS, PARAMETERS, FaultTarget
from ringhil.emulator.serial.line.noise import LineFaults
from ringhil.emulator.server import LiveServer
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.observations import Deposed, Elected
from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Acknowledgement, Frame, Report, Result, Work
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import Belongs, EventKind, Injection, LineFault, Refusal, Way
from ringhil.protocol.line.messages import InjectRequest
from ringhil.protocol.registers import REGISTERS
from ringhil.protocol.wire import CensusVerdict, Compute, Port

_REGISTERS = {register.address: register for register in REGISTERS}
_PORTS = Port.codes()
_NONE = CensusVerdict.NONE.code
_UNIT = slice(12, 16)  # of an answer's bytes

Answer = Callable[[m.Message], None]
Follower = Callable[[int, m.Message], None]


class NotDone(RinghilError):
    """Is raised for a request that is refused. `why` is the reason on the wire; the text is a sentence for people."""

    def __init__(self, why: Refusal, text: str) -> None:
        super().__init__(text)
        self.why = why


class Injections:
    """Turns faults that are asked for over the port into events of a timeline.

    It knows which faults of its card are set: those of the timeline and those that a lost board leaves behind as well,
    since who begins or ends a fault doesn't matter. `for_good` says whether a fault can't be ended."""

    def __init__(self, wiring: Wiring, card: int, for_good: Callable[[str, GpuRef], bool]) -> None:
        self._wiring, self._card, self._for_good = wiring, wiring.cards[card], for_good
        self._number = card
        self._set: set[tuple[str, int]] = set()

    def event(self, asked: InjectRequest, now: int) -> TimelineEvent:
        """Returns what is asked for as an event at `now`. Raises NotDone."""
        try:
            injection, name = Injection.of(asked.injection), LineFault.of(asked.fault)
        except ValueError as error:
            raise NotDone(Refusal.BAD_VALUE, str(error)) from None
        fault, place = FAULTS[name], (str(name), asked.gpu)
        if asked.gpu >= self._card.gpus:
            raise NotDone(Refusal.NO_SUCH_GPU, f"GPU {asked.gpu}: the card has 0 .. {self._card.gpus - 1}")
        self._check_place(name, fault.hits, asked.gpu)
        begins = injection is Injection.SET
        if begins == (place in self._set):
            raise NotDone(Refusal.BAD_VALUE, f"{name} of GPU {asked.gpu} is {'set' if begins else 'not set'}")
        target = GpuRef(self._card.name, asked.gpu)
        if not begins and self._for_good(name, target):
            raise NotDone(Refusal.BAD_VALUE, f"{name} of GPU {asked.gpu} is for good: its board is gone")
        value = self._value(name, asked.value) if begins else None
        (self._set.add if begins else self._set.discard)(place)
        link = LinkRef(self._card.name, asked.gpu, self._card.gpus)
        action = EventAction.FAULT if begins else EventAction.CLEAR
        return TimelineEvent(now, action, name, target if fault.target == "gpu" else link, None, 0, value)

    def struck(self, event: TimelineEvent, gpu: int) -> None:
        """Notes that a fault of this card has begun or ended."""
        if not event.reverse:  # the other direction can't be asked for here
            (self._set.add if event.begins else self._set.discard)((event.kind, gpu))

    def over(self, kind: str, gpu: int) -> None:
        """Notes that a fault has ended by itself."""
        self._set.discard((kind, gpu))

    def _check_place(self, name: str, hits: FaultTarget, gpu: int) -> None:
        linked = gpu in self._card.host_links
        if hits is FaultTarget.HOST_LINKED and not linked:
            raise NotDone(Refusal.BAD_VALUE, f"{name}: GPU {gpu} has no link to the CPU")
        crossing = self._wiring.cell(self._number, gpu) in self._wiring.crossings
        if hits is FaultTarget.KEEPING_ALIVE and not (linked or crossing):
            raise NotDone(Refusal.BAD_VALUE, f"{name}: GPU {gpu} sends no keepalives")

    @staticmethod
    def _value(name: str, asked: int) -> int | None:
        parameter = FAULTS[name].parameter
        if parameter is None:
            if asked:
                raise NotDone(Refusal.BAD_VALUE, f"{name} takes no value; found {asked}")
            return None
        allowed = PARAMETERS[parameter]
        value = asked or allowed.default
        if not allowed.low <= value <= allowed.high:
            raise NotDone(Refusal.BAD_VALUE, f"{name}: found {asked}; allowed are {allowed.low} .. {allowed.high}")
        return value


class ManagedCard:
    """Card number `card` of `server`, which has not started yet. A follower is told each event of the card, and its
    kinds."""

    def __init__(self, server: LiveServer, card: int) -> None:
        self._server, self.number = server, card
        self.card = server.wiring.cards[card]
        self._first = server.wiring.cell(card, 0)
        self._injections = Injections(server.wiring, card, server.for_good)
        self._last: m.LastCensusReply | None = None
        self._accepted = 0
        self._counting: list[tuple[int, int, Answer]] = []  # cycle in which it was asked for, and id
        self.followers: list[Follower] = []
        self.line_faults = LineFaults()
        for event in server.scenario.lines:
            if event.card == self.card.name:
                server.kernel.early(event.at, partial(self.line_faults.apply, event))
        seen = server.observations
        seen.listen_to_frames(self._frame)
        seen.listen(FirmwareSaid, self._said)
        seen.listen(Struck, self._struck)
        seen.listen(LossOver, self._loss_over)

    @property
    def now(self) -> int:
        """The present cycle."""
        return self._server.kernel.now

    def gone(self, client: OutsideClient) -> None:
        """A client has gone, and so do its contexts."""
        self._server.outside.gone(client)

    def carry_out(self, request: m.Message, answer: Answer, client: OutsideClient) -> None:
        """Do what a client asks, and answer: at once, a write when it holds, a census when it is over, the destruction
        of a context when its GPU has said so. Raises NotDone."""
        match request:
            case m.TimeRequest():
                answer(m.TimeReply(request.id, self.now))
            case m.ReadRequest():
                value = self._server.engine.peek(self._cell(request.gpu), self._register(request.address))
                answer(m.ReadReply(request.id, value, self.now))
            case m.WriteRequest():
                cell, register = self._cell(request.gpu), self._register(request.address, writing=True)
                self._server.engine.poke(cell, register, request.value)
                held = self.now + 1
                self._server.kernel.at(held, lambda: answer(m.WriteReply(request.id, held)))
            case m.CensusRequest():
                self._count(request, answer)
            case m.LastCensusRequest():
                if self._last is None:
                    raise NotDone(Refusal.NOT_COUNTED, "no census has been accepted since power-up")
                answer(_as(m.LastCensusReply, request.id, self._last))
            case m.SendRequest():
                self._send(request, client)
                answer(m.SendReply(request.id, self.now))
            case m.InjectRequest():
                self._server.strike([self._injections.event(request, self.now)])
                answer(m.InjectReply(request.id, self.now))
            case m.ClientContextRequest():
                answer(self._context(request))
            case m.FreeContextRequest():
                self._free_context(request, answer)
            case m.KeepContextsRequest():
                if request.keep > 1:
                    raise NotDone(Refusal.BAD_VALUE, f"keep: found {request.keep}; allowed are 0 and 1")
                client.keeps = bool(request.keep)
                answer(m.KeepContextsReply(request.id, self.now))
            case _:
                raise NotDone(Refusal.UNKNOWN_TYPE, f"{type(request).__name__} is no request")

    # -------------------------------------------------------------------------------------------- requests

    def _cell(self, gpu: int) -> int:
        if gpu >= self.card.gpus:
            raise NotDone(Refusal.NO_SUCH_GPU, f"GPU {gpu}: the card has 0 .. {self.card.gpus - 1}")
        return self._first + gpu

    @staticmethod
    def _register(address: int, *, writing: bool = False) -> str:
        register = _REGISTERS.get(address)
        if register is None:
            raise NotDone(Refusal.NO_SUCH_REGISTER, f"there is no register at 0x{address:02X}")
        if writing and register.access != "rw":
            raise NotDone(Refusal.READ_ONLY, f"{register.name} can only be read")
        return register.name

    def _count(self, request: m.CensusRequest, answer: Answer) -> None:
        if not any(self._is_entry(gpu) for gpu in self.card.host_links):
            raise NotDone(Refusal.NO_ENTRY_GPU, "no GPU is elected to count")
        self._counting.append((self.now, request.id, answer))
        self._server.count_now(self.number)

    def _count_again(self) -> None:
        """Begins a census for clients that asked while another was under way, which may have missed what changed
        since."""
        if self._counting:
            self._server.count_now(self.number)

    def _is_entry(self, gpu: int) -> bool:
        return self._server.counts(self._first + gpu)

    def _send(self, request: m.SendRequest, client: OutsideClient) -> None:
        cell = self._cell(request.gpu)
        if request.port not in _PORTS.values():
            raise NotDone(Refusal.BAD_VALUE, f"port {request.port}: allowed are {', '.join(map(str, _PORTS.values()))}")
        try:
            frame = codec.decode(request.frame, check=False)
        except codec.FrameError as error:
            raise NotDone(Refusal.BAD_VALUE, f"this is no frame: {error}") from None
        if frame.KIND in (kind.code for kind in wire.DATA_KINDS):
            self._pass_on(request, frame, client)
        else:
            self._server.kernel.send_mail(cell, request.port, request.frame)

    def _pass_on(self, request: m.SendRequest, frame: Frame, client: OutsideClient) -> None:
        """Passes on a command to a context, or a part of one. Its sender is a driver beside the CPU's own."""
        if not isinstance(frame, Work) or frame.compute == Compute.DIGEST.code or not is_command(frame.unit):
            text = "of the data channel only commands to contexts are sent for others, numbered from 0x80000000"
            raise NotDone(Refusal.CANNOT, text)
        if request.port != Port.CPU.code:
            raise NotDone(Refusal.BAD_VALUE, f"port {request.port}: allowed for a command is {Port.CPU.code}")
        if {frame.card, frame.source_card} != {self.number}:
            cards = f"card {frame.card}, by way of card {frame.source_card}"
            raise NotDone(Refusal.BAD_VALUE, f"{cards}: allowed for a command is this card's number, {self.number}")
        view = self._server.cpu.cards[self.number]
        if view.entry != request.gpu:
            raise NotDone(Refusal.NO_ENTRY_GPU, f"GPU {request.gpu} is not the entry GPU now")
        if frame.destination in view.lent:
            raise NotDone(Refusal.CANNOT, f"GPU {frame.destination} is lent to a virtual machine")
        self._server.observations.tell(PassedOn(self.now, self.number, frame.destination, frame.context))
        place = ContextRef(self.number, frame.destination, frame.context)
        self._server.outside.sent(client, place, frame)
        self._server.cpu.driver.pass_on(view, place, request.frame)

    def _outside(self) -> list[OutsideContext]:
        return [each for each in self._server.outside if each.place.card == self.number]

    def _context(self, request: m.ClientContextRequest) -> m.ClientContextReply:
        found = self._outside()
        if request.index >= len(found):
            return m.ClientContextReply(request.id, len(found), 0, 0, 0, 0, 0, 0)
        each = found[request.index]
        place, client = each.place, each.client
        belongs = Belongs.LEFT if not client.here else Belongs.KEPT if client.keeps else Belongs.CONNECTED
        belongs = Belongs.UNREACHED if self._server.outside.lost(each) else belongs
        about = (place.gpu, place.context, belongs.code, client.number, each.held, each.limit)
        return m.ClientContextReply(request.id, len(found), *about, client.name.encode())

    def _free_context(self, request: m.FreeContextRequest, answer: Answer) -> None:
        self._cell(request.gpu)
        where = f"context {request.context} of GPU {request.gpu}"
        found = self._server.outside.find(ContextRef(self.number, request.gpu, request.context))
        if found is None:
            raise NotDone(Refusal.BAD_VALUE, f"{where}: no client has created it")
        if found.leaving:
            raise NotDone(Refusal.BUSY, f"{where} is being destroyed already")

        def then(reply: Reply) -> None:
            if reply.status is None:
                text = f"{where}: its GPU gives no answer".encode()
                answer(m.RefusedReply(request.id, Refusal.NO_ENTRY_GPU.code, text))
            else:
                answer(m.FreeContextReply(request.id, self.now))

        self._server.outside.destroy(found, then)

    # ---------------------------------------------------------------------------------------------- events

    def _tell(self, kinds: int, event: m.Message) -> None:
        for follower in self.followers:
            follower(kinds, event)

    def _frame(self, seen: FrameSeen) -> None:
        gpu = seen.cell - self._first
        if not 0 <= gpu < self.card.gpus:
            return
        if self.followers:
            way = Way.parse(seen.WAY)
            event = m.FrameEvent(0, gpu, seen.port, way.code, int(seen.bad), seen.cycle, seen.frame)
            answers = isinstance(seen, ToCpu) and _answers_a_command(seen.frame)
            self._tell(EventKind.FRAMES | EventKind.ANSWERS if answers else EventKind.FRAMES, event)
        if isinstance(seen, FromFirmware) and seen.frame[:1] == bytes([Report.KIND]):
            report = codec.decode(seen.frame, check=False)
            assert isinstance(report, Report)
            self._reported(report)

    def _reported(self, report: Report) -> None:
        """Answers everybody who asked for a census before this one began: the entry GPU reports how it has ended."""
        asked = [(number, answer) for at, number, answer in self._counting if at <= report.sent_at]
        self._counting = [each for each in self._counting if each[0] > report.sent_at]
        if self._counting:
            self._server.kernel.after(1, self._count_again)
        if report.verdict == _NONE:
            for number, answer in asked:
                text = b"the census was rejected, as often as it was tried"
                answer(m.RefusedReply(number, Refusal.NOT_COUNTED.code, text))
            return
        self._accepted += 1
        members = report.sets[: (report.size + 63) // 64]
        self._last = m.LastCensusReply(
            0,
            report.epoch,
            report.sequence,
            report.source,
            report.count,
            report.size,
            report.verdict,
            report.break_after,
            report.break_before,
            report.sent_at,
            self.now,
            self._accepted,
            report.rejected,
            members if any(members) else (),
        )
        for number, answer in asked:
            answer(_as(m.CensusReply, number, self._last))
        self._tell(EventKind.COUNTS, _as(m.CountEvent, 0, self._last))

    def _said(self, said: FirmwareSaid) -> None:
        gpu, what = said.cell - self._first, said.what
        if 0 <= gpu < self.card.gpus and isinstance(what, Elected | Deposed):
            holds = int(isinstance(what, Elected))
            self._tell(EventKind.ROLES, m.RoleEvent(0, gpu, what.role.code, holds, what.epoch, said.cycle))

    def _struck(self, struck: Struck) -> None:
        event = struck.event
        card, gpu = getattr(event.target, "card", None), getattr(event.target, "index", 0)
        if card != self.card.name or event.lends:
            return  # another card, or a link between cards; or no fault
        self._injections.struck(event, gpu)
        injection = Injection.SET if event.begins else Injection.CLEAR
        fault = LineFault.parse(event.kind)
        told = m.FaultEvent(0, injection.code, fault.code, gpu, event.value or 0, struck.cycle)
        self._tell(EventKind.FAULTS, told)

    def _loss_over(self, over: LossOver) -> None:
        self._injections.over("keepalive_loss", over.cell - self._first)


def _answers_a_command(frame: bytes) -> bool:
    return frame[0] in (Result.KIND, Acknowledgement.KIND) and is_command(int.from_bytes(frame[_UNIT]))


_Census = m.CensusReply | m.CountEvent | m.LastCensusReply


def _as(kind: type[_Census], number: int, last: m.LastCensusReply) -> _Census:
    values = [getattr(last, name) for name in m.LastCensusReply.__slots__ if name != "id"]
    return kind(number, *values)
