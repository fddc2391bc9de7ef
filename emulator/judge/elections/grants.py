"""Leases as their grantors give them, held against what was asked of each: when one begins and ends, under which epoch.

A lease lasts from its grant, or from the last renewal that arrived, neither longer nor shorter; another member waits a
guard more; a release ends it at once. Its epoch is the lowest above all granted before that its member may claim. And
its holder has stopped by the time it ends. A warden that has just booted grants nothing for a while, nor does one that
has heard of another's lease. Who asks is answered at once: a refusal says how long it has to wait, and has its reason.

Messages are looked at when they arrive, and count when their receiver reads them, a latency later.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ringhil.emulator.events.server import CpuSaid
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.messages import Alive, Ask, Seat
from ringhil.emulator.judge.elections.peers import Peers
from ringhil.emulator.judge.elections.roles import RoleWatch
from ringhil.emulator.judge.elections.seat_events import (
    Booted,
    GrantorHears,
    GrantorSent,
    SeatGranted,
    SeatLapsed,
    SeatsStopped,
)
from ringhil.emulator.judge.findings import FindingList, Value, say
from ringhil.firmware.observations import Granted, Lapsed
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.wire import Operation, Role

_Key = tuple[Role, int, int]  # role, number of the group, rank of a warden (-1: the CPU)


@dataclass
class _Book:
    """What one grantor has given. `heard`: renewals that have not been counted in: when they are read, and epoch."""

    rank: int | None = None
    last: int | None = None
    epoch: int = 0
    until: int = 0
    free_at: int = 0
    quiet_until: int = 0
    heard: list[tuple[int, int]] = field(default_factory=list)
    releases: list[tuple[int, int]] = field(default_factory=list)
    asked: list[tuple[int, int, int]] = field(default_factory=list)  # claims: read at, rank, epoch
    anew: int | None = None  # cycle of a release that nobody sent: its holder must have claimed anew

    def renew(self, now: int, lease: int) -> None:
        """Count in what has been read by now."""
        left = []
        for at, epoch in self.heard:
            if at > now:
                left.append((at, epoch))
            elif at < self.until and epoch == self.epoch:
                self.until = at + lease
        self.heard = left


class Grants:
    """`roles`: by role and number of the group, by what the members do. Make it after `peers`."""

    def __init__(
        self, stream: Stream, seats: Sequence[Seat], roles: dict[tuple[Role, int], RoleWatch], peers: Peers
    ) -> None:
        self._roles, self._peers = roles, peers
        self._at_cpu = {(s.number, s.rank): s for s in seats if s.role is Role.ENTRY}
        self._members = {(s.role, s.number): s for s in seats if not s.grants}
        self._electing = {(s.role, s.number, s.rank): s.gpu for s in seats if not s.grants}
        self._books: dict[_Key, _Book] = {}
        self._highest: dict[tuple[Role, int], int] = {}
        self._ended: set[tuple[Role, int]] = set()
        self.wrong = FindingList()
        self.too_soon = FindingList()
        for seat in seats:
            if seat.grants and len(seat.members) > 1:
                self._book(seat).quiet_until = 2 * seat.times.skew
        stream.listen(GrantorHears, lambda o: self._told(o.seat, o.message, o.read_at))
        stream.listen(GrantorSent, self._sent)
        stream.listen(
            SeatGranted, lambda o: self._granted(o.seat, o.what, o.cycle, self._elsewhere(o.cell, o.seat, o.cycle))
        )
        stream.listen(SeatLapsed, lambda o: self._lapsed(o.seat, o.what, o.cycle))
        stream.listen(CpuSaid, self._cpu_said)
        stream.listen(Booted, self._booted)
        stream.listen(SeatsStopped, self._stopped)

    def _elsewhere(self, cell: int, seat: Seat, now: int) -> dict[int, int] | None:
        """By GPU, until when leases of other wardens may run, by what they have told this one; None: that can't be
        said. To the CPU nobody tells of any."""
        return {} if seat.role is Role.ENTRY else self._peers.granting(cell, seat, now)

    def _sent(self, o: GrantorSent) -> None:
        if isinstance(o.message, Ask):
            self._answered(o.seat, o.message, o.cycle, self._elsewhere(o.cell, o.seat, o.cycle))

    def _cpu_said(self, o: CpuSaid) -> None:
        seat = self._at_cpu[o.card, o.what.rank]
        if isinstance(o.what, Granted):
            self._granted(seat, o.what, o.cycle, {})
        else:
            self._lapsed(seat, o.what, o.cycle)

    def _book(self, seat: Seat) -> _Book:
        key = (seat.role, seat.number, -1 if seat.role is Role.ENTRY else seat.rank)
        return self._books.setdefault(key, _Book())

    def _told(self, seat: Seat, message: Alive | Ask, at: int) -> None:
        """A member's message reaches its grantor, which reads it at cycle `at`. `seat`: of the member at the CPU, or of
        the warden."""
        book = self._book(seat)
        if isinstance(message, Alive):
            if message.holding and book.rank == seat.rank:
                book.heard.append((at, message.epoch))
        elif message.operation is Operation.CLAIM:
            book.asked.append((at, seat.rank, message.epoch))
        elif message.operation is Operation.RELEASE:
            book.releases = [(t, e) for t, e in book.releases if t >= at - 1] + [(at, message.epoch)]

    def _answered(self, seat: Seat, answer: Ask, now: int, elsewhere: dict[int, int] | None) -> None:
        """A grantor answers a claim. `seat`: of the member at the CPU, or of the warden."""
        book = self._book(seat)
        self._unanswered(seat, book, now)
        asked = [(at, rank, epoch) for at, rank, epoch in book.asked if (at, rank) == (now, seat.rank)]
        book.asked = [claim for claim in book.asked if claim not in asked]
        epoch = max((epoch for _, _, epoch in asked), default=answer.epoch)
        if answer.operation is not Operation.REFUSE or elsewhere is None:
            return
        waits = self._waits(seat, book, now, elsewhere)
        asker = self._name(seat, seat.rank)
        if answer.lease not in waits:
            right = Value(" or ".join(map(str, sorted(waits))))
            self._tell(
                seat,
                now,
                say("{} was refused for {found} cycles, must be {expected}", asker, found=answer.lease, expected=right),
            )
        elif not answer.lease and epoch > answer.epoch:
            self._tell(
                seat, now, say("{} was refused epoch {}, and {} is the highest known", asker, epoch, answer.epoch)
            )

    def _waits(self, seat: Seat, book: _Book, now: int, elsewhere: dict[int, int]) -> set[int]:
        """For how many cycles a claim has to be refused. Of a renewal that is read in this very cycle the grantor may
        know or not."""
        least = max([0, book.quiet_until - now, *(until - now for until in elsewhere.values())])
        if book.last in (None, seat.rank):
            return {least}
        if book.rank is None:
            return {max(least, book.free_at - now)}
        found = set()
        for until in (now - 1, now):
            book.renew(until, seat.times.lease)
            found.add(max(least, book.until + seat.times.guard - now))
        return found

    def _unanswered(self, seat: Seat, book: _Book, now: int) -> None:
        for at, rank, epoch in book.asked:
            if at < now:
                self._tell(seat, at, say("{} asked for epoch {}, and was not answered", self._name(seat, rank), epoch))
        book.asked = [claim for claim in book.asked if claim[0] >= now]

    def _granted(self, seat: Seat, what: Granted, now: int, elsewhere: dict[int, int] | None) -> None:
        """A grantor has given a lease."""
        book, group = self._book(seat), (seat.role, seat.number)
        holder = self._name(seat, what.rank)
        if book.rank is not None:
            self._tell(seat, now, say("{} was granted a lease while another one runs", holder))
        if book.anew is not None and (book.anew, book.last) != (now, what.rank):
            self._tell(seat, now, say("{} lost its lease, which it had not given back", self._name(seat, book.last)))
        book.anew = None
        if book.last not in (None, what.rank) and now < book.free_at:
            self._tell(seat, now, say("{} was granted a lease {} cycles too early", holder, book.free_at - now))
        for gpu, until in (elsewhere or {}).items():
            self._tell(
                seat, now, say("{} was granted a lease; that of warden {} may run until cycle {}", holder, gpu, until)
            )
        if now < book.quiet_until:
            self.too_soon.tell(
                now, "warden {} granted a lease at cycle {}; it grants none before {}", seat.name, now, book.quiet_until
            )
        lease = seat.times.lease
        if what.until != now + lease:
            self._tell(
                seat,
                now,
                say("{} was granted {found} cycles, not {expected}", holder, found=what.until - now, expected=lease),
            )
        self._judge_epoch(seat, book, what, now)
        self._highest[group] = max(self._highest.get(group, 0), what.epoch)
        book.rank = book.last = what.rank
        book.epoch, book.until, book.heard = what.epoch, now + lease, []

    def _judge_epoch(self, seat: Seat, book: _Book, what: Granted, now: int) -> None:
        """Below: higher than any that this grantor gave. Above: no higher than the next one of its rank."""
        highest = self._highest.get((seat.role, seat.number), 0)
        count = len(self._members[seat.role, seat.number].members)
        most = highest + 1 + (what.rank - highest) % count
        holder = self._name(seat, what.rank)
        if (what.epoch - 1) % count != what.rank:
            self._tell(seat, now, say("{} was granted epoch {}, which is another member's", holder, what.epoch))
        elif what.epoch <= book.epoch:
            self._tell(
                seat, now, say("{} was granted epoch {}, and {} was granted before", holder, what.epoch, book.epoch)
            )
        elif what.epoch > most:
            self._tell(
                seat, now, say("{} was granted epoch {}; the next one of its rank is {}", holder, what.epoch, most)
            )

    def _lapsed(self, seat: Seat, what: Lapsed, now: int) -> None:
        """A lease has ended for its grantor."""
        book, guard = self._book(seat), seat.times.guard
        book.renew(now, seat.times.lease)
        holder = self._name(seat, what.rank)
        if what.why is LeaseEnd.RELEASE:
            given_back = (now, what.epoch) in book.releases
            book.anew = None if given_back else now
            book.free_at = now
        else:
            book.free_at = book.until + guard
        if what.why is LeaseEnd.LEASE:
            if now != book.until:
                self._tell(seat, now, say("the lease of {} ended; it lasts until {}", holder, book.until))
            role = self._roles[seat.role, seat.number]
            if role.holders.get(self._electing[seat.role, seat.number, what.rank]) == what.epoch:
                self._tell(seat, now, say("the lease of {} ended, and it still holds the role", holder))
        book.rank = None

    def _booted(self, o: Booted) -> None:
        """A warden has booted anew: it may have forgotten a lease."""
        for seat in o.seats:
            if seat.grants:
                wait = seat.times.lease + seat.times.guard if len(seat.members) > 1 else 0
                self._books[seat.role, seat.number, seat.rank] = _Book(quiet_until=o.cycle + wait)

    def _stopped(self, o: SeatsStopped) -> None:
        """A warden's GPU has failed, and what it had given is forgotten."""
        for seat in o.seats:
            if seat.grants:
                self._books[seat.role, seat.number, seat.rank] = _Book()

    def finish(self, now: int) -> None:
        """The run is over: a lease that nobody has renewed must have ended."""
        for (role, number, _), book in self._books.items():
            seat = self._members[role, number]
            self._unanswered(seat, book, now)
            book.renew(now, seat.times.lease)
            if book.rank is not None and now > book.until:
                self._tell(
                    seat,
                    now,
                    say("the lease of {} still runs; it ended at {}", self._name(seat, book.rank), book.until),
                )

    def _name(self, seat: Seat, rank: int | None) -> str:
        gpu = None if rank is None else self._electing.get((seat.role, seat.number, rank))
        return "nobody" if gpu is None else say("GPU {}", gpu)

    def _tell(self, seat: Seat, now: int, what: str) -> None:
        self.wrong.tell(now, "{} at cycle {}: {}", self._roles[seat.role, seat.number].name, now, what)
