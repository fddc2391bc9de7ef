"""Checks that compare one value of a card with what is found: most of them."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import Field

from ringhil.emulator.scenario.expect.check import CardCheck, Findings, Renumbering
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.file.topology import Card
from ringhil.emulator.scenario.file.types import CardName, Index
from ringhil.emulator.scenario.yaml.marks import Loc

Value = TypeVar("Value")


def by_card(kind: Any, description: str) -> tuple[Any, Any]:
    """The `FIELD` of a check: a `kind` for each card."""
    return dict[CardName, kind] | None, Field(None, min_length=1, description=description)


@dataclass(frozen=True)
class CardValue(CardCheck, Generic[Value]):
    """What stands in the file must be found."""

    expected: Value

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: Any) -> Iterator[Self]:
        """The value as it is."""
        yield cls(card.name, value)

    def __str__(self) -> str:
        return f"{self.KEY} of card {self.card} is {self.expected}"

    @property
    def value(self) -> Value:
        """As it is."""
        return self.expected

    @abstractmethod
    def found(self, findings: Findings) -> Value:
        """What a run has brought."""

    def differs(self, found: Findings) -> str | None:
        """The value found where it is another one."""
        value = self.found(found)
        return None if value == self.expected else f"{self.KEY} {value}"


@dataclass(frozen=True)
class CardGpus(CardValue[tuple[int, ...]]):
    """Exactly these GPUs of the card; indices ascending. `GPUS`: what they are called."""

    GPUS: ClassVar[str]

    @staticmethod
    def field(description: str) -> tuple[Any, Any]:
        """The check's `FIELD`."""
        return by_card(list[Index], f"indices of the {description}")

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: Sequence[int]) -> Iterator[Self]:
        """The GPUs may stand in any order."""
        yield cls(card.name, reader.indices(loc, card, value))

    def __str__(self) -> str:
        return f"{self.GPUS} of card {self.card} are {list(self.expected)}"

    def differs(self, found: Findings) -> str | None:
        """The GPUs found where they are others."""
        gpus = self.found(found)
        return None if gpus == self.expected else f"{self.KEY} {list(gpus)}"

    def renumbered(self, new: Renumbering) -> Self:
        """The check without the GPUs that were left out."""
        return type(self)(self.card, new.indices(self.card, self.expected))
