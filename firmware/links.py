"""Health of the ring's links, from the records that come home: which link is slow, which one damages messages.

Each record holds the cycle in which the message reached its GPU, and how many messages had reached that port
damaged before. From one GPU to the next counted one a message takes HEALTHY_HOP cycles, and BYPASS_HOP more for
each bypassed GPU between. It may have to wait for another frame now and then, so a link is called slow only when
`ROUNDS` rounds in a row or more, up to `WINDOW`, have found it so, and the `AGREEING` quickest of them agree:
keepalives of several GPUs may be before it in four rounds, and as long in two of them. On the first hop the message
also has to get out of the mailbox: that hop is compared with its quickest time so far, and left out while a cut turns
messages round: then one that comes home makes the other wait.
"""

from dataclasses import dataclass, field
from itertools import pairwise

from ringhil.firmware.timing import BYPASS_HOP, HEALTHY_HOP
from ringhil.protocol import wire
from ringhil.protocol.frames import Record

ROUNDS = 4  # in a row, at least
AGREEING, WINDOW = 3, 8  # rounds
FORGET = 16  # rounds with records, without a new damaged message, after which a link is no longer called noisy
_PORT2 = wire.RecordFlag.PORT2


@dataclass
class LinkHealth:
    """The ring of `size` GPUs as its entry GPU `node` sees it. Links go by the GPU that they follow clockwise."""

    node: int
    size: int
    slow: int | None = None
    noisy: int | None = None
    _late: dict[int, int] = field(default_factory=dict)  # link -> least cycles too many, of this round
    _in_a_row: dict[int, list[int]] = field(default_factory=dict)  # cycles too many, of the last rounds
    _quickest: dict[tuple[int, bool], int] = field(default_factory=dict)  # first hop, by GPU and direction
    _errors: dict[tuple[int, int], int] = field(default_factory=dict)  # GPU and port -> counter as last seen
    _quiet: int = 0  # rounds since the noisy link was last heard of

    def look(self, records: tuple[Record, ...], sent_at: int, *, wrapped: bool = False) -> None:
        """The records of one accepted message, the origin's first; it was sent in cycle `sent_at`."""
        for before, record in pairwise(records):
            ccw = bool(record.flags & _PORT2)
            distance = (before.id - record.id if ccw else record.id - before.id) % self.size
            link = record.id if ccw else before.id
            if before.id == self.node and wrapped:
                late = 0
            elif before.id == self.node:
                took = (record.stamp - sent_at) % 256
                quickest = self._quickest[record.id, ccw] = min(took, self._quickest.get((record.id, ccw), took))
                late = took - quickest
            else:
                late = (record.stamp - before.stamp - HEALTHY_HOP - (distance - 1) * BYPASS_HOP) % 256
            self._late[link] = min(late, self._late.get(link, late))
            self._count_errors(record, ccw)

    def _count_errors(self, record: Record, ccw: bool) -> None:
        key = (record.id, int(ccw))
        before = self._errors.get(key)
        self._errors[key] = record.errors
        if before is not None and before != record.errors:
            self.noisy = record.id if ccw else (record.id - 1) % self.size
            self._quiet = 0

    def round_over(self) -> None:
        """All messages of a round have been looked at."""
        if self._late:
            late = {link: cycles for link, cycles in self._late.items() if cycles}
            self._in_a_row = {link: [*self._in_a_row.get(link, ())[1 - WINDOW :], late[link]] for link in late}
            self._late = {}
            found = [link for link, rounds in self._in_a_row.items() if self._agree(rounds) or link == self.slow]
            self.slow = min(found) if found else None
            self._quiet += 1
            if self._quiet > FORGET:
                self.noisy = None

    @staticmethod
    def _agree(late: list[int]) -> bool:
        """A link makes messages late by the same each time, other frames by anything."""
        latest = (late[-rounds:] for rounds in range(ROUNDS, len(late) + 1))
        return any(some.count(min(some)) >= AGREEING for some in latest)
