"""Whether the CPU reaches a card."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import CardCheck, Findings
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.marks import Loc
from ringhil.emulator.scenario.model_types import CardName
from ringhil.emulator.scenario.topology import Card


@dataclass(frozen=True)
class ReachableIs(CardCheck):
    """Whether the CPU reaches the card."""

    KEY: ClassVar[str] = "reachable"
    FIELD: ClassVar[tuple[Any, Any]] = (
        dict[CardName, bool] | None,
        Field(None, min_length=1, description="whether the CPU reaches the card, by card"),
    )

    reachable: bool

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: bool) -> Iterator[Self]:
        """Yes or no."""
        yield cls(card.name, value)

    def __str__(self) -> str:
        return f"card {self.card} is {'' if self.reachable else 'not '}reachable"

    @property
    def value(self) -> bool:
        """Yes or no."""
        return self.reachable

    def differs(self, found: Findings) -> str | None:
        """The difference, by leases and reports."""
        reachable = found.card(self.card).reachable
        return None if reachable == self.reachable else f"reachable {reachable}"
