"""Is one statistics message that came home to be believed? The acceptance rule, as a function.

A message is believed when it is the outstanding one of its direction, home at the right side of its origin,
not circulating, and when its records prove its count: one for each GPU counted, each with the hop number
that belongs there and an intact tag, in ring order, so each GPU once, no more than are wired.
"""

from collections import Counter
from itertools import pairwise

from ringhil.protocol import crc, wire
from ringhil.protocol.frames import Record, Statistics
from ringhil.protocol.reasons import Rejection
from ringhil.protocol.values import value
from ringhil.protocol.wire import Port

_CCW, _WRAPPED, _CIRCULATING = wire.Flag.CCW, wire.Flag.WRAPPED, wire.Flag.CIRCULATING
_WITH_RECORDS = wire.Flag.WITH_RECORDS
_ARRIVED_BAD = wire.RecordFlag.ARRIVED_BAD
_ARRIVED_MARKED = wire.RecordFlag.ARRIVED_MARKED


@value(frozen=True, slots=True)
class Arm:
    """An accepted message: how many GPUs it counted, and who (None when it carried no records, or not all).

    `records` are those that it carried, the origin's first.
    """

    count: int
    ids: tuple[int, ...] | None
    wrapped: bool
    records: tuple[Record, ...] = ()


def sent_ccw(frame: Statistics) -> bool:
    """The direction in which the message set out."""
    return bool(frame.flags & _CCW)


def judge(frame: Statistics, port: int, epoch: int, sequence: int, node: int, size: int) -> Arm | Rejection:
    """The arm that `frame`, home at port 0 or 1, stands for; or why it is to be rejected."""
    if (frame.epoch, frame.sequence) != (epoch, sequence):
        return Rejection.STALE
    if frame.origin != node:
        return Rejection.ORIGIN
    if frame.flags & _CIRCULATING:
        return Rejection.CIRCULATING
    wrapped = bool(frame.flags & _WRAPPED)
    if (port == Port.CCW.code) != (sent_ccw(frame) != wrapped):
        return Rejection.PORT
    if frame.expected != size or not 1 <= frame.count <= size:
        return Rejection.COUNT
    if not frame.flags & _WITH_RECORDS:
        return Arm(frame.count, None, wrapped)
    return _judge_records(frame, node, size, wrapped)


def _judge_records(frame: Statistics, node: int, size: int, wrapped: bool) -> Arm | Rejection:
    records = frame.records
    overflow = bool(frame.record_limit & wire.OVERFLOW)
    if not records or (len(records) != frame.count and not overflow) or len(records) > frame.count:
        return Rejection.COUNT
    for index, record in enumerate(records):
        if record.hop != index + 1:
            return Rejection.HOP
        if record.tag != crc.record_tag(frame.epoch, frame.sequence, Record.HEAD.pack(*_values(record))):
            return Rejection.TAG
    sign = -1 if sent_ccw(frame) else 1
    steps = [(record.id - node) * sign % size for record in records]
    if any(record.id >= size for record in records) or steps[0] != 0:
        return Rejection.ORDER
    if any(b <= a for a, b in pairwise(steps)):
        return Rejection.ORDER
    return Arm(frame.count, None if overflow else tuple(r.id for r in records), wrapped, records)


def _values(r: Record) -> tuple[int, ...]:
    return (r.id, r.hop, r.state, r.flags, r.gpu_type, r.stamp, r.weight, r.errors, r.peer, r.tag)


def suspects(frame: Statistics, node: int, size: int, *, arrived_bad: bool) -> frozenset[int]:
    """Who may have spoiled a rejected message, as far as its own records tell.

    A GPU whose record has the wrong hop number has miscounted. A record that says its message arrived with
    a wrong CRC names the link before it, that is the GPUs at its two ends; `arrived_bad` is the same for the
    last link, into the origin. One that arrived marked, and no record says where, was found bad by a switch in bypass:
    on one of the links before it. Of two with the same number one has stolen it. A damaged message may hold numbers of
    no GPU of the ring; these name nobody.
    """
    return frozenset(gpu for gpu in _named(frame, node, size, arrived_bad) if gpu < size)


def _named(frame: Statistics, node: int, size: int, arrived_bad: bool) -> frozenset[int]:
    ids = [record.id for record in frame.records]
    twice = {gpu for gpu, times in Counter(ids).items() if times > 1}
    for gpu in twice:
        # One of the two is somebody else: a neighbour who is not among them.
        return frozenset({gpu, *({(gpu - 1) % size, (gpu + 1) % size} - set(ids))})
    before = node
    for index, record in enumerate(frame.records):
        if record.flags & _ARRIVED_BAD:
            return frozenset({before, record.id})
        if record.flags & _ARRIVED_MARKED:
            return frozenset({before, *_between(before, record.id, size, ccw=sent_ccw(frame))})
        if record.hop != index + 1:
            return frozenset({record.id})
        before = record.id
    # Without records nothing tells over which link it was damaged.
    return frozenset({before, node}) if arrived_bad and ids else frozenset()


def _between(after: int, before: int, size: int, *, ccw: bool) -> set[int]:
    """The GPUs passed on the way from one to the other: those that were in bypass."""
    sign = -1 if ccw else 1
    return {(after + sign * step) % size for step in range(1, (before - after) * sign % size)}
