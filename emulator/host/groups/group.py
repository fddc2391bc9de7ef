"""Groups of processes, and what each group may have of every GPU.

A value that is None is not given: then those of the groups around it hold, and nothing else. Nobody has more than the
groups around it allow: the shortest slice and the lowest priority that are given on the way from the root are those
that count.

Memory is divided evenly among those in a group; nobody gets more than its own limit allows, or less than it holds
already. What one can't use the others get. A GPU keeps each context to a limit of its own, so that what is divided is
never more than what there is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ringhil.emulator.host.contexts.command import ContextRef


@dataclass(frozen=True, slots=True)
class Used:
    """What contexts had of engines: cycles, turns behind another one's, commands that were refused."""

    run: int = 0
    switches: int = 0
    refused: int = 0

    def __add__(self, other: "Used") -> "Used":
        return Used(self.run + other.run, self.switches + other.switches, self.refused + other.refused)

    def without(self, other: "Used") -> "Used":
        """What was used since the other."""
        return Used(self.run - other.run, self.switches - other.switches, self.refused - other.refused)


@dataclass(eq=False, slots=True)
class GroupMember:
    """A process; `places` of its contexts."""

    pid: int
    name: str
    group: "ProcessGroup"
    places: set[ContextRef] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class ProcessGroup:
    """`memory` in pages, `slice` in cycles. `past`: what contexts have used that are not in it any more, or not there.
    `gone`: it was removed."""

    name: str
    parent: "ProcessGroup | None" = None
    memory: int | None = None
    slice: int | None = None
    priority: int | None = None
    children: dict[str, "ProcessGroup"] = field(default_factory=dict)
    members: dict[int, GroupMember] = field(default_factory=dict)
    past: Used = field(default_factory=Used)
    gone: bool = False

    def outwards(self) -> "Iterator[ProcessGroup]":
        """It and the groups around it, the root last."""
        group: ProcessGroup | None = self
        while group is not None:
            yield group
            group = group.parent

    def inwards(self) -> "Iterator[ProcessGroup]":
        """It and the groups in it."""
        yield self
        for child in self.children.values():
            yield from child.inwards()

    @property
    def depth(self) -> int:
        """Groups around it: the root has none."""
        return sum(1 for _ in self.outwards()) - 1

    @property
    def slice_there(self) -> int:
        """Cycles; 0: the GPU's default."""
        return min((group.slice for group in self.outwards() if group.slice is not None), default=0)

    @property
    def priority_there(self) -> int:
        """Whoever is in it has that."""
        return min((group.priority for group in self.outwards() if group.priority is not None), default=0)

    @property
    def memory_there(self) -> int | None:
        """Pages that somebody who is alone in it may have of a GPU."""
        return min((group.memory for group in self.outwards() if group.memory is not None), default=None)

    def account(self, used: Used) -> None:
        """That was used by a context in it. Of a group that was removed it is the one around it that remembers."""
        there = next(group for group in self.outwards() if not group.gone)
        there.past += used


@dataclass(frozen=True, slots=True)
class MemoryClaim:
    """One who shares. Pages; `most`: None: as much as there is."""

    held: int
    most: int | None = None


def divided(budget: int, claims: Sequence[MemoryClaim]) -> list[int]:
    """Pages for each. Together no more than `budget`, unless more than that is held: then each has what it holds."""
    low, high = 0, budget  # the greatest even share for which there is enough
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_share(claim, middle) for claim in claims) <= budget:
            low = middle
        else:
            high = middle - 1
    shares = [_share(claim, low) for claim in claims]
    left = budget - sum(shares)
    for n, claim in enumerate(claims):
        more = _share(claim, low + 1) - shares[n]
        if 0 < more <= left:
            shares[n] += more
            left -= more
    return shares


def _share(claim: MemoryClaim, even: int) -> int:
    return max(claim.held, even if claim.most is None else min(even, claim.most))
