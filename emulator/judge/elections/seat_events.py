"""What GPUs do in their elections, by their seats: derived from frames and from what firmware says, once for all parts
of the judge, and told on the same stream.

Make `SeatEvents` before the parts that listen to it. A part that listens to frames as well hears what is derived from a
frame before the frame itself, if it came after `SeatEvents`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from ringhil.emulator.events.fields import Cell, Cycle
from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.hardware import FromCpu, FromFirmware, ToCpu, ToFirmware
from ringhil.emulator.events.server import FirmwareStopped
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.messages import Alive, Ask, Seat, read
from ringhil.firmware.observations import Deposed, Elected, Granted, Lapsed, PeerDown, PeerUp
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.values import value
from ringhil.protocol.wire import Port, Role

ELECTIONS = (Keepalive.KIND, Election.KIND)  # kinds of frames
UPLINKS = (Port.CPU.code, Port.BOUNDARY.code)
RING = (Port.CW.code, Port.CCW.code)
_ROLE = 24  # byte of a keepalive
_ROLES = {role.code: role for role in Role}

What = TypeVar("What")
_Seat = Annotated[Seat, "role, group and rank of the GPU there"]
_Seats = Annotated[tuple[Seat, ...], "all of the GPU, entry first"]
_ReadAt = Annotated[int, "cycle in which the receiver reads it, a latency later"]


@value(frozen=True, slots=True)
class SeatSaid(Generic[What]):
    """The firmware of a GPU has said something of one of its roles."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    cell: Cell
    seat: _Seat
    what: Annotated[What, "as the firmware has said it"]


class SeatElected(SeatSaid[Elected]):
    """A member holds a lease from now on."""

    __slots__ = ()


class SeatDeposed(SeatSaid[Deposed]):
    """A member holds it no longer."""

    __slots__ = ()


class SeatGranted(SeatSaid[Granted]):
    """A warden has given a lease."""

    __slots__ = ()


class SeatLapsed(SeatSaid[Lapsed]):
    """A lease has ended for its warden."""

    __slots__ = ()


class SeatPeerUp(SeatSaid[PeerUp]):
    """A GPU takes another one of its group for up."""

    __slots__ = ()


class SeatPeerDown(SeatSaid[PeerDown]):
    """A GPU takes another one of its group for down."""

    __slots__ = ()


_BY_WHAT: dict[type, type[SeatSaid[Any]]] = {
    Elected: SeatElected,
    Deposed: SeatDeposed,
    Granted: SeatGranted,
    Lapsed: SeatLapsed,
    PeerUp: SeatPeerUp,
    PeerDown: SeatPeerDown,
}


@value(frozen=True, slots=True)
class LinkMessage:
    """A message of an election between a member and its grantor: the CPU, or a warden."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    cell: Annotated[int, "of the GPU that sends it; of the CPU's, that of the member"]
    seat: Annotated[Seat, "of that GPU"]
    message: Annotated[Alive | Ask, "what it says"]


class MemberSent(LinkMessage):
    """A member speaks to its grantor."""

    __slots__ = ()


class GrantorSent(LinkMessage):
    """The CPU or a warden answers a member's claim."""

    __slots__ = ()


@value(frozen=True, slots=True)
class MessageArrived:
    """A message of an election has arrived, sound, over the link between a member and its grantor."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    cell: Annotated[int, "of the GPU that it has come to; of the CPU's, that of the member"]
    seat: Annotated[Seat, "of that GPU"]
    message: Annotated[Alive | Ask, "what it says"]
    read_at: _ReadAt


class GrantorHears(MessageArrived):
    """A member's message has reached the CPU, or a warden."""

    __slots__ = ()


class MemberHears(MessageArrived):
    """A grantor's message has reached the member."""

    __slots__ = ()


@value(frozen=True, slots=True)
class KeepaliveSent:
    """A GPU sends a keepalive round its ring, whole."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    cell: Cell
    seat: _Seat
    frame: Annotated[bytes, "the keepalive"]


@value(frozen=True, slots=True)
class KeepaliveHeard:
    """A keepalive has come round the ring, sound and whole, to a GPU whose firmware runs."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    cell: Cell
    seat: _Seat
    frame: Annotated[bytes, "the keepalive"]
    read_at: _ReadAt


