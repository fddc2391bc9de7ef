"""The shape of an invariant."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from ringhil.emulator.judge.invariants.evidence import RunEvidence

Broken = tuple[str, int | None]  # what is wrong, and the cycle in which it was, where there is one


class Invariant(ABC):
    """`name`: one of `scenario.INVARIANTS`."""

    name: ClassVar[str]

    def __init__(self, evidence: RunEvidence) -> None:
        self.evidence = evidence

    @abstractmethod
    def broken(self) -> Iterator[Broken]:
        """How it was broken in the run, which is over."""
