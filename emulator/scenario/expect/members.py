"""Which GPUs work."""

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
class MembersAre(CardCheck):
    """Exactly these GPUs of the card are counted; indices ascending."""

    KEY: ClassVar[str] = "members"
    FIELD: ClassVar[tuple[Any, Any]] = (
        dict[CardName, list[Index]] | None,
        Field(None, min_length=1, description="indices of the working GPUs by card"),
    )

    members: tuple[int, ...]

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: Sequence[int]) -> Iterator[Self]:
        """The check; the GPUs may stand in any order."""
        yield cls(card.name, reader.indices(loc, card, value))

    def __str__(self) -> str:
        return f"members of card {self.card} are {list(self.members)}"

    @property
    def value(self) -> tuple[int, ...]:
        """The indices."""
        return self.members

    def differs(self, found: Findings) -> str | None:
        """The difference, by the last accepted count."""
        members = found.card(self.card).members
        return None if members == self.members else f"members {list(members)}"

    def renumbered(self, new: Renumbering) -> "MembersAre":
        """The check without the GPUs that were left out."""
        return replace(self, members=new.indices(self.card, self.members))
