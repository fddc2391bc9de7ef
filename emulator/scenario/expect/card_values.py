"""Checks that compare one value of a card with what is found: most of them."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from pydantic import Field

from ringhil.emulator.scenario.expect.check import CardCheck, Findings, Reader, Renumbering, unheard
from ringhil.emulator.scenario.file.topology import Card
from ringhil.emulator.scenario.file.types import CardName, Index, Number
from ringhil.emulator.scenario.yaml.marks import Loc
from ringhil.protocol.wire import MAX_RING

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
        return None if value == self.expected else f"{self.KEY} {str(value).lower()}"


@dataclass(frozen=True)
class CardGpus(CardValue[tuple[int, ...]]):
    """Exactly these GPUs of the card; indices ascending. `GPUS`: what they are called. `REPORTED`: the card's reports
    alone tell that there are none."""

    GPUS: ClassVar[str]
    REPORTED: ClassVar[bool] = False

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
        if self.REPORTED and not self.expected and (why := unheard(found, self.card)):
            return why
        gpus = self.found(found)
        return None if gpus == self.expected else f"{self.KEY} {list(gpus)}"

    def renumbered(self, new: Renumbering) -> Self:
        """The check without the GPUs that were left out."""
        return type(self)(self.card, new.indices(self.card, self.expected))


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


class MembersAre(CardGpus):
    """Exactly these GPUs of the card are counted."""

    KEY: ClassVar[str] = "members"
    FIELD: ClassVar[tuple[Any, Any]] = CardGpus.field("working GPUs by card")
    GPUS: ClassVar[str] = "members"

    def found(self, findings: Findings) -> tuple[int, ...]:
        """By the last accepted count."""
        return findings.card(self.card).members


class StrandedAre(CardGpus):
    """Exactly these GPUs of the card are cut off from its entry GPU."""

    KEY: ClassVar[str] = "stranded"
    FIELD: ClassVar[tuple[Any, Any]] = CardGpus.field("GPUs that are cut off from the entry GPU, by card")
    GPUS: ClassVar[str] = "stranded GPUs"
    REPORTED: ClassVar[bool] = True

    def found(self, findings: Findings) -> tuple[int, ...]:
        """Those between the ends of the break that are not counted."""
        return findings.card(self.card).stranded


class IsolatedAre(CardGpus):
    """Exactly these GPUs of the card are healthy and kept out by their own switch."""

    KEY: ClassVar[str] = "isolated"
    FIELD: ClassVar[tuple[Any, Any]] = CardGpus.field("healthy GPUs that their own switch keeps out, by card")
    GPUS: ClassVar[str] = "isolated GPUs"

    def found(self, findings: Findings) -> tuple[int, ...]:
        """By the status registers of their nodes."""
        return findings.isolated(self.card)


class LentAre(CardGpus):
    """Exactly these GPUs of the card are lent."""

    KEY: ClassVar[str] = "lent"
    FIELD: ClassVar[tuple[Any, Any]] = CardGpus.field("GPUs that are lent to virtual machines, by card")
    GPUS: ClassVar[str] = "lent GPUs"

    def found(self, findings: Findings) -> tuple[int, ...]:
        """By the status registers of their nodes."""
        return findings.lent(self.card)


class SuspectsAre(CardGpus):
    """Exactly these GPUs of the card are named as suspects."""

    KEY: ClassVar[str] = "suspects"
    FIELD: ClassVar[tuple[Any, Any]] = CardGpus.field("GPUs that are suspected of spoiling the census, by card")
    GPUS: ClassVar[str] = "suspects"
    REPORTED: ClassVar[bool] = True

    def found(self, findings: Findings) -> tuple[int, ...]:
        """By the last report: whom it names; an accepted count clears everybody."""
        return findings.card(self.card).suspects


class EpochIs(CardValue[int]):
    """The epoch of the card's entry GPU."""

    KEY: ClassVar[str] = "epoch"
    FIELD: ClassVar[tuple[Any, Any]] = by_card(Number, "epoch of the entry GPU by card: how often one was elected")

    def found(self, findings: Findings) -> int:
        """By the lease that the CPU has granted."""
        return findings.card(self.card).epoch


class ReachableIs(CardValue[bool]):
    """Whether the CPU reaches the card."""

    KEY: ClassVar[str] = "reachable"
    FIELD: ClassVar[tuple[Any, Any]] = by_card(bool, "whether the CPU reaches the card, by card")

    def __str__(self) -> str:
        return f"card {self.card} is {'' if self.expected else 'not '}reachable"

    def found(self, findings: Findings) -> bool:
        """By leases and reports."""
        return findings.card(self.card).reachable
