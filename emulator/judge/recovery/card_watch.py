"""What the watch keeps of a card: its truth, its role, accepted counts, and events that it has yet to cope with."""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum, auto

from ringhil.emulator.judge.elections.roles import RoleWatch
from ringhil.emulator.judge.findings import FindingList
from ringhil.emulator.judge.oracle import Part
from ringhil.emulator.judge.recovery.truth import CardTruth
from ringhil.emulator.scenario import TimelineEvent
from ringhil.firmware.observations import Counted


class Needed(Enum):
    """What has to come before an event is over."""

    CENSUS = auto()  # a right count of a card
    ENTRY = auto()  # the entry role of a card is with a GPU that can hold it
    BOUNDARY = auto()  # the same of the boundary role of a link between cards
    SLOW_GPU = auto()  # a slow GPU of a card is reported, or no longer
    SLOW_LINK = auto()  # the same of a slow link
    NAMED = auto()  # a liar on a card is suspected


Need = tuple[Needed, int]  # BOUNDARY: and the number of the link between cards; all others: and the number of the card


@dataclass
class OpenEvent:
    """An event whose end has not been seen."""

    event: TimelineEvent
    cards: frozenset[int]
    reach: frozenset[int]  # these, and the cards that it shares a boundary role with that has to move
    gpu: int | None  # of the first card
    part: Part | None
    needs: set[Need]
    before: dict[int, object]  # by card: what was to be found
    bound: int
    detected: int | None = None
    switched: int | None = None
    recounted: int | None = None
    superseded: bool = False
    timed: bool = False  # a late link has to be told from its arrival times

    def __post_init__(self) -> None:
        self.timed = any(what is Needed.SLOW_LINK for what, _ in self.needs)
        self.across = self.links  # whose roles had to move

    @property
    def links(self) -> frozenset[int]:
        """Links between cards whose role has to move yet."""
        return frozenset(number for what, number in self.needs if what is Needed.BOUNDARY)

    @property
    def over(self) -> bool:
        """Its end was seen, or can't be told from that of another one."""
        return self.recounted is not None or self.superseded

    @property
    def late(self) -> bool:
        """Its end wasn't seen within its bound, or has not been seen yet."""
        return not self.superseded and (self.recounted is None or self.recounted - self.event.at > self.bound)

    def detect(self, now: int) -> None:
        """There is a sign of it."""
        self.detected = now if self.detected is None else self.detected

    def settle(self, need: Need, now: int) -> None:
        """What it needed has come."""
        if need in self.needs:
            self.needs.discard(need)
            self.detect(now)
            if need[0] in (Needed.ENTRY, Needed.BOUNDARY):
                self.switched = now
            if not self.needs:
                self.recounted = now


@dataclass
class CardWatch:
    """What was found on one card."""

    name: str
    truth: CardTruth
    role: RoleWatch
    wrong_counts: FindingList = field(default_factory=FindingList)  # what, and in which cycle
    counts: list[tuple[int, Counted]] = field(default_factory=list)
    rejected: dict[str, int] = field(default_factory=dict)
    # Entry GPU and a neighbour: counts of both messages, all the way round, with no work beside them.
    met: Counter[tuple[int, int]] = field(default_factory=Counter)
