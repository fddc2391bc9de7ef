"""Statistics messages as they come home to their entry GPU: right ones, built from the ring's members."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from ringhil.protocol import crc, wire
from ringhil.protocol.frames import Record, Statistics

CCW, WRAPPED = wire.Flag.CCW, wire.Flag.WRAPPED
WITH_RECORDS, CIRCULATING = wire.Flag.WITH_RECORDS, wire.Flag.CIRCULATING
ARRIVED_BAD = wire.RecordFlag.ARRIVED_BAD
ARRIVED_MARKED = wire.RecordFlag.ARRIVED_MARKED

CARD, NODE, SIZE, EPOCH, SEQUENCE = 0, 2, 6, 9, 41


def tagged(record: Record, epoch: int = EPOCH, sequence: int = SEQUENCE) -> Record:
    """The record with the tag that belongs to it."""
    head = [getattr(record, field.name) for field in fields(Record) if field.name != "tag"]
    return replace(record, tag=crc.record_tag(epoch, sequence, Record.HEAD.pack(*head, 0)))


def record(gpu: int, hop: int, sequence: int = SEQUENCE, **changes: Any) -> Record:
    plain = Record(gpu, hop, wire.GpuState.WORKING.code, 0, 0, 0, 1, 0, wire.NO_CARD, 0)
    return tagged(replace(plain, **changes), sequence=sequence)


def message(
    ids: Sequence[int],
    *,
    ccw: bool = False,
    wrapped: bool = False,
    records: bool = True,
    sequence: int = SEQUENCE,
    **changes: Any,
) -> Statistics:
    """The message in which `ids`, in this order, have counted themselves."""
    flags = (CCW if ccw else 0) | (WRAPPED if wrapped else 0) | (WITH_RECORDS if records else 0)
    listed = tuple(record(gpu, hop, sequence) for hop, gpu in enumerate(ids, 1)) if records else ()
    limit = wire.MAX_RING if records else 0
    made = Statistics(CARD, flags, 1, NODE, EPOCH, sequence, len(ids), SIZE, limit, 77, listed)
    return replace(made, **changes)


def home_port(frame: Statistics) -> int:
    """The port at which it ought to come home: clockwise by the first, unless it was turned round."""
    return int(bool(frame.flags & CCW) != bool(frame.flags & WRAPPED))
