"""The shape of an invariant."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from ringhil.emulator.judge.invariants.evidence import RunEvidence

MOST = 3  # of one kind are told; more say nothing new

Broken = tuple[str, int | None]  # what is wrong, and the cycle in which it was, where there is one


def first(broken: Sequence[tuple[str, int]], what: str) -> Iterator[Broken]:
    """The first few, and how many more there are; `what` they are, in the plural."""
    yield from broken[:MOST]
    if len(broken) > MOST:
        yield f"and {len(broken) - MOST} more {what}", broken[MOST][1]


class Invariant(ABC):
    """`name`: one of `scenario.INVARIANTS`."""

    name: ClassVar[str]

    def __init__(self, evidence: RunEvidence) -> None:
        self.evidence = evidence

    @abstractmethod
    def broken(self) -> Iterator[Broken]:
        """How it was broken in the run, which is over."""
