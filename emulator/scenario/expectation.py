"""What a scenario expects, when: one small class for each kind of check."""

from dataclasses import dataclass, field
from typing import Literal

from ringhil.emulator.scenario.topology import GpuRef, LinkRef


@dataclass(frozen=True)
class CountIs:
    """R4: the card's accepted number of working GPUs."""

    card: str
    count: int

    def __str__(self) -> str:
        return f"count of card {self.card} is {self.count}"


@dataclass(frozen=True)
class MembersAre:
    """Exactly these GPUs of the card are counted; indices ascending."""

    card: str
    members: tuple[int, ...]

    def __str__(self) -> str:
        return f"members of card {self.card} are {list(self.members)}"


@dataclass(frozen=True)
class EntryIs:
    """R10: the GPU elected among the card's host links; None: the card has no entry GPU."""

    card: str
    gpu: GpuRef | None

    def __str__(self) -> str:
        return f"entry GPU of card {self.card} is {self.gpu or 'none'}"


@dataclass(frozen=True)
class BoundaryIs:
    """R9: the GPU elected among the members of one of the card's boundary links; None: the card has none at all.

    A card with several boundary links has a boundary GPU for each: about the others it says nothing.
    """

    card: str
    gpu: GpuRef | None

    def __str__(self) -> str:
        return f"boundary GPU of card {self.card} is {self.gpu or 'none'}"


@dataclass(frozen=True)
class EpochIs:
    """The epoch of the card's entry GPU."""

    card: str
    epoch: int

    def __str__(self) -> str:
        return f"epoch of card {self.card} is {self.epoch}"


@dataclass(frozen=True)
class BreakIs:
    """The ring link that is reported broken; None: the ring is reported whole."""

    card: str
    link: LinkRef | None

    def __str__(self) -> str:
        return f"break of card {self.card} is {self.link or 'none'}"


@dataclass(frozen=True)
class StrandedAre:
    """Exactly these GPUs of the card are cut off from its entry GPU; indices ascending."""

    card: str
    gpus: tuple[int, ...]

    def __str__(self) -> str:
        return f"stranded GPUs of card {self.card} are {list(self.gpus)}"


@dataclass(frozen=True)
class IsolatedAre:
    """Exactly these GPUs of the card are healthy and kept out by their own switch; indices ascending."""

    card: str
    gpus: tuple[int, ...]

    def __str__(self) -> str:
        return f"isolated GPUs of card {self.card} are {list(self.gpus)}"


@dataclass(frozen=True)
class WorkIs:
    """Numbers of work units; None: not checked."""

    completed: int | None
    lost: int | None
    duplicated: int | None

    def __str__(self) -> str:
        given = {"completed": self.completed, "lost": self.lost, "duplicated": self.duplicated}
        return "work units: " + ", ".join(f"{n} {name}" for name, n in given.items() if n is not None)


@dataclass(frozen=True)
class ReachableIs:
    """Whether the CPU reaches the card."""

    card: str
    reachable: bool

    def __str__(self) -> str:
        return f"card {self.card} is {'' if self.reachable else 'not '}reachable"


@dataclass(frozen=True)
class TruthIs:
    """Count, members, break and stranded GPUs of the card are what follows from the faults so far."""

    card: str

    def __str__(self) -> str:
        return f"what is known of card {self.card} is true"


Check = (
    CountIs
    | MembersAre
    | EntryIs
    | BoundaryIs
    | EpochIs
    | BreakIs
    | StrandedAre
    | IsolatedAre
    | WorkIs
    | ReachableIs
    | TruthIs
)


@dataclass(frozen=True)
class Expectation:
    """Checks that hold together, `at` a cycle, `by` a cycle at the latest, at the `end` of the run, or `always`.

    `cycle` is for `at` and `by`, None otherwise. `since` and `until` are for `always`: cycles from which and up to
    which it has to hold; 0: from the first accepted count of every card that it names, None: to the end of the run.
    `line` is where it stands in the file; it makes no difference.
    """

    kind: Literal["at", "by", "end", "always"]
    cycle: int | None
    checks: tuple[Check, ...]
    line: int = field(compare=False)
    since: int = 0
    until: int | None = None
