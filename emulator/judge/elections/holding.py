"""Leases as members hold them, and when members ask: each held against its own messages.

A holder goes on until its lease ends, counted from when the last keepalive left that was answered, and stops in that
very cycle. Who has booted listens before it asks; who has lost its lease leaves the others their turn. Keepalives to
the grantor go out at an even pace.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.messages import Alive, Seat
from ringhil.emulator.judge.elections.seat_events import MemberHears, MemberSent, SeatDeposed, SeatElected, SeatsStopped
from ringhil.emulator.judge.findings import FindingList, Value, say
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.wire import Operation, Role


@dataclass
class _Member:
    """One member since its boot. `not_before`: it asks for nothing until then, and why."""

    running: bool = True
    boots: int = 1
    asked: bool = False
    epoch: int | None = None
    until: int = 0
    not_before: tuple[int, str] = (0, "")
    sent: dict[int, tuple[int, int | None]] = field(default_factory=dict)  # keepalives: cycle, epoch held
    claims: dict[int, int] = field(default_factory=dict)
    answers: list[tuple[int, int, int]] = field(default_factory=list)  # read at, answered keepalive, epoch
    grants: dict[int, int] = field(default_factory=dict)  # claim by the epoch that it was granted
    last: int | None = None  # keepalive to the grantor


class Holding:
    """`seats`: by cell and role."""

    def __init__(self, stream: Stream, seats: Mapping[tuple[int, Role], Seat]) -> None:
        self._seats = seats
        self._members: dict[tuple[int, Role], _Member] = {}
        self.wrong = FindingList()
        self.too_soon = FindingList()
        self.uneven = FindingList()
        stream.listen(MemberSent, self._sent)
        stream.listen(MemberHears, self._hears)
        stream.listen(SeatElected, self._elected)
        stream.listen(SeatDeposed, self._deposed)
        stream.listen(SeatsStopped, self._stopped)

    def _sent(self, o: MemberSent) -> None:
        cell, seat, message, now = o.cell, o.seat, o.message, o.cycle
        member = self._of(cell, seat)
        if not member.running:
            self._boot(member, seat, now)
        if isinstance(message, Alive):
            self._keepalive(member, seat, message, now)
        elif message.operation is Operation.CLAIM:
            if member.boots == 1 and not member.asked and seat.role is Role.ENTRY:
                self._first(seat, now)
            member.asked = True
            member.claims[message.sequence] = now
            until, why = member.not_before
            if now < until:
                self.too_soon.tell(
                    now,
                    "{} asked for the {} role at cycle {}; {} it waits until {}",
                    seat.name,
                    seat.role,
                    now,
                    why,
                    until,
                )

    def _first(self, seat: Seat, now: int) -> None:
        """At power-up they ask one after the other, the first one listed at once."""
        turn = seat.rank * seat.times.skew
        if now < turn:
            self.too_soon.tell(now, "{} asked for the entry role at cycle {}; its turn is {}", seat.name, now, turn)
        elif not seat.rank and now:
            self.uneven.tell(now, "{} asked for the entry role at cycle {}, and not at power-up", seat.name, now)

    def _of(self, cell: int, seat: Seat) -> _Member:
        member = self._members.get((cell, seat.role))
        if member is None:
            member = self._members[cell, seat.role] = _Member()
            if seat.role is Role.BOUNDARY and len(seat.members) > 1:
                member.not_before = 3 * seat.times.skew, "at power-up"
        return member

    def _boot(self, member: _Member, seat: Seat, now: int) -> None:
        listens = seat.times.lease if seat.role is Role.BOUNDARY else seat.times.interval
        member.running, member.not_before = True, (now + listens, "after its boot")

    def _keepalive(self, member: _Member, seat: Seat, message: Alive, now: int) -> None:
        t = seat.times
        if member.last is not None and not t.interval - t.jitter <= now - member.last <= t.interval:
            gap = say(
                "{found} cycles after the last, not {expected}",
                found=now - member.last,
                expected=Value(f"{t.interval - t.jitter} to {t.interval}"),
            )
            self.uneven.tell(now, "{} sent a keepalive of the {} role at cycle {}: {}", seat.name, seat.role, now, gap)
        member.last = now
        member.sent[message.sequence] = now, message.epoch if message.holding else None
        while len(member.sent) > t.multiplier + 1:
            del member.sent[next(iter(member.sent))]

    def _hears(self, o: MemberHears) -> None:
        """Its grantor's answer has come."""
        cell, seat, message, at = o.cell, o.seat, o.message, o.read_at
        member = self._of(cell, seat)
        if isinstance(message, Alive):
            member.until = self._until(member, seat, at - 1)
            member.answers = [answer for answer in member.answers if answer[0] >= at]
            if message.rank == seat.rank:
                member.answers.append((at, message.echo, message.epoch))
        elif message.operation is Operation.GRANT:
            member.grants[message.epoch] = message.sequence

    def _elected(self, o: SeatElected) -> None:
        cell, seat, epoch, now = o.cell, o.seat, o.what.epoch, o.cycle
        member = self._of(cell, seat)
        asked = member.claims.get(member.grants.get(epoch, -1))
        if asked is None:
            self._tell(seat, now, say("it holds epoch {}, which it was not granted", epoch))
        member.epoch, member.until = epoch, (now if asked is None else asked) + seat.times.lease
        member.answers, member.claims, member.grants = [], {}, {}

    def _deposed(self, o: SeatDeposed) -> None:
        cell, seat, what, now = o.cell, o.seat, o.what, o.cycle
        member = self._of(cell, seat)
        if what.why is LeaseEnd.LEASE:
            # Of what is read in that very cycle it may know or not.
            ends = [self._until(member, seat, now - 1), self._until(member, seat, now)]
            if now not in ends:
                late = say("it gave up the lease of epoch {}, which was over at {}", what.epoch, ends[1])
                early = say("it gave up the lease of epoch {}, which lasts until {}", what.epoch, ends[1])
                self._tell(seat, now, late if now > ends[1] else early)
            if len(seat.members) > 1:
                member.not_before = now + seat.turn, "after its lease ran out"
        member.epoch = None

    def _until(self, member: _Member, seat: Seat, now: int) -> int:
        until = member.until
        for at, echo, epoch in member.answers:
            left, held = member.sent.get(echo, (0, None))
            if at <= now and epoch == member.epoch == held:
                until = max(until, left + seat.times.lease)
        return until

    def _stopped(self, o: SeatsStopped) -> None:
        for seat in o.seats:
            if not seat.grants:
                boots = self._of(o.cell, seat).boots + 1
                self._members[o.cell, seat.role] = _Member(running=False, boots=boots)

    def finish(self, now: int) -> None:
        """The run is over: nobody has fallen silent, nobody holds what is over."""
        for (cell, role), member in self._members.items():
            seat = self._seats[cell, role]
            if not member.running or member.last is None:
                continue
            if now - member.last > seat.times.interval:
                silent = say("{} has sent no keepalive of the {} role since cycle {}", seat.name, role, member.last)
                self.uneven.tell(now, "{}; now it is {}", silent, now)
            if member.epoch is not None and now > self._until(member, seat, now):
                self._tell(seat, now, say("it still holds epoch {}, whose lease is over", member.epoch))

    def _tell(self, seat: Seat, now: int, what: str) -> None:
        self.wrong.tell(now, "{} ({} role) at cycle {}: {}", seat.name, seat.role, now, what)
