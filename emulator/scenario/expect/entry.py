"""Who speaks to the CPU."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import CardCheck, Findings, Renumbering
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.file.topology import Card, GpuRef
from ringhil.emulator.scenario.file.types import CardName, GpuName
from ringhil.emulator.scenario.yaml.marks import Loc


@dataclass(frozen=True)
class EntryIs(CardCheck):
    """R10: the GPU elected among the card's host links; None: the card has no entry GPU."""

    KEY: ClassVar[str] = "entry"
    FIELD: ClassVar[tuple[Any, Any]] = (
        dict[CardName, GpuName | None] | None,
        Field(None, min_length=1, description="entry GPU by card; null: none (R10)"),
    )

    gpu: GpuRef | None

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: str | None) -> Iterator[Self]:
        """One with a link to the CPU."""
        resolver = reader.resolver
        yield cls(card.name, None if value is None else resolver.host_linked(loc, resolver.gpu(loc, value, on=card)))

    def __str__(self) -> str:
        return f"entry GPU of card {self.card} is {self.gpu or 'none'}"

    @property
    def value(self) -> GpuRef | None:
        """The GPU."""
        return self.gpu

    def differs(self, found: Findings) -> str | None:
        """The difference, by the lease that the CPU has granted."""
        index = found.card(self.card).entry
        entry = None if index is None else GpuRef(self.card, index)
        return None if entry == self.gpu else f"entry {entry or 'none'}"

    def renumbered(self, new: Renumbering) -> "EntryIs | None":
        """The GPU by its new number."""
        if self.gpu is None:
            return self
        gpu = new.gpu(self.gpu)
        return None if gpu is None else replace(self, gpu=gpu)