@value(frozen=True, slots=True)
class Booted:
    """There is a sign of a GPU's firmware, for the first time since it has failed."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    cell: Cell
    seats: _Seats


@value(frozen=True, slots=True)
class SeatsStopped:
    """A GPU has failed, and its firmware with it (`FirmwareStopped`)."""

    TOLD_BY: ClassVar[str] = "judge"

    cycle: Cycle
    cell: Cell
    seats: _Seats


class SeatEvents:
    """The translator. Latencies: cycles from when a frame is there until firmware, or the CPU, reads it."""

    def __init__(
        self, stream: Stream, seats: Mapping[tuple[int, Role], Seat], firmware_latency: int, host_latency: int
    ) -> None:
        self._seats, self._tell = seats, stream.tell
        self._firmware_latency, self._host_latency = firmware_latency, host_latency
        self._down: set[int] = set()  # cells whose GPU has failed, and has not said anything since
        stream.listen(FirmwareSaid, self._said)
        stream.listen(FromFirmware, self._from_firmware)
        stream.listen(ToFirmware, self._to_firmware)
        stream.listen(ToCpu, self._to_cpu)
        stream.listen(FromCpu, self._from_cpu)
        stream.listen(FirmwareStopped, self._stopped)

    def _of(self, cell: int) -> tuple[Seat, ...]:
        found = (self._seats.get((cell, role)) for role in Role)
        return tuple(seat for seat in found if seat is not None)

    def _runs(self, cell: int, now: int) -> None:
        if cell in self._down:
            self._down.discard(cell)
            self._tell(Booted(now, cell, self._of(cell)))

    def _stopped(self, o: FirmwareStopped) -> None:
        self._down.add(o.cell)
        self._tell(SeatsStopped(o.cycle, o.cell, self._of(o.cell)))

    def _said(self, o: FirmwareSaid) -> None:
        kind, what = _BY_WHAT.get(type(o.what)), o.what
        if kind is not None and isinstance(what, (Elected, Deposed, Granted, Lapsed, PeerUp, PeerDown)):
            self._runs(o.cell, o.cycle)
            self._tell(kind(o.cycle, o.cell, self._seats[o.cell, what.role], what))

    def _from_firmware(self, o: FromFirmware) -> None:
        self._runs(o.cell, o.cycle)
        if o.port in UPLINKS:
            message, seat = self._over_its_link(o)
            if message is None or seat is None:
                return
            if not seat.grants:
                self._tell(MemberSent(o.cycle, o.cell, seat, message))
            elif isinstance(message, Ask):
                self._tell(GrantorSent(o.cycle, o.cell, seat, message))
        elif o.frame[0] == Keepalive.KIND and o.port in RING:
            seat = self._sender(o.cell, o.frame)
            if seat is not None:
                self._tell(KeepaliveSent(o.cycle, o.cell, seat, o.frame))

    def _to_firmware(self, o: ToFirmware) -> None:
        if o.bad or o.frame[0] not in ELECTIONS:
            return
        at = o.cycle + self._firmware_latency
        if o.port in UPLINKS:
            message, seat = self._over_its_link(o)
            if message is not None and seat is not None:
                self._tell((GrantorHears if seat.grants else MemberHears)(o.cycle, o.cell, seat, message, at))
        elif o.frame[0] == Keepalive.KIND and o.cell not in self._down:
            seat = self._sender(o.cell, o.frame)
            if seat is not None:
                self._tell(KeepaliveHeard(o.cycle, o.cell, seat, o.frame, at))

    def _to_cpu(self, o: ToCpu) -> None:
        if o.bad or o.frame[0] not in ELECTIONS:
            return
        message, seat = read(o.frame), self._seats.get((o.cell, Role.ENTRY))
        if message is not None and seat is not None:
            self._tell(GrantorHears(o.cycle, o.cell, seat, message, o.cycle + self._host_latency))

    def _from_cpu(self, o: FromCpu) -> None:
        if o.frame[0] in ELECTIONS:
            answer = read(o.frame)
            if isinstance(answer, Ask):
                self._tell(GrantorSent(o.cycle, o.cell, self._seats[o.cell, Role.ENTRY], answer))

    def _over_its_link(self, o: FromFirmware | ToFirmware) -> tuple[Alive | Ask | None, Seat | None]:
        """The message, and the seat of whoever sends or reads it; nothing where it is on a link that isn't its."""
        message = read(o.frame)
        seat = None if message is None else self._seats.get((o.cell, message.role))
        return (message, seat) if seat is not None and o.port == seat.uplink.code else (None, None)

    def _sender(self, cell: int, frame: bytes) -> Seat | None:
        """The seat of a GPU in the role of a keepalive; None: it has no part in it, or the keepalive is cut short."""
        role = _ROLES.get(frame[_ROLE]) if len(frame) >= Keepalive.HEAD.size else None
        return None if role is None else self._seats.get((cell, role))
