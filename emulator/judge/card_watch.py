"""What was found on one card while a run was played."""

from collections import Counter
from dataclasses import dataclass, field

from ringhil.emulator.judge.findings import FindingList
from ringhil.emulator.judge.roles import RoleWatch
from ringhil.emulator.judge.truth import CardTruth
from ringhil.firmware.observations import Counted


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
