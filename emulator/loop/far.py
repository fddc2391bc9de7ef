"""Firmware that is somewhere else, as the kernel sees any other: each event is a request, the answer its actions.

An `Exchange` carries a request there and the answer back (`library.py`, `line.py`). Nothing of virtual time passes
meanwhile, so a run is the same however long that takes.
"""

from collections.abc import Callable
from typing import Any

from ringhil.emulator.documents import one_line
from ringhil.emulator.server.foreign import FirmwareError, OutsidePython
from ringhil.firmware import observations as told
from ringhil.firmware.actions import Action
from ringhil.firmware.boot import Boot
from ringhil.firmware.commands import CancelTimer, Send, SetTimer, Write
from ringhil.firmware.election import GroupConfig
from ringhil.protocol import registers
from ringhil.protocol.line import firmware_messages as m
from ringhil.protocol.line.firmware_codec import decode, encode, taken_apart
from ringhil.protocol.line.firmware_loop import MAJOR, MINOR, NOBODY, BootOption, Declined
from ringhil.protocol.line.packing import MessageError
from ringhil.protocol.reasons import LeaseEnd, Rejection
from ringhil.protocol.wire import MAX_CARDS, CensusVerdict, Port, Role

Exchange = Callable[[bytes], bytes]
Look = Callable[[], dict[str, Any] | None]

_IDS = 0x10000
_REGISTERS = {address: name for name, address in registers.ADDRESS.items()}
_WORD = 64  # GPUs in a word of a set
_CARD_BITS = 8  # of a word that names a boundary GPU and its card


def asks_who() -> bytes:
    """The request that comes first: who is there?"""
    return encode(m.AttachRequest(0, MAJOR, MINOR))


def attach(exchange: Exchange) -> m.AttachReply:
    """Who is there. Raises FirmwareError when nobody is who speaks this protocol."""
    reply = _answer(exchange(asks_who()), 0)
    if isinstance(reply, m.DeclinedReply):
        raise FirmwareError(f"attach: {_declined(reply)}")
    if not isinstance(reply, m.AttachReply):
        raise FirmwareError(f"attach: found {type(reply).__name__}; wanted is AttachReply")
    if reply.major != MAJOR:
        raise FirmwareError(f"it speaks version {reply.major}.{reply.minor}; this is {MAJOR}.{MINOR}")
    return reply


def _answer(data: bytes, id_: int) -> m.Message:
    try:
        reply = decode(data)
    except MessageError as error:
        raise FirmwareError(f"the answer is no message: {error}") from None
    if reply.id != id_:  # type: ignore[union-attr]
        raise FirmwareError(f"the answer has id {reply.id}; wanted is {id_}")  # type: ignore[union-attr]
    return reply


