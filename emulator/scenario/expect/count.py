"""How many GPUs work."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.card_value import CardValue, by_card
from ringhil.emulator.scenario.expect.check import Findings, Renumbering
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.file.topology import Card
from ringhil.emulator.scenario.yaml.marks import Loc
from ringhil.protocol.wire import MAX_RING


class CountIs(CardValue[int]):
    """R4: the card's accepted number of working GPUs."""

    KEY: ClassVar[str] = "count"
    FIELD: ClassVar[tuple[Any, Any]] = by_card(
        Annotated[int, Field(ge=0, le=MAX_RING)], "number of working GPUs by card (R4)"
    )

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: int) -> Iterator[Self]:
        """No more than the card has."""
        if value > card.gpus:
            raise reader.source.error(loc, f"found {value}; card {card.name} has {card.gpus} GPUs")
        yield cls(card.name, value)

    def found(self, findings: Findings) -> int:
        """By the last accepted count."""
        return findings.card(self.card).count

    def renumbered(self, new: Renumbering) -> Self:
        """Less by what was left out."""
        return type(self)(self.card, max(0, self.expected - new.gone(self.card)))
