"""What GPUs write, field by field: whose it is, where it goes, under which number, and what it says of its sender.

Each frame is held against the sender's place in the server, its own frames before, and what it has said of itself: the
firmware's code has no part in it. What it says of others is not judged here.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.hardware import FromFirmware, ToFirmware
from ringhil.emulator.events.server import FirmwareStopped
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.messages import Seat, cut_short
from ringhil.emulator.judge.elections.seat_events import RING, SeatDeposed, SeatElected, SeatGranted, SeatLapsed
from ringhil.emulator.judge.findings import FindingList, Name, Value, say
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.observations import Rejected, Suspected
from ringhil.protocol.frames import Election, Keepalive, Report, Statistics
from ringhil.protocol.wire import NO_HOLDER, CensusVerdict, Flag, MemberFlag, MemberState, Operation, Port, Role

_HEAD = struct.Struct(">BBHHH")  # kind, card, flags, TTL, home
_EPOCH_SEQUENCE = struct.Struct(">II")
_WHO = struct.Struct(">BBB")  # role, rank, multiplier
_ANSWERED = struct.Struct(">II")  # echo, holder
# Of a keepalive.
_SENDER, _ROLE, _WHO_AT, _STATE = slice(16, 20), 24, slice(24, 27), 27
_INTERVAL, _HEARD = slice(28, 32), slice(32, 40)
_FLAGS = {Port.CW.code: 0, Port.CCW.code: Flag.CCW, Port.CPU.code: Flag.TO_HOST, Port.BOUNDARY.code: 0}
_ROLES = {role.code: role for role in Role}
_STATE_BITS = 0x0F
_FOLLOWER, _CANDIDATE, _HOLDER = (state.code for state in MemberState)
_NOBODY = 0xFFFF  # no GPU
_COUNTED = Statistics.HEAD
_REPORTED = Report.HEAD


@dataclass
class _Life:
    """One GPU in one role since its boot. `heads`: how its keepalives begin, by port and home GPU."""

    seat: Seat
    heads: Mapping[tuple[int, int], bytes]
    boots: int = 1
    sequence: int = 0  # of its last round of keepalives
    told: dict[tuple[int, int], int] = field(default_factory=dict)  # last of each port and home
    epoch: int = 0  # highest that it has told, or must know of
    heard: dict[int, int] = field(default_factory=dict)  # by GPU of its group: the boot that it was heard of last
    holds: bool = False
    claims: int = 0
    since: int | None = None  # cycle of its first keepalive
    vain: int | None = None  # the round in which it was a candidate whose link is down

    @cached_property
    def sender(self) -> bytes:
        """As its keepalives name it."""
        return (self.seat.gpu << 16 | self.boots & 0xFFFF).to_bytes(4)

    @cached_property
    def who(self) -> bytes:
        """Its role, rank and multiplier, as its keepalives have them."""
        return _WHO.pack(self.seat.role.code, self.seat.rank, self.seat.times.multiplier)

    @cached_property
    def interval(self) -> bytes:
        """As its keepalives tell it."""
        return self.seat.times.interval.to_bytes(4)


@dataclass
class _Rounds:
    """Of an entry GPU under one epoch: of the last round sequence number, cycle, and directions that it was sent."""

    epoch: int
    sequence: int = 0
    at: int = 0
    directions: int = 0
    rejected: int = 0  # messages and rounds, since it was elected
    suspects: tuple[int, ...] | None = None  # that the next report has to name


class FrameContents:
    """`seats`: by cell and role. `firmware_latency`: cycles until a frame that has arrived is read."""

    def __init__(
        self, stream: Stream, wiring: Wiring, seats: Mapping[tuple[int, Role], Seat], firmware_latency: int
    ) -> None:
        self._wiring, self._latency = wiring, firmware_latency
        self._lives = {key: _Life(seat, _heads(wiring, key[0], seat)) for key, seat in seats.items()}
        self._known: dict[tuple[int, Role], list[tuple[int, int]]] = {}  # epochs that it has read of, and when
        self._rounds: dict[int, _Rounds] = {}  # by cell
        # Leases that have begun or ended: since when, and after which round of keepalives.
        self._news: dict[tuple[int, Role], tuple[int, int]] = {}
        self.wrong = FindingList()
        stream.listen(SeatElected, self._holds)
        stream.listen(SeatGranted, self._holds)
        stream.listen(SeatDeposed, self._holds_no_more)
        stream.listen(SeatLapsed, self._holds_no_more)
        stream.listen(FirmwareSaid, self._said)
        stream.listen(FromFirmware, self._writes)
        stream.listen(ToFirmware, self._reads)
        stream.listen(FirmwareStopped, self._stopped)

    # ------------------------------------------------------------------------------------------- what it says of itself

    def _holds(self, o: SeatElected | SeatGranted) -> None:
        life, role, epoch = self._lives[o.cell, o.seat.role], o.seat.role, o.what.epoch
        life.holds, life.epoch = True, max(life.epoch, epoch)
        self._must_tell(o.cell, role, o.cycle)
        if role is Role.ENTRY:
            self._rounds[o.cell] = _Rounds(epoch)

    def _holds_no_more(self, o: SeatDeposed | SeatLapsed) -> None:
        self._lives[o.cell, o.seat.role].holds = False
        self._must_tell(o.cell, o.seat.role, o.cycle)

    def _said(self, o: FirmwareSaid) -> None:
        """Its census has rejected a message or a round, or names GPUs after a round that failed: its next report does,
        too."""
        rounds = self._rounds.get(o.cell)
        if rounds is None:
            return
        if isinstance(o.what, Rejected):
            rounds.rejected += 1
        elif isinstance(o.what, Suspected):
            rounds.suspects = tuple(o.what.gpus)

    def _must_tell(self, cell: int, role: Role, now: int) -> None:
        """The others of its side are told at once."""
        life = self._lives[cell, role]
        if len(life.seat.members) > 1:
            self._news.setdefault((cell, role), (now, life.sequence))

    def _untold(self, cell: int, now: int) -> None:
        """What the others should have been told before this cycle."""
        for role in Role:
            at, sequence = self._news.get((cell, role), (now, 0))
            if at < now:
                del self._news[cell, role]
                if self._lives[cell, role].sequence == sequence:
                    name = self._lives[cell, role].seat.name
                    self.wrong.tell(
                        at, "{} told nobody that it holds the {} role, or not, since cycle {}", name, role, at
                    )

    def finish(self, now: int) -> None:
        """The run is over."""
        for cell in {cell for cell, _ in self._news}:
            self._untold(cell, now)

    def _stopped(self, o: FirmwareStopped) -> None:
        cell = o.cell
        for role in Role:
            life = self._lives.get((cell, role))
            if life is not None:
                self._lives[cell, role] = _Life(life.seat, life.heads, life.boots + 1)
        self._known = {key: read for key, read in self._known.items() if key[0] != cell}
        self._rounds.pop(cell, None)
        self._news = {key: news for key, news in self._news.items() if key[0] != cell}

    # ------------------------------------------------------------------------------------------------ what it reads

    def _reads(self, o: ToFirmware) -> None:
        """A keepalive has arrived in its mailbox."""
        cell, port, frame = o.cell, o.port, o.frame
        if o.bad or frame[0] != Keepalive.KIND or len(frame) < Keepalive.HEAD.size:
            return
        role = _ROLES.get(frame[_ROLE])
        life = None if role is None else self._lives.get((cell, role))
        if role is None or life is None:
            return
        seat, epoch = life.seat, int.from_bytes(frame[8:12])
        if port in RING:
            sender = int.from_bytes(frame[_SENDER])
            gpu, boot = sender >> 16, sender & 0xFFFF
            if gpu == seat.gpu or gpu not in seat.members or boot < life.heard.get(gpu, 0):
                return
            life.heard[gpu] = boot
        elif port != seat.uplink.code or seat.grants:
            return  # a grantor makes nothing of the epochs of those who ask
        if epoch > life.epoch:
            self._known.setdefault((cell, role), []).append((o.cycle + self._latency, epoch))

    # ------------------------------------------------------------------------------------------------ what it writes

    def _writes(self, o: FromFirmware) -> None:
        cell, port, frame, now = o.cell, o.port, o.frame, o.cycle
        kind = frame[0]
        if self._news:
            self._untold(cell, now)
        if cut_short(frame):
            problems: Iterable[str] = [say("kind is {:#04x}, and it has {} bytes, too few for that", kind, len(frame))]
        elif kind == Keepalive.KIND:
            problems = self._keepalive(cell, port, frame, now)
        elif kind == Election.KIND:
            problems = self._election(cell, port, frame)
        elif kind == Statistics.KIND:
            problems = self._count(cell, port, frame, now)
        elif kind == Report.KIND:
            problems = self._report(cell, port, frame)
        else:
            problems = [say("kind is {:#04x}, which no firmware sends", kind)]
        for problem in problems:
            name = Name(self._wiring.places.gpus[cell])
            self.wrong.tell(now, "{} sent a message at cycle {}: {}", name, now, problem)

    def _keepalive(self, cell: int, port: int, frame: bytes, now: int) -> list[str]:
        role = _ROLES.get(frame[_ROLE])
        life = None if role is None else self._lives.get((cell, role))
        if role is None or life is None:
            return [say("a keepalive of role {}, which it has no part in", frame[_ROLE])]
        seat = life.seat
        home = int.from_bytes(frame[6:8])
        head = life.heads.get((port, home))
        if frame[:8] != head:
            expected = Value("anything" if head is None else head.hex())
            return [
                say(
                    "the keepalive begins with {found}, not {expected}", found=Value(frame[:8].hex()), expected=expected
                )
            ]
        wrong: list[str] = []
        if frame[_SENDER] != life.sender:
            found, right = Value(frame[_SENDER].hex()), Value(life.sender.hex())
            wrong.append(say("its discriminator is {found}, must be {expected}", found=found, expected=right))
        if frame[_WHO_AT] != life.who:
            told, known = [*frame[_WHO_AT]], [*life.who]
            wrong.append(say("role, rank and multiplier are {found}, must be {expected}", found=told, expected=known))
        if frame[_INTERVAL] != life.interval:
            lasts = int.from_bytes(frame[_INTERVAL])
            wrong.append(say("its interval is {found}, must be {expected}", found=lasts, expected=seat.times.interval))
        if not int.from_bytes(frame[_HEARD]) >> seat.rank & 1:
            wrong.append(say("it isn't among those it hears"))
        epoch, sequence = _EPOCH_SEQUENCE.unpack_from(frame, 8)
        self._epoch(life, cell, role, epoch, now, wrong)
        _number(life, port, home, sequence, wrong)
        _state(life, port, frame[_STATE], wrong)
        _candidacy(life, sequence, frame[_STATE], now, wrong)
        if port in RING:
            # Only an answer by an uplink speaks of a member: of who holds the lease, and of what is answered.
            holder = seat.rank if seat.grants and life.holds else NO_HOLDER
            echo, named = _ANSWERED.unpack_from(frame, 40)
            if echo or named != holder:
                wrong.append(say("echo and holder are {} and {:#x}, must be 0 and {:#x}", echo, named, holder))
        return wrong

    def _epoch(self, life: _Life, cell: int, role: Role, epoch: int, now: int, wrong: list[str]) -> None:
        """It never tells of a lower epoch than one that it has read of, or told."""
        known = self._known.get((cell, role))
        if known:
            # What is read in this very cycle it may know or not.
            life.epoch = max([life.epoch, *(e for at, e in known if at < now)])
            self._known[cell, role] = [(at, e) for at, e in known if at >= now]
        if epoch < life.epoch:
            wrong.append(say("the highest epoch it knows is {}, and it tells of {}", life.epoch, epoch))
        else:
            life.epoch = epoch

    def _election(self, cell: int, port: int, frame: bytes) -> Iterator[str]:
        e = Election.HEAD.unpack_from(frame)
        role = _ROLES.get(e[9])
        life = None if role is None else self._lives.get((cell, role))
        if life is None or port != life.seat.uplink.code:
            yield say("role {} by port {}, where it has nobody to ask or answer", e[9], port)
            return
        seat = life.seat
        head = (Election.KIND, *self._far(cell, seat), _FLAGS[port] if not seat.grants else 0, self._ttl(cell))
        if (e[0], e[1], e[4], e[2], e[3]) != head:
            yield say(
                "kind, card, home, flags and TTL are {found}, must be {expected}",
                found=(e[0], e[1], e[4], e[2], e[3]),
                expected=head,
            )
        operations = (Operation.GRANT, Operation.REFUSE) if seat.grants else (Operation.CLAIM, Operation.RELEASE)
        if e[8] not in [operation.code for operation in operations]:
            yield say("operation {}, which isn't its to send", e[8])
        candidate = seat.far if seat.grants else seat.gpu
        if e[7] != candidate:
            yield say("the candidate is {found}, must be {expected}", found=e[7], expected=candidate)
        if not seat.grants:
            life.claims += e[8] == Operation.CLAIM.code
            number = (life.boots & 0xFFFF) << 16 | life.claims & 0xFFFF
            if e[6] != number:
                yield say(
                    "its number is {found}, must be {expected}: boot {}, claim {}",
                    life.boots,
                    life.claims,
                    found=e[6],
                    expected=number,
                )
        if e[8] in (Operation.CLAIM.code, Operation.GRANT.code) and e[10] != seat.times.lease:
            yield say(
                "it speaks of a lease of {found} cycles, must be {expected}", found=e[10], expected=seat.times.lease
            )

    def _count(self, cell: int, port: int, frame: bytes, now: int) -> Iterator[str]:
        _, card, flags, ttl, origin, epoch, sequence, count, records, expected, _, sent_at = _COUNTED.unpack_from(frame)
        own_card, gpu = self._wiring.place(cell)
        size = self._wiring.cards[own_card].gpus
        flag = Flag.WITH_RECORDS if records else 0
        if (port, flags) not in ((Port.CW.code, flag), (Port.CCW.code, flag | Flag.CCW)):
            yield say("flags are {:#06x} by port {}, with {} records", flags, port, records)
        found, right = (card, ttl, origin, count, expected, sent_at), (own_card, size + 1, gpu, 1, size, now)
        if found != right or records > 1:
            yield say(
                "card, TTL, origin, count, size and cycle are {found}, must be {expected}", found=found, expected=right
            )
        rounds = self._rounds.get(cell)
        if rounds is None or epoch != rounds.epoch:
            yield say("its epoch is {}, and it holds {}", epoch, "no role" if rounds is None else rounds.epoch)
            return
        if sequence == rounds.sequence + 1:
            rounds.sequence, rounds.at, rounds.directions = sequence, now, 0
        if sequence != rounds.sequence or now != rounds.at or rounds.directions >> port & 1:
            yield say(
                "its sequence number is {}; the last round was {}, at cycle {}", sequence, rounds.sequence, rounds.at
            )
        rounds.directions |= 1 << port

    def _report(self, cell: int, port: int, frame: bytes) -> Iterator[str]:
        _, card, flags, ttl, home, epoch, sequence, source, _, size, *rest = _REPORTED.unpack_from(frame)
        own_card, gpu = self._wiring.place(cell)
        found = (port, card, flags, ttl, home, source, size)
        right = (Port.CPU.code, own_card, Flag.TO_HOST, 1, gpu, gpu, self._wiring.cards[own_card].gpus)
        if found != right:
            yield say(
                "port, card, flags, TTL, home, source and size are {found}, must be {expected}",
                found=found,
                expected=right,
            )
        rounds = self._rounds.get(cell)
        last = None if rounds is None else (rounds.epoch, rounds.sequence, rounds.at)
        if rounds is not None and rest[3] != rounds.rejected:
            yield say(
                "it has rejected {found}, must be {expected} since it was elected",
                found=rest[3],
                expected=rounds.rejected,
            )
        if rounds is not None and rest[0] == CensusVerdict.NONE.code:
            yield from _suspects(size, (rest[5], rest[6]), frame[_REPORTED.size :], rounds.suspects or ())
            rounds.suspects = None
        if (epoch, sequence, rest[4]) != last:
            yield say("it reports of epoch, round and cycle {}; the last are {}", (epoch, sequence, rest[4]), last)

    def _far(self, cell: int, seat: Seat) -> tuple[int, int]:
        card, gpu = self._wiring.place(cell)
        if seat.far is None:
            return card, gpu
        return self._wiring.crossings[cell].peer_card, seat.far

    def _ttl(self, cell: int) -> int:
        return self._wiring.cards[self._wiring.place(cell)[0]].gpus + 1


def _suspects(size: int, told: tuple[int, int], sets: bytes, named: tuple[int, ...]) -> Iterator[str]:
    """The report of a round that failed names whom its census suspects: their number, the first one, the set."""
    words = [int.from_bytes(sets[at : at + 8]) for at in range(0, -(-size // 64) * 8, 8)]
    found = tuple(gpu for gpu in range(size) if words[gpu // 64] >> gpu % 64 & 1)
    right = (len(named), min(named, default=_NOBODY))
    if told != right or found != tuple(sorted(named)):
        yield say("suspects are {}, number and first {}; its census named {}", list(found), told, list(named))


def _number(life: _Life, port: int, home: int, sequence: int, wrong: list[str]) -> None:
    """All keepalives of a round have its number, rounds follow one another, and nothing is sent twice."""
    last = life.told.get((port, home), 0)
    if port in RING:
        if sequence != last + 1:
            wrong.append(say("its sequence number is {}; the last to GPU {} by this port was {}", sequence, home, last))
        life.told[port, home] = life.sequence = sequence
    elif len(life.seat.members) > 1 and sequence != life.sequence:
        wrong.append(say("its sequence number is {}, that of the round is {}", sequence, life.sequence))
    elif not life.seat.grants and sequence <= last:
        wrong.append(say("its sequence number is {}, the last was {}", sequence, last))
    else:
        life.told[port, home] = sequence


def _state(life: _Life, port: int, state: int, wrong: list[str]) -> None:
    """A member says whether it holds the role, a warden to the others whether it has granted a lease."""
    seat, low = life.seat, state & _STATE_BITS
    if seat.grants:
        if low != _FOLLOWER:
            wrong.append(say("its state is {}; a grantor has no other than {}", low, _FOLLOWER))
        if port in RING and bool(state & MemberFlag.GRANTING) != life.holds:
            said, runs = ("no", "one") if life.holds else ("a", "none")
            wrong.append(say("it says {} lease of its runs, and {} does", said, runs))
    elif (low == _HOLDER) != life.holds:
        wrong.append(say("its state is {}, and it {} the role", low, "holds" if life.holds else "does not hold"))


def _candidacy(life: _Life, sequence: int, state: int, now: int, wrong: list[str]) -> None:
    """A member whose link is down is no candidate, but while it waits for its first answer. It looks just after a
    round: so it may say so in one."""
    if life.since is None:
        life.since = now
    settling = now <= life.since + life.seat.times.lease
    if state & _STATE_BITS != _CANDIDATE or state & MemberFlag.UPLINK or settling:
        life.vain = None
    elif life.vain is None:
        life.vain = sequence
    elif sequence != life.vain:
        wrong.append(say("it is a candidate still, and its link is down"))


def _heads(wiring: Wiring, cell: int, seat: Seat) -> dict[tuple[int, int], bytes]:
    """How the keepalives of a GPU begin, by port and home: by both ways round the ring to each of its side, and up its
    link."""
    card, gpu = wiring.place(cell)
    ttl = wiring.cards[card].gpus + 1
    heads = {
        (port, home): _HEAD.pack(Keepalive.KIND, card, _FLAGS[port], ttl, home)
        for home in seat.members
        for port in RING
        if home != gpu
    }
    far_card, far = (card, gpu) if seat.far is None else (wiring.crossings[cell].peer_card, seat.far)
    port = seat.uplink.code
    heads[port, far] = _HEAD.pack(Keepalive.KIND, far_card, _FLAGS[port], ttl, far)
    return heads
