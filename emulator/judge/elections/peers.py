"""Whom each GPU of a group takes for up, held against the keepalives that it has read.

A GPU heard for the first time is up at once. One that was down is up again with the message until which it has been
heard without a gap for as long as it must, neither sooner nor later: `wait_to_restore`, twice as long after each
further failure, 64 times at most; as long good behaviour as eight times that wait wipes it out. Copies, and messages
that were overtaken on the way, are old news and count for nothing. Firmware that never says whom it takes for up is not
judged.
"""

from collections import deque
from dataclasses import dataclass

from ringhil.emulator.events.server import FirmwareStopped
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.messages import Seat
from ringhil.emulator.judge.elections.seat_events import KeepaliveHeard, KeepaliveSent, SeatPeerDown, SeatPeerUp
from ringhil.emulator.judge.findings import Finding, FindingList, say
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.values import value
from ringhil.protocol.wire import MemberFlag, MemberState, Role

_MOST_DOUBLINGS, _FORGIVEN_AFTER = 6, 8
_STATE_BITS, _CANDIDATE, _HOLDER = 0x0F, MemberState.CANDIDATE.code, MemberState.HOLDER.code
_HEARD = slice(32, 40)  # of a keepalive
_WORD, _SHORT = 0xFFFF, 0x8000  # boots go round


@dataclass
class _Peer:
    """Another GPU of the group. `due`: the cycle in which it had to be taken for up, and was not yet."""

    heard_at: int
    since: int  # heard without a gap
    up_at: int
    boot: int = 0
    sequence: int = -1
    state: int = 0
    left: int = 0  # the last cycle in which it was read to hold the role no longer
    up: bool = False
    due: int | None = None
    told: bool = False  # that it is late
    down_at: int | None = None
    wait: int = 0
    doublings: int = 0
    grants: tuple[int, int] | None = None  # a lease that it has told of: in which boot, and how long it may run


@value(frozen=True, slots=True)
class _Read:
    """A keepalive that the firmware reads at cycle `at`."""

    at: int
    seat: Seat
    gpu: int
    boot: int
    sequence: int
    state: int


