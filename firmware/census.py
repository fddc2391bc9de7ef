"""Census: the entry GPU counts the ring (R2-R4). A state machine; it knows no clock and does no I/O.

Each period it sends a statistics message in both directions and joins what comes home:

| home come                     | verdict | count                                             |
|-------------------------------|---------|---------------------------------------------------|
| both, all the way round       | ring    | the larger; must be the union of both's records    |
| one, all the way round        | single  | its own (the other was lost or rejected)           |
| both, turned round at a cut   | arms    | both together, this GPU once; the cut is located   |
| anything else                 |         | none: rejected, tried again with a new sequence    |

With `refresh` above 1 most rounds only count, which is fast on large rings; when such a count differs from the
last one it is not accepted, but looked into by a round with records.

After `attempts` rounds without a count it gives up until the next period, and tells the CPU so.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ringhil.firmware.actions import Action
from ringhil.firmware.commands import CancelTimer, Send, SetTimer
from ringhil.firmware.links import LinkHealth
from ringhil.firmware.observations import Counted, Rejected, Suspected
from ringhil.firmware.verdict import Arm, judge, sent_ccw, suspects
from ringhil.protocol import codec, crc, registers, wire
from ringhil.protocol.frames import Record, Report, Statistics
from ringhil.protocol.reasons import Rejection
from ringhil.protocol.wire import CensusVerdict, Port

_CCW, _WITH_RECORDS = wire.Flag.CCW, wire.Flag.WITH_RECORDS
_WORKING, _DEGRADED = wire.GpuState.WORKING.code, wire.GpuState.DEGRADED.code
_BOUNDARY = wire.RecordFlag.BOUNDARY
_STATUS_DEGRADED = registers.StatusBit.DEGRADED
PERIOD, TIMEOUT = "period", "timeout"


@dataclass(frozen=True)
class CensusConfig:
    """What the firmware of an entry GPU is told when it is elected. `epoch` is that of its lease; times in cycles."""

    card: int
    node: int
    size: int
    epoch: int
    period: int
    timeout: int
    records: bool = True
    refresh: int = 1  # records in every so many-th round, and whenever the count has changed; others only count
    attempts: int = 3
    weight: int = 1
    gpu_type: int = 0
    entry_capable: bool = True
    back_to_back: bool = False  # begin the next round as soon as one is over


@dataclass
class Census:
    """The part of a GPU's firmware that counts the ring.

    The state machine. Feed it `start`, `on_frame` and `on_timer`; do what the returned actions say.
    """

    config: CensusConfig
    sequence: int = 0
    accepted: int = 0
    rejected: dict[Rejection, int] = field(default_factory=dict)
    last: Counted | None = None
    degraded: bool = False  # this GPU itself computes slowly
    peer: int = wire.NO_CARD  # card that this GPU itself speaks to as a boundary GPU
    links: LinkHealth = field(init=False)
    _sent_at: int = 0
    _attempt: int = 0
    _arms: dict[bool, Arm | None] | None = None  # by direction; None: rejected. No dict: no round under way
    _named: list[frozenset[int]] = field(default_factory=list)
    _look: bool = True  # the next round must carry records
    _with_records: bool = True

    def __post_init__(self) -> None:
        self.links = LinkHealth(self.config.node, self.config.size)

    def start(self, now: int) -> list[Action]:
        """Power-up: the first round."""
        return self._new_period(now)

    def count_now(self, now: int) -> list[Action]:
        """Somebody wants a count: a round begins, and a period with it, unless one is under way."""
        return [] if self._arms is not None else self._new_period(now)

    def on_timer(self, name: str, now: int) -> list[Action]:
        """A timer that was set has run out."""
        if name == PERIOD:
            waiting = [SetTimer(PERIOD, self.config.period)]
            return list(waiting) if self._arms is not None else self._new_period(now)
        if name == TIMEOUT and self._arms is not None:
            return self._conclude(now)
        return []

    def on_status(self, status: int) -> None:
        """The node's status register has been read."""
        self.degraded = bool(status & _STATUS_DEGRADED)

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        """A frame came into the mailbox by ring port 0 or 1; `bad`: it arrived damaged."""
        try:
            message = codec.decode(frame, check=not bad, link=False)
        except codec.FrameError:
            return self._reject(Rejection.CRC)
        if not isinstance(message, Statistics):
            return []
        if bad:
            return self._spoilt(message, Rejection.LINK, True, now)
        arm = judge(message, port, self.config.epoch, self.sequence, self.config.node, self.config.size)
        if arm is Rejection.STALE or self._arms is None:
            return self._reject(Rejection.STALE)
        if isinstance(arm, Rejection):
            return self._spoilt(message, arm, False, now)
        direction = sent_ccw(message)
        if direction in self._arms:
            return self._reject(Rejection.TWICE)
        self._arms[direction] = arm
        return self._conclude(now) if len(self._arms) == 2 else []

    def _spoilt(self, message: Statistics, reason: Rejection, bad: bool, now: int) -> list[Action]:
        """Our message came home, but not to be believed: no need to wait for it any longer."""
        actions = self._reject(reason)
        named = suspects(message, self.config.node, self.config.size, arrived_bad=bad)
        current = (message.epoch, message.sequence) == (self.config.epoch, self.sequence)
        if self._arms is None or not current or message.origin != self.config.node:
            return actions
        if named:
            self._named.append(named)
        self._arms.setdefault(sent_ccw(message), None)
        return actions + (self._conclude(now) if len(self._arms) == 2 else [])

    def _reject(self, reason: Rejection) -> list[Action]:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1
        return [Rejected(reason, self.sequence)]

    def _new_period(self, now: int) -> list[Action]:
        self._attempt = 0
        self._named = []
        return [SetTimer(PERIOD, self.config.period), *self._round(now)]

    def _round(self, now: int) -> list[Action]:
        self.sequence += 1
        self._attempt += 1
        self._sent_at = now
        self._arms = {}
        c = self.config
        self._with_records = c.records and (self._look or self.sequence % c.refresh == 0)
        return [
            Send(Port.CW, self._message(0, now)),
            Send(Port.CCW, self._message(_CCW, now)),
            SetTimer(TIMEOUT, self.config.timeout),
        ]

    def _message(self, direction: int, now: int) -> bytes:
        c = self.config
        records: tuple[Record, ...] = ()
        if self._with_records:
            state = _DEGRADED if self.degraded else _WORKING
            flags = wire.RecordFlag.ENTRY_CAPABLE if c.entry_capable else 0
            if self.peer != wire.NO_CARD:
                flags |= wire.RecordFlag.BOUNDARY
            head = (c.node, 1, state, flags, c.gpu_type, 0, c.weight, 0, self.peer)
            tag = crc.record_tag(c.epoch, self.sequence, Record.HEAD.pack(*head, 0))
            records = (Record(*head, tag),)
        flags = direction | (_WITH_RECORDS if records else 0)
        limit = wire.MAX_RING if records else 0
        return codec.encode(
            Statistics(c.card, flags, c.size + 1, c.node, c.epoch, self.sequence, 1, c.size, limit, now, records)
        )

    def _conclude(self, now: int) -> list[Action]:
        assert self._arms is not None
        arms = [self._arms.get(False), self._arms.get(True)]
        joined = _join(arms, self.sequence, self._sent_at)
        self._arms = None
        actions: list[Action] = [CancelTimer(TIMEOUT)]
        if isinstance(joined, Counted) and self.config.records and joined.members is None:
            joined = self._same_as_last(joined)
        self._look = not isinstance(joined, Counted)
        if isinstance(joined, Counted):
            for arm in arms:
                if arm is not None:
                    self.links.look(arm.records, self._sent_at, wrapped=arm.wrapped)
            self.links.round_over()
            self.accepted += 1
            self.last = joined
            actions += [joined, Send(Port.CPU, self._report(joined))]
            return actions + (self._new_period(now) if self.config.back_to_back else [])
        actions += self._reject(joined)
        if self._attempt < self.config.attempts:
            return actions + self._round(now)
        suspected = self._suspected()
        if suspected:
            actions.append(Suspected(suspected))
        return [*actions, Send(Port.CPU, self._report(None, suspected))]

    def _same_as_last(self, joined: Counted) -> Counted | Rejection:
        """A round that only counted confirms the last one with records, or shows that it must be repeated."""
        last = self.last
        if last is None or (last.count, last.verdict is CensusVerdict.ARMS) != (
            joined.count,
            joined.verdict is CensusVerdict.ARMS,
        ):
            return Rejection.CHANGED
        return replace(last, sequence=joined.sequence, sent_at=joined.sent_at, verdict=joined.verdict)

    def _suspected(self) -> tuple[int, ...]:
        """Those whom every naming fits; where no one fits all, everybody named."""
        if not self._named:
            return ()
        common = frozenset.intersection(*self._named)
        return tuple(sorted(common or frozenset.union(*self._named)))

    def _report(self, counted: Counted | None, suspected: tuple[int, ...] = ()) -> bytes:
        c = self.config
        known = counted or self.last
        members = known.members if known and known.members is not None else ()
        sets = [
            members if counted else suspected,
            known.degraded if known else (),
            [gpu for gpu, _ in known.boundaries] if known else (),
        ]
        return codec.encode(
            Report(
                card=c.card,
                flags=wire.Flag.TO_HOST,
                ttl=1,
                destination=c.node,
                epoch=c.epoch,
                sequence=self.sequence,
                source=c.node,
                count=known.count if known else 0,
                size=c.size,
                verdict=(counted.verdict if counted else CensusVerdict.NONE).code,
                break_after=_known(counted.break_after if counted else None),
                break_before=_known(counted.break_before if counted else None),
                rejected=sum(self.rejected.values()),
                sent_at=self._sent_at,
                suspects=len(suspected),
                first_suspect=_known(suspected[0] if suspected else None),
                slow_link=_known(self.links.slow),
                noisy_link=_known(self.links.noisy),
                weight=known.weight or 4 * known.count if known else 0,
                reserved=0,
                sets=tuple(word for gpus in sets for word in _words(gpus, c.size)),
            )
        )


