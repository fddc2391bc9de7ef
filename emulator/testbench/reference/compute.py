"""The compute engine of a node: which answer follows from the work frames that it takes (R5).

Units come in segments, by several streams at once: those from this card by the way in, those from other cards by
their card. A damaged segment is counted and no more. The last segment of a unit is answered: with a result, or with
a refusal when the queue is full, segments are missing, or the kind of computation is unknown; so are commands
to contexts, see `view.unreached`.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.reference.data import WAYS, Taken
from ringhil.emulator.testbench.reference.view import NodeView, unreached
from ringhil.protocol import codec, crc, wire
from ringhil.protocol.frames import Acknowledgement, Result, Work
from ringhil.protocol.wire import AckStatus, Link

QUEUE = 4  # units, the one that is being computed included
SLOW = 4  # times as slow
_WORK = wire.Kind.WORK.code
_HEAD = wire.WORK_HEADER_FLITS * wire.FLIT_BYTES
_WORD = 4  # bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What must follow a unit's last segment.

    `result` is the frame when the unit is computed, with 0 in `queued`; None where it must be refused. `reasons` are
    those for which it may be refused whatever the queue holds; BUSY depends on the queue. `cost` is in cycles;
    `since` is the cycle of the segment's last flit on the link. `optional`: the segment may have been lost.
    """

    way: int
    link: str
    head: Work
    result: bytes | None
    reasons: frozenset[AckStatus]
    cost: int
    since: int
    view: NodeView
    optional: bool = False

    def refusal(self, reason: AckStatus) -> bytes:
        """The frame that refuses it, with 0 in `queued`."""
        work, view = self.head, self.view
        flags = wire.Flag.TO_HOST | (wire.Flag.CCW if self.link == Link.P1 else 0)
        return codec.encode(
            Acknowledgement(
                *(work.source_card, flags, view.longest, work.source, work.epoch, work.unit),
                *(view.number, work.attempt, reason.code, view.card, 0),
            )
        )


@dataclass
class _Unit:
    """What a stream has so far of the unit that it is in the middle of."""

    identity: tuple[int, int, int] = (0, 0, 0)
    segments: int = 0
    size: int = 0  # bytes announced
    data: bytes = b""  # whole flits


@dataclass
class ComputeEngine:
    """`counters` by register name; a damaged frame of another kind than work may be counted, `perhaps_bad`."""

    view: NodeView
    counters: Counter[str] = field(default_factory=Counter)
    perhaps_bad: int = 0
    _streams: dict[tuple[str, int], _Unit] = field(default_factory=dict)

    def take(self, frame: Taken) -> Answer | None:
        """A frame comes out of the data channel; the answer that it asks for."""
        if not frame.data or frame.data[0] != _WORK:
            self.perhaps_bad += frame.damaged
            return None
        data = frame.data
        if frame.damaged or len(data) < _HEAD + wire.FLIT_BYTES or not _from_end_to_end(data):
            if frame.optional:
                self.perhaps_bad += 1
            else:
                self.counters["data_bad"] += 1
            return None
        _, *fields = Work.HEAD.unpack(data[:_HEAD])
        return self._segment(replace(Work(*fields), payload=data[_HEAD:-8]), frame)

    def _segment(self, work: Work, frame: Taken) -> Answer | None:
        own = work.source_card == self.view.card
        stream = ("way", frame.way) if own else ("card", work.source_card)
        unit = self._streams.get(stream, _Unit())
        identity = (work.epoch, work.unit, work.attempt)
        if work.segment == 0:
            unit = _Unit(identity)
        follows = work.segment == 0 or (unit.identity == identity and unit.segments == work.segment)
        if follows:
            unit = _Unit(identity, unit.segments + 1, unit.size + work.segment_bytes, unit.data + work.payload)
            self._streams[stream] = unit
        if not work.flags & wire.Flag.LAST:
            return None
        complete = follows and unit.size == work.length
        if follows:
            del self._streams[stream]
        reasons = {AckStatus.INCOMPLETE} if not complete else set()
        reasons |= unreached(self.view.contexts, work, unit.data)
        cost = self.cost(work.length)
        link = self._way_back(work, frame.way)
        result = None if reasons or work.compute else self._result(work, unit.data, link, cost)
        return Answer(
            frame.way, link, work, result, frozenset(reasons), cost, frame.ended, self.view, optional=frame.optional
        )

    def cost(self, length: int) -> int:
        """Cycles that a unit of `length` bytes takes."""
        flits = -(-length // wire.FLIT_BYTES)
        cycles = self.view.register("compute_setup") + flits * self.view.register("compute_per_flit")
        return cycles * (SLOW if "slow" in self.view.faults else 1) & 0xFFFFFFFF

    def _way_back(self, work: Work, way: int) -> str:
        if work.source_card == self.view.card:
            return WAYS[way]  # out of the port that the work came in by
        crossings = self.view.register("crossings") if self.view.control("boundary") else 0
        return Link.BOUNDARY if work.source_card < wire.MAX_CARDS and crossings >> work.source_card & 1 else Link.P2

    def _result(self, work: Work, data: bytes, link: str, cost: int) -> bytes:
        flags = wire.Flag.TO_HOST | (wire.Flag.CCW if link == Link.P1 else 0)
        return codec.encode(
            Result(
                *(work.source_card, flags, self.view.longest, work.source, work.epoch, work.unit),
                *(self.view.number, work.attempt, wire.ResultStatus.DONE.code, self.view.card, 0),
                *(digest(data), work.length, cost),
            )
        )


def digest(data: bytes) -> int:
    """CRC-32 (upper half) and sum of the 32-bit words of whole flits."""
    words = (int.from_bytes(data[i : i + _WORD], "big") for i in range(0, len(data), _WORD))
    return crc.crc32(data) << 32 | sum(words) & 0xFFFFFFFF


def own_answer(frame: RingFrame, view: NodeView) -> bool:
    """A result or refusal that this node made."""
    return (
        frame.kind in ("result", "acknowledgement")
        and len(frame.data) >= _HEAD
        and int.from_bytes(frame.data[16:18], "big") == view.number
        and frame.data[22] == view.card
    )


def _from_end_to_end(data: bytes) -> bool:
    return int.from_bytes(data[-8:-4], "big") == crc.e2e_crc(data)
