"""A census as a client of the management port sees it."""

from dataclasses import dataclass
from typing import Self

from ringhil.protocol.line.messages import CensusReply, CountEvent, LastCensusReply
from ringhil.protocol.wire import CensusVerdict


@dataclass(frozen=True)
class RingCensus:
    """`count` of `size` GPUs work: `members`, None where it isn't known who; GPU `entry` counted. `verdict`: ring,
    single or arms, where the ring is cut between `break_after` and `break_before`. Its first message left in cycle
    `sent_at`; it was accepted in `cycle`."""

    count: int
    size: int
    members: tuple[int, ...] | None
    verdict: CensusVerdict
    break_after: int | None
    break_before: int | None
    entry: int
    epoch: int
    sequence: int
    sent_at: int
    cycle: int
    accepted: int
    rejected: int

    @classmethod
    def of(cls, m: CensusReply | LastCensusReply | CountEvent) -> Self:
        """The census in a message. Raises ValueError for a verdict that nobody knows."""
        verdict = CensusVerdict.of(m.verdict)
        cut = verdict is CensusVerdict.ARMS
        members = tuple(gpu for gpu in range(min(m.size, 64 * len(m.members))) if m.members[gpu // 64] >> gpu % 64 & 1)
        return cls(
            m.count,
            m.size,
            members if m.members else None,
            verdict,
            m.break_after if cut else None,
            m.break_before if cut else None,
            m.entry,
            m.epoch,
            m.sequence,
            m.sent_at,
            m.counted_at,
            m.accepted,
            m.rejected,
        )
