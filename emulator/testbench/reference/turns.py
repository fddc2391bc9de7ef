"""Whose turn it is on a compute engine that contexts share, to the cycle (docs/reference/contexts.md).

`Roster` is asked in each cycle that matters: whether the turn is over (`ends`), and who is `next`; a `Turn` looks at
its context in its first cycle. Nothing moves in cycles in which they aren't asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

SHORTEST = 16  # cycles of a slice
SLOW = 4  # times as slow
PLAIN = 0  # the context of plain work units
_WORD = 2**32


@dataclass
class Turn:
    """One turn of a context, which begins in cycle `chosen`, or is chosen before that by a GPU that has to wake up; the
    rest is known in the next one (`looked`)."""

    context: int
    chosen: int
    switches: bool
    slow: bool
    looked: bool = False
    start: int = 0
    cycles: int = 0
    work: int = 0  # cycles of its launch that they are

    @property
    def end(self) -> int:
        """The cycle in which it is over."""
        return self.start + self.cycles

    def look(self, switch: int, state: int, cycles: int, left: int) -> None:
        """How long it is: a slice of `cycles`, or less if nothing more is left."""
        cycles = max(cycles, SHORTEST) // 4 * 4
        need = left * SLOW if self.slow else left
        self.looked = True
        self.start = self.chosen + (switch + state if self.switches else 0)
        self.cycles = min(need, cycles)
        self.work = left if need <= cycles else cycles // SLOW if self.slow else cycles

    def had(self, now: int) -> tuple[int, int]:
        """Cycles on the engine up to `now`, and those of the launch that they are."""
        if now >= self.end:
            return self.cycles, self.work
        ran = max(now - self.start, 0)
        return ran, ran // SLOW if self.slow else ran


@dataclass
class Roster:
    """Who has had a turn in this round, and who had the last turn of all."""

    served: set[int] = field(default_factory=set)
    last: int = PLAIN
    turn: Turn | None = None

    def ends(self, now: int) -> bool:
        """Whether the turn is over of itself."""
        return self.turn is not None and self.turn.looked and now >= self.turn.end

    def next(self, waiting: Mapping[int, int], ended: int | None) -> int | None:
        """Who of `waiting` (their priorities) is next; `ended` has just had all of its turn: it doesn't go on as long
        as anybody else waits."""
        if not waiting:
            return None
        candidates = waiting.keys() - self.served or waiting.keys() - {ended} or waiting.keys()
        return min(candidates, key=lambda c: (-waiting[c], c))

    def begin(self, context: int, waiting: Mapping[int, int]) -> None:
        """It is served; where all had been, with it a round begins."""
        if not waiting.keys() - self.served:
            self.served.clear()
        self.served.add(context)
        self.last = context
