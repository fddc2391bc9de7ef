"""Who is heard again, by what each GPU of a group says: not before it has been heard for as long as it must.

That is `wait_to_restore`, twice as long after each further failure, 64 times at most; as long good behaviour as eight
times that wait wipes it out.
"""

from dataclasses import dataclass

from ringhil.emulator.judge.mail import cut_short
from ringhil.emulator.judge.seats import Seat
from ringhil.protocol.frames import Keepalive

_SENDER, _ROLE = slice(16, 18), 24  # bytes of a keepalive
_MOST_DOUBLINGS, _FORGIVEN_AFTER = 6, 8


@dataclass
class _Peer:
    lease: int  # cycles without a keepalive after which it is down
    heard_at: int
    since: int  # heard without a gap
    up_at: int
    down_at: int | None = None
    wait: int = 0
    doublings: int = 0


class Peers:
    """Feed it in the order of time, by the cell that says so and its seat."""

    def __init__(self) -> None:
        self._peers: dict[tuple[int, int, int], _Peer] = {}
        self.too_soon: list[tuple[str, int]] = []

    def heard(self, cell: int, frame: bytes, at: int) -> None:
        """It reads a keepalive of another GPU, which came round the ring."""
        if frame[0] != Keepalive.KIND or cut_short(frame):
            return
        peer = self._peers.get((cell, frame[_ROLE], int.from_bytes(frame[_SENDER])))
        if peer is not None:
            if at - peer.heard_at > peer.lease:
                peer.since = at
            peer.heard_at = at

    def down(self, cell: int, seat: Seat, gpu: int, now: int) -> None:
        """It has not heard another GPU for too long."""
        peer = self._peers.get((cell, seat.role.code, gpu))
        if peer is None or seat.far == gpu:  # two may have the same number, one on each card
            return
        # When it was heard last is not known here: it may have been forgiven too early, which asks for less.
        if now - peer.up_at >= _FORGIVEN_AFTER * max(peer.wait, seat.times.wait_to_restore):
            peer.doublings = 0
        peer.wait = seat.times.wait_to_restore << peer.doublings
        peer.doublings = min(peer.doublings + 1, _MOST_DOUBLINGS)
        peer.down_at = now

    def up(self, cell: int, seat: Seat, gpu: int, now: int) -> None:
        """It takes another GPU for up."""
        if seat.far == gpu:
            return
        peer = self._peers.setdefault((cell, seat.role.code, gpu), _Peer(seat.times.lease, now, now, now))
        if peer.down_at is not None and now - peer.since < peer.wait:
            heard = f"which it has heard for {now - peer.since} cycles; it waits for {peer.wait}"
            self.too_soon.append((f"{seat.name} takes GPU {gpu} for up at cycle {now}, {heard}", now))
        peer.up_at, peer.down_at = now, None

    def stopped(self, cell: int) -> None:
        """The GPU has failed and forgets whom it heard."""
        self._peers = {key: peer for key, peer in self._peers.items() if key[0] != cell}
