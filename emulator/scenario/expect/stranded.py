"""Which GPUs are cut off."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import CardCheck, Findings, Renumbering
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.marks import Loc
from ringhil.emulator.scenario.model_types import CardName, Index
from ringhil.emulator.scenario.topology import Card


@dataclass(frozen=True)
class StrandedAre(CardCheck):
    """Exactly these GPUs of the card are cut off from its entry GPU; indices ascending."""

    KEY: ClassVar[str] = "stranded"
    FIELD: ClassVar[tuple[Any, Any]] = (
        dict[CardName, list[Index]] | None,
        Field(None, min_length=1, description="indices of the GPUs that are cut off from the entry GPU, by card"),
    )

    gpus: tuple[int, ...]

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: Sequence[int]) -> Iterator[Self]:
        """The check; the GPUs may stand in any order."""
        yield cls(card.name, reader.indices(loc, card, value))

    def __str__(self) -> str:
        return f"stranded GPUs of card {self.card} are {list(self.gpus)}"

    @property
    def value(self) -> tuple[int, ...]:
        """The indices."""
        return self.gpus

    def differs(self, found: Findings) -> str | None:
        """Between the ends of the break, and not counted."""
        stranded = found.card(self.card).stranded
        return None if stranded == self.gpus else f"stranded {list(stranded)}"

    def renumbered(self, new: Renumbering) -> "StrandedAre":
        """The check without the GPUs that were left out."""
        return replace(self, gpus=new.indices(self.card, self.gpus))
