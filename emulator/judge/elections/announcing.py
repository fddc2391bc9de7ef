"""Members of a link between cards announce themselves before they ask, and leave better ones their turn.

Each has a grantor of its own, so two could be granted the lease in the same moment: a member says in its keepalives
that it is a candidate, claims one skew later, and not while a better candidate is heard that has an uplink and isn't
reluctant.
"""

from ringhil.emulator.events.server import FirmwareStopped
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.messages import Ask
from ringhil.emulator.judge.elections.peers import Peers
from ringhil.emulator.judge.elections.seat_events import KeepaliveSent, MemberSent
from ringhil.emulator.judge.findings import FindingList, say
from ringhil.protocol.wire import MemberState, Operation, Role

_STATE, _STATE_BITS, _CANDIDATE = 27, 0x0F, MemberState.CANDIDATE.code  # byte of a keepalive


class Announcing:
    """Of members of a link between cards that have others beside them. Make it after `peers`."""

    def __init__(self, stream: Stream, peers: Peers) -> None:
        self._peers = peers
        self._since: dict[int, int] = {}  # by cell: since when its keepalives say that it is a candidate
        self.too_soon = FindingList()
        stream.listen(KeepaliveSent, self._keepalive)
        stream.listen(MemberSent, self._sent)
        stream.listen(FirmwareStopped, lambda o: self._since.pop(o.cell, None))

    def _keepalive(self, o: KeepaliveSent) -> None:
        if o.seat.grants or o.seat.role is not Role.BOUNDARY:
            return
        if o.frame[_STATE] & _STATE_BITS == _CANDIDATE:
            self._since.setdefault(o.cell, o.cycle)
        else:
            self._since.pop(o.cell, None)

    def _sent(self, o: MemberSent) -> None:
        """It asks for the lease."""
        cell, seat, now = o.cell, o.seat, o.cycle
        claims = isinstance(o.message, Ask) and o.message.operation is Operation.CLAIM
        if not claims or seat.role is not Role.BOUNDARY or len(seat.members) < 2:
            return
        since, skew = self._since.get(cell), seat.times.skew
        asked = say("{} asked for the {} role at cycle {}", seat.name, seat.role, now)
        if since is None:
            self.too_soon.tell(now, "{}, and has not said that it is a candidate", asked)
        elif now - since < skew:
            self.too_soon.tell(
                now,
                "{}, {found} cycles after it said so; it waits for {expected}",
                asked,
                found=now - since,
                expected=skew,
            )
        better = self._peers.goes_first(cell, seat, now)
        if better is not None:
            self.too_soon.tell(now, "{}; it is the turn of GPU {}, a better candidate that it hears", asked, better)
