"""Members of a link between cards announce themselves before they ask, and leave better ones their turn.

Each has a grantor of its own, so two could be granted the lease in the same moment: a member says in its keepalives
that it is a candidate, claims one skew later, and not while a better candidate is heard that has an uplink and isn't
reluctant.
"""

from ringhil.emulator.judge.elections.messages import Seat, cut_short
from ringhil.emulator.judge.elections.peers import Peers
from ringhil.emulator.judge.findings import FindingList, say
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.wire import MemberState

_STATE, _STATE_BITS, _CANDIDATE = 27, 0x0F, MemberState.CANDIDATE.code  # byte of a keepalive


class Announcing:
    """Feed it in the order of time, by seats of members of a link between cards that have others beside them."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._since: dict[int, int] = {}  # by cell: since when its keepalives say that it is a candidate
        self.too_soon = FindingList()

    def sent(self, cell: int, frame: bytes, now: int) -> None:
        """It sends a keepalive round the ring."""
        if cut_short(frame):
            return
        assert frame[0] == Keepalive.KIND
        if frame[_STATE] & _STATE_BITS == _CANDIDATE:
            self._since.setdefault(cell, now)
        else:
            self._since.pop(cell, None)

    def claims(self, cell: int, seat: Seat, now: int) -> None:
        """It asks for the lease."""
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

    def stopped(self, cell: int) -> None:
        """Its GPU has failed."""
        self._since.pop(cell, None)