class Peers:
    """Others ask it whom a GPU hears: make it before them."""

    def __init__(self, stream: Stream) -> None:
        self._peers: dict[tuple[int, Role], dict[int, _Peer]] = {}
        self._seats: dict[tuple[int, Role], Seat] = {}
        self._unread: dict[int, deque[_Read]] = {}
        self._speaks: set[int] = set()  # cells whose firmware says whom it takes for up
        self._late: list[tuple[int, str, int]] = []
        self.too_soon = FindingList()
        self.mistold = FindingList()
        stream.listen(KeepaliveHeard, self._heard)
        stream.listen(SeatPeerDown, lambda o: self._is_down(o.cell, o.seat, o.what.gpu, o.cycle))
        stream.listen(SeatPeerUp, lambda o: self._is_up(o.cell, o.seat, o.what.gpu, o.cycle))
        stream.listen(KeepaliveSent, self._writes)
        stream.listen(FirmwareStopped, self._stopped)

    @property
    def late(self) -> FindingList:
        """Who was taken for up later than it had to be, and when."""
        return FindingList(Finding(text, at) for cell, text, at in self._late if cell in self._speaks)

    # ------------------------------------------------------------------------------------------------- what is seen

    def _heard(self, o: KeepaliveHeard) -> None:
        f = Keepalive.HEAD.unpack_from(o.frame)
        gpu, seat = f[7] >> 16, o.seat
        if gpu != seat.gpu and gpu in seat.members:
            self._unread.setdefault(o.cell, deque()).append(_Read(o.read_at, seat, gpu, f[7] & _WORD, f[6], f[12]))

    def _is_down(self, cell: int, seat: Seat, gpu: int, now: int) -> None:
        """It has not heard another GPU for too long."""
        self._read(cell, now - 1)  # what comes in this very cycle came too late
        self._speaks.add(cell)
        peer = self._of(cell, seat).get(gpu)
        if peer is None or seat.far == gpu:  # two may have the same number, one on each card
            return
        if peer.heard_at - peer.up_at >= _FORGIVEN_AFTER * max(peer.wait, seat.times.wait_to_restore):
            peer.doublings = 0
        peer.wait = seat.times.wait_to_restore << peer.doublings
        peer.doublings = min(peer.doublings + 1, _MOST_DOUBLINGS)
        peer.up, peer.down_at, peer.due, peer.told = False, now, None, False

    def _is_up(self, cell: int, seat: Seat, gpu: int, now: int) -> None:
        """It takes another GPU for up."""
        self._read(cell, now)
        self._speaks.add(cell)
        if seat.far == gpu:
            return
        peer = self._of(cell, seat).setdefault(gpu, _Peer(now, now, now))
        if peer.up:
            self.mistold.tell(now, "{} takes GPU {} for up at cycle {}, as it did before", seat.name, gpu, now)
        if peer.down_at is not None and now - peer.since < peer.wait:
            heard = say(
                "which it has heard for {found} cycles; it waits for {expected}",
                found=now - peer.since,
                expected=peer.wait,
            )
            self.too_soon.tell(now, "{} takes GPU {} for up at cycle {}, {}", seat.name, gpu, now, heard)
        self._look(cell, seat, gpu, peer, now)
        peer.up, peer.up_at, peer.down_at, peer.due = True, now, None, None

    def _writes(self, o: KeepaliveSent) -> None:
        """It says whom it hears."""
        cell, seat, frame, now = o.cell, o.seat, o.frame, o.cycle
        if cell not in self._speaks:
            return
        said = int.from_bytes(frame[_HEARD])
        peers = self._of(cell, seat)
        for rank, gpu in enumerate(seat.members):
            if gpu in (seat.gpu, seat.far):
                continue
            up = gpu in peers and peers[gpu].up
            if bool(said >> rank & 1) != up:
                text = say(
                    "GPU {} is {}among those it hears, and it is {}",
                    gpu,
                    "not " if up else "",
                    "up" if up else "not up",
                )
                self.mistold.tell(now, "{} sent a message at cycle {}: {}", seat.name, now, text)

    def _stopped(self, o: FirmwareStopped) -> None:
        """It forgets whom it heard."""
        self._unread.pop(o.cell, None)
        for role in Role:
            self._peers.pop((o.cell, role), None)

    def finish(self, now: int) -> None:
        """The run is over."""
        for cell in self._unread:
            self._read(cell, now - 1)
        for (cell, role), peers in self._peers.items():
            for gpu, peer in peers.items():
                self._look(cell, self._seats[cell, role], gpu, peer, now)

    # ------------------------------------------------------------------------------------------ what follows from it

    def goes_first(self, cell: int, seat: Seat, now: int) -> int | None:
        """The GPU whose turn it is rather than that of `seat`, which asks: a better one that is heard, isn't reluctant,
        has an uplink and says that it is a candidate."""
        self._read(cell, now - 1)
        if any(read.at == now for read in self._unread.get(cell, ())):
            return None  # of what is read in this very cycle it may know or not
        for gpu in seat.members[: seat.rank]:
            peer = self._of(cell, seat).get(gpu)
            if peer is None or now - peer.heard_at > seat.times.lease or peer.sequence < 0:
                continue
            flags = MemberFlag.UPLINK, MemberFlag.RELUCTANT
            uplink, reluctant = (bool(peer.state & flag) for flag in flags)
            if peer.state & _STATE_BITS == _CANDIDATE and uplink and not reluctant:
                return gpu
        return None

    def vacant_since(self, cell: int, seat: Seat, now: int) -> int | None:
        """The first cycle since which `seat` may have heard of nobody that holds the role; None: it hears no other that
        could, or it can't be told."""
        if not self.hears_one(cell, seat, now):
            return None
        since, lease = 0, seat.times.lease
        for peer in self._of(cell, seat).values():
            holds = peer.state & _STATE_BITS == _HOLDER and peer.state & MemberFlag.UPLINK
            over = min(now, peer.heard_at + lease + 1) if holds else peer.left
            since = max(since, over)
        return since

    def hears_one(self, cell: int, seat: Seat, now: int) -> bool | None:
        """Whether `seat` hears another that could hold the role; None: it reads something in this very cycle, which it
        may know or not."""
        self._read(cell, now - 1)
        if any(read.at == now for read in self._unread.get(cell, ())):
            return None
        peers, lease = self._of(cell, seat).values(), seat.times.lease
        heard = [peer for peer in peers if peer.sequence >= 0 and now - peer.heard_at <= lease]
        return any(peer.state & MemberFlag.UPLINK for peer in heard)

    def granting(self, cell: int, seat: Seat, now: int) -> dict[int, int] | None:
        """Of the other wardens that have told of a lease: until when it may run, by GPU. It is over when its warden
        says so; of one that falls silent, or has booted and so forgotten it, the leader may have renewed it until an
        interval after it last spoke of it. None: `seat` reads something in this very cycle, which it may know or
        not."""
        self._read(cell, now - 1)
        if any(read.at == now for read in self._unread.get(cell, ())):
            return None
        peers = self._of(cell, seat).items()
        return {gpu: peer.grants[1] for gpu, peer in peers if peer.grants is not None and peer.grants[1] > now}

    def _of(self, cell: int, seat: Seat) -> dict[int, _Peer]:
        self._seats[cell, seat.role] = seat
        return self._peers.setdefault((cell, seat.role), {})

    def _read(self, cell: int, until: int) -> None:
        """Take in what the firmware has read up to a cycle."""
        unread = self._unread.get(cell)
        while unread and unread[0].at <= until:
            self._take(cell, unread.popleft())

    def _take(self, cell: int, read: _Read) -> None:
        peers, lease = self._of(cell, read.seat), read.seat.times.lease
        peer = peers.get(read.gpu)
        if peer is None:
            peer = peers[read.gpu] = _Peer(read.at, read.at, read.at, due=read.at)
        elif peer.sequence >= 0:
            behind = peer.boot - read.boot & _WORD
            if 0 < behind < _SHORT or (behind == 0 and read.sequence <= peer.sequence):
                return
        if peer.state & _STATE_BITS == _HOLDER and read.state & _STATE_BITS != _HOLDER:
            peer.left = read.at
        if read.state & MemberFlag.GRANTING:
            peer.grants = read.boot, read.at + lease + read.seat.times.interval
        elif peer.grants is not None and peer.grants[0] == read.boot:
            peer.grants = None
        peer.boot, peer.sequence, peer.state = read.boot, read.sequence, read.state
        self._look(cell, read.seat, read.gpu, peer, read.at)
        if read.at - peer.heard_at > lease:
            peer.since = read.at
        peer.heard_at = read.at
        waited = peer.down_at is not None and peer.down_at < read.at and read.at - peer.since >= peer.wait
        if not peer.up and peer.due is None and waited:
            peer.due = read.at

    def _look(self, cell: int, seat: Seat, gpu: int, peer: _Peer, now: int) -> None:
        """Whether it should have been taken for up before this cycle."""
        if peer.due is not None and peer.due < now and not peer.told and seat.far != gpu:
            text = say(
                "{} should have taken GPU {} for up at cycle {}, and had not at {}", seat.name, gpu, peer.due, now
            )
            self._late.append((cell, text, peer.due))
            peer.told = True
