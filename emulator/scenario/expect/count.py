"""How many GPUs work."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import CardCheck, Findings, Renumbering
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.marks import Loc
from ringhil.emulator.scenario.model_types import CardName
from ringhil.emulator.scenario.topology import Card
from ringhil.protocol.wire import MAX_RING


@dataclass(frozen=True)
class CountIs(CardCheck):
    """R4: the card's accepted number of working GPUs."""

    KEY: ClassVar[str] = "count"
    FIELD: ClassVar[tuple[Any, Any]] = (
        dict[CardName, Annotated[int, Field(ge=0, le=MAX_RING)]] | None,
        Field(None, min_length=1, description="number of working GPUs by card (R4)"),
    )

    count: int

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: int) -> Iterator[Self]:
        """No more than the card has."""
        if value > card.gpus:
            raise reader.source.error(loc, f"found {value}; card {card.name} has {card.gpus} GPUs")
        yield cls(card.name, value)

    def __str__(self) -> str:
        return f"count of card {self.card} is {self.count}"

    @property
    def value(self) -> int:
        """The number."""
        return self.count

    def differs(self, found: Findings) -> str | None:
        """The difference, by the last accepted count."""
        count = found.card(self.card).count
        return None if count == self.count else f"count {count}"

    def renumbered(self, new: Renumbering) -> "CountIs":
        """Less by what was left out."""
        return replace(self, count=max(0, self.count - new.gone(self.card)))