NOBODY = 0xFFFF  # in a report: no GPU


def _words(gpus: Iterable[int], size: int) -> list[int]:
    """A set of GPUs as 64-bit words."""
    words = [0] * (-(-size // 64))
    for gpu in gpus:
        words[gpu // 64] |= 1 << gpu % 64
    return words


def _known(gpu: int | None) -> int:
    return NOBODY if gpu is None else gpu


def _join(arms: list[Arm | None], sequence: int, sent_at: int) -> Counted | Rejection:
    """What the two directions say together; or the reason why that is no count."""
    cw, ccw = arms
    if cw is None and ccw is None:
        return Rejection.LOST
    if cw is None or ccw is None:
        one = cw or ccw
        assert one is not None
        if one.wrapped:
            return Rejection.HALF
        return Counted(one.count, _sorted(one.ids), CensusVerdict.SINGLE, None, None, sequence, sent_at, *_told([one]))
    if cw.wrapped != ccw.wrapped:
        return Rejection.MIXED
    if cw.wrapped:
        return _join_arms(cw, ccw, sequence, sent_at)
    count = max(cw.count, ccw.count)
    if cw.ids is None or ccw.ids is None:
        if cw.count != ccw.count:
            return Rejection.DISAGREE
        return Counted(count, None, CensusVerdict.RING, None, None, sequence, sent_at)
    union = set(cw.ids) | set(ccw.ids)
    if len(union) != count:
        return Rejection.DISAGREE
    return Counted(count, tuple(sorted(union)), CensusVerdict.RING, None, None, sequence, sent_at, *_told([cw, ccw]))


def _join_arms(cw: Arm, ccw: Arm, sequence: int, sent_at: int) -> Counted | Rejection:
    count = cw.count + ccw.count - 1  # this GPU is in both
    if cw.ids is None or ccw.ids is None:
        return Counted(count, None, CensusVerdict.ARMS, None, None, sequence, sent_at)
    union = set(cw.ids) | set(ccw.ids)
    if len(union) != count:
        return Rejection.DISAGREE
    members, told = tuple(sorted(union)), _told([cw, ccw])
    return Counted(count, members, CensusVerdict.ARMS, cw.ids[-1], ccw.ids[-1], sequence, sent_at, *told)


def _told(arms: list[Arm]) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...], int]:
    """What the records say of their GPUs: who is degraded, who speaks to which card, the weight of all."""
    records = {record.id: record for arm in arms for record in arm.records}
    degraded = tuple(sorted(gpu for gpu, r in records.items() if r.state == _DEGRADED))
    boundaries = tuple(sorted((gpu, r.peer) for gpu, r in records.items() if r.flags & _BOUNDARY))
    weight = sum(r.weight * (1 if r.state == _DEGRADED else 4) for r in records.values())
    return degraded, boundaries, weight


def _sorted(ids: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if ids is None else tuple(sorted(ids))