class FarFirmware(OutsidePython):
    """What answers at the other end of `exchange`, told who it is by `boot`. `variables`: what is in its memory, by
    name; None: nobody knows. Every method raises FirmwareError."""

    def __init__(self, exchange: Exchange, boot: Boot, variables: Look = lambda: None) -> None:
        self._variables = variables
        self._longest = attach(exchange).longest
        self._exchange, self._status, self._id, self._gpus = exchange, 0, 0, boot.gpus
        c = boot.census
        options = (BootOption.RECORDS if c.records else 0) | (BootOption.BACK_TO_BACK if c.back_to_back else 0)
        options |= (BootOption.ENTRY if boot.entry else 0) | (BootOption.BOUNDARY if boot.boundary else 0)
        options |= BootOption.ASKS if boot.asks else 0
        who = (boot.card, boot.gpu, boot.gpus, boot.boots, boot.memory, boot.seed)
        self._tell(
            m.BootRequest(self._next(), *who, c.period, c.timeout, c.refresh, c.attempts, c.weight, c.gpu_type, options)
        )
        for group in (boot.entry, boot.boundary):
            if group is not None:
                self._tell(_group(self._next(), group))
        if boot.crossing is not None:
            x = boot.crossing
            self._tell(m.CrossingRequest(self._next(), x.peer, x.cards, int(x.from_above)))
        if boot.behind:
            behind = tuple(boot.behind.get(card, 0) for card in range(MAX_CARDS))
            self._tell(m.RoutesRequest(self._next(), behind))

    @property
    def heard(self) -> int:
        """Of requests."""
        return self._id

    def variables(self) -> dict[str, Any] | None:
        """As whoever runs it knows them."""
        return self._variables()

    def start(self, now: int) -> list[Action]:
        """Power-up."""
        return self._ask(m.StartRequest(self._next(), now))

    def on_timer(self, name: str, now: int) -> list[Action]:
        """A timer of its own has run out."""
        return self._ask(m.TimerRequest(self._next(), now, self._status, int(name)))

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        """A frame has come."""
        return self._ask(m.FrameRequest(self._next(), now, port, int(bad), frame))

    def count_now(self, now: int) -> list[Action]:
        """Somebody wants a count."""
        return self._ask(m.CountNowRequest(self._next(), now))

    def on_status(self, status: int) -> None:
        """It is told with the timer that follows."""
        self._status = status

    def _next(self) -> int:
        self._id = (self._id + 1) % _IDS
        return self._id

    def _tell(self, request: m.Message) -> None:
        """What it has to know before it starts: nothing follows from it yet."""
        actions = self._ask(request)
        if actions:
            raise FirmwareError(
                f"{_asked(request)}: found {len(actions)} actions; wanted are none before it is started"
            )

    def _ask(self, request: m.Message) -> list[Action]:
        asked, data = _asked(request), encode(request)
        most = f"this firmware takes messages of {self._longest:,} at most"
        if len(data) > self._longest:
            raise FirmwareError(f"{asked}: has {len(data):,} bytes; {most}")
        answer = self._exchange(data)
        if len(answer) > self._longest:
            raise FirmwareError(f"{asked}: found an answer of {len(answer):,} bytes; {most}")
        reply = _answer(answer, request.id)  # type: ignore[union-attr]
        if isinstance(reply, m.DeclinedReply):
            raise FirmwareError(f"{asked}: {_declined(reply)}")
        if not isinstance(reply, m.DoneReply):
            raise FirmwareError(f"{asked}: found {type(reply).__name__}; wanted is DoneReply")
        try:
            return [self._action(action) for action in taken_apart(reply.actions)]
        except ValueError as error:  # a MessageError is one
            raise FirmwareError(f"{asked}: {error}") from None

    def _action(self, said: m.Message) -> Action:
        """As our firmware would have said it. Raises ValueError for codes that nobody knows."""
        match said:
            case m.SendAction(port, frame):
                return Send(Port.of(port), frame)
            case m.SetTimerAction(timer, delay):
                return SetTimer(str(timer), delay)
            case m.CancelTimerAction(timer):
                return CancelTimer(str(timer))
            case m.WriteAction(address, value):
                return Write(_REGISTERS.get(address, f"0x{address:02X}"), value)
            case m.ElectedAction(role, epoch):
                return told.Elected(Role.of(role), epoch)
            case m.DeposedAction(role, epoch, why):
                return told.Deposed(Role.of(role), epoch, LeaseEnd.of(why))
            case m.GrantedAction(role, epoch, rank, until):
                return told.Granted(Role.of(role), epoch, rank, until)
            case m.LapsedAction(role, epoch, rank, why):
                return told.Lapsed(Role.of(role), epoch, rank, LeaseEnd.of(why))
            case m.PeerUpAction(role, gpu):
                return told.PeerUp(Role.of(role), gpu)
            case m.PeerDownAction(role, gpu):
                return told.PeerDown(Role.of(role), gpu)
            case m.RejectedAction(reason, sequence):
                return told.Rejected(Rejection.of(reason), sequence)
            case m.SuspectedAction(gpus):
                return told.Suspected(gpus)
            case m.CountedAction():
                return self._counted(said)
        raise AssertionError(said)

    def _counted(self, said: m.CountedAction) -> told.Counted:
        words = -(-self._gpus // _WORD)
        if said.known and len(said.sets) < 2 * words:
            raise ValueError(f"counted: {len(said.sets)} words of sets; wanted are {2 * words} at least")
        boundaries = said.sets[2 * words :] if said.known else ()
        return told.Counted(
            count=said.count,
            members=_gpus(said.sets[:words]) if said.known else None,
            verdict=CensusVerdict.of(said.verdict),
            break_after=None if said.break_after == NOBODY else said.break_after,
            break_before=None if said.break_before == NOBODY else said.break_before,
            sequence=said.sequence,
            sent_at=said.sent_at,
            degraded=_gpus(said.sets[words : 2 * words]) if said.known else (),
            boundaries=tuple((word >> _CARD_BITS, word & (1 << _CARD_BITS) - 1) for word in boundaries),
            weight=said.weight,
        )


def _asked(request: m.Message) -> str:
    return type(request).__name__.removesuffix("Request").lower()


def _gpus(words: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(_WORD * i + bit for i, word in enumerate(words) for bit in range(_WORD) if word >> bit & 1)


def _declined(reply: m.DeclinedReply) -> str:
    text = one_line(reply.text.decode("utf-8", "replace"))
    try:
        why = str(Declined.of(reply.why))
    except ValueError:
        why = f"for reason {reply.why}"
    return f"declined, {why}{f': {text}' if text else ''}"


def _group(id_: int, group: GroupConfig) -> m.GroupRequest:
    return m.GroupRequest(
        id=id_,
        role=group.role.code,
        rank=group.rank,
        uplink=group.uplink.code,
        uplink_card=group.uplink_card,
        uplink_home=group.uplink_home,
        interval=group.interval,
        multiplier=group.multiplier,
        jitter=group.jitter,
        slack=group.slack,
        lease=group.lease,
        skew=group.skew,
        guard=group.guard,
        wait_to_restore=group.wait_to_restore,
        members=group.members,
    )
