"""What is known of a card is true."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import Check, Findings, Reader
from ringhil.emulator.scenario.file.types import CardName
from ringhil.emulator.scenario.yaml.marks import Loc


@dataclass(frozen=True)
class TruthIs(Check):
    """Count, members, break and stranded GPUs of the card are what follows from the faults so far."""

    KEY: ClassVar[str] = "truth"
    FIELD: ClassVar[tuple[Any, Any]] = (
        list[CardName] | None,
        Field(
            None,
            min_length=1,
            description="cards of which count, members, break and stranded GPUs are "
            "what follows from the faults so far",
        ),
    )

    card: str

    @classmethod
    def read(cls, reader: Reader, loc: Loc, written: Sequence[str]) -> Iterator[Self]:
        """A list of cards, each once."""
        for i, name in enumerate(written):
            place = (*loc, i)
            card = reader.resolver.named_card(place, name)
            if name in written[:i]:
                raise reader.source.error(place, f"card {name} stands here twice; each may once")
            yield cls(card.name)

    def __str__(self) -> str:
        return f"what is known of card {self.card} is true"

    @property
    def about(self) -> str:
        """The card."""
        return self.card

    def write(self, entry: dict[str, Any]) -> None:
        """All cards in one list."""
        entry.setdefault(self.KEY, []).append(self.card)

    def differs(self, found: Findings) -> str | None:
        """The difference, by the oracle."""
        return found.untrue(self.card)
