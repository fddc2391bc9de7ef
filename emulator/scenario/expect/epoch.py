"""Under which epoch the entry GPU holds its role."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import CardCheck, Findings
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.marks import Loc
from ringhil.emulator.scenario.model_types import CardName, Number
from ringhil.emulator.scenario.topology import Card


@dataclass(frozen=True)
class EpochIs(CardCheck):
    """The epoch of the card's entry GPU."""

    KEY: ClassVar[str] = "epoch"
    FIELD: ClassVar[tuple[Any, Any]] = (
        dict[CardName, Number] | None,
        Field(None, min_length=1, description="epoch of the entry GPU by card: how often one was elected"),
    )

    epoch: int

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: int) -> Iterator[Self]:
        """Any number."""
        yield cls(card.name, value)

    def __str__(self) -> str:
        return f"epoch of card {self.card} is {self.epoch}"

    @property
    def value(self) -> int:
        """The number."""
        return self.epoch

    def differs(self, found: Findings) -> str | None:
        """The difference, by the lease that the CPU has granted."""
        epoch = found.card(self.card).epoch
        return None if epoch == self.epoch else f"epoch {epoch}"
