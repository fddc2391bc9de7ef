"""Who has booted, or has lost its lease, leaves the role to others for a while, as long as one that could hold it is
heard: until its wait is over, or until nobody has held the role for a detection time.

The wait is `wait_to_restore` after a boot, a detection time after a handover; after a lease that ran out it is
`wait_to_restore` or a turn, whichever is longer, and twice as long for each further one that ends within 8 waits, 64
times at most. One whose lease ran out, and that hears no other, leaves them a turn each all the same, from when it
could ask again: its lease was over, and its grantor answered.
"""

from dataclasses import dataclass

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.messages import Ask, Seat
from ringhil.emulator.judge.elections.peers import Peers
from ringhil.emulator.judge.elections.seat_events import (
    Booted,
    MemberHears,
    MemberSent,
    SeatDeposed,
    SeatElected,
    SeatsStopped,
)
from ringhil.emulator.judge.findings import FindingList, say
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.wire import Operation, Role

_MOST_LOSSES = 7  # that make the wait longer
_SOON = 8  # waits


@dataclass
class _Member:
    """Since its boot. `until`: it leaves the role to others until then; `boot`: of its last one, but the first."""

    until: int = 0
    boot: int = 0
    since: int = 0  # it has held the role
    losses: int = 0
    lost_at: int | None = None  # its lease ran out
    sent: int = 0  # the last keepalive to its grantor
    answered: int = 0  # by its grantor, last
    up_since: int = 0  # answered without a gap that it has noticed


class HoldOffs:
    """Of members that have others beside them. Make it after `peers`."""

    def __init__(self, stream: Stream, peers: Peers) -> None:
        self._peers = peers
        self._members: dict[tuple[int, Role], _Member] = {}
        self.too_soon = FindingList()
        stream.listen(Booted, self._boots)
        stream.listen(SeatElected, self._elected)
        stream.listen(SeatDeposed, self._deposed)
        stream.listen(MemberSent, self._sent)
        stream.listen(MemberHears, lambda o: self._answered(o.cell, o.seat, o.read_at))
        stream.listen(SeatsStopped, self._stopped)

    def _boots(self, o: Booted) -> None:
        for seat in o.seats:
            if not seat.grants:
                until = o.cycle + seat.times.wait_to_restore
                self._members[o.cell, seat.role] = _Member(until=until, boot=o.cycle)

    def _elected(self, o: SeatElected) -> None:
        self._of(o.cell, o.seat).since = o.cycle

    def _deposed(self, o: SeatDeposed) -> None:
        seat, why, now = o.seat, o.what.why, o.cycle
        member = self._of(o.cell, seat)
        if why is LeaseEnd.HANDOVER:
            member.until = now + seat.times.lease
        elif why is LeaseEnd.LEASE:
            wait = max(seat.times.wait_to_restore, seat.all_turns)
            soon = now - member.since < _SOON * wait
            member.lost_at = now
            member.losses = min(member.losses + 1, _MOST_LOSSES) if soon else 1
            member.until = now + (wait << member.losses - 1)

    def _sent(self, o: MemberSent) -> None:
        if not isinstance(o.message, Ask):
            self._of(o.cell, o.seat).sent = o.cycle
        elif o.message.operation is Operation.CLAIM and len(o.seat.members) > 1:
            self._claims(o.cell, o.seat, o.cycle)

    def _answered(self, cell: int, seat: Seat, at: int) -> None:
        """It reads something of its grantor's at cycle `at`."""
        member = self._of(cell, seat)
        if member.sent > member.answered + seat.times.lease:  # then it has looked
            member.up_since = at
        member.answered = at

    def _claims(self, cell: int, seat: Seat, now: int) -> None:
        """It asks for the lease."""
        member = self._of(cell, seat)
        if now >= member.until:
            return
        asked = say("{} asked for the {} role at cycle {}", seat.name, seat.role, now)
        if self._peers.hears_one(cell, seat, now) is False:
            if member.lost_at is not None and member.up_since <= now:
                until = max(member.lost_at, member.up_since) + seat.all_turns
                if now < until:
                    lost = say("its lease ran out at {}, and it hears nobody", member.lost_at)
                    self.too_soon.tell(now, "{}; {}: it waits until {}", asked, lost, until)
            return
        vacant = self._peers.vacant_since(cell, seat, now)
        if vacant is None:
            return
        until = min(member.until, max(vacant, member.boot) + seat.times.lease)
        if now < until:
            self.too_soon.tell(now, "{}; until {} it leaves it to others, of which it hears one", asked, until)

    def _stopped(self, o: SeatsStopped) -> None:
        for seat in o.seats:
            if not seat.grants:
                self._members.pop((o.cell, seat.role), None)

    def _of(self, cell: int, seat: Seat) -> _Member:
        return self._members.setdefault((cell, seat.role), _Member())
