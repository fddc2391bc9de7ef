"""Where the ring is broken."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import CardCheck, Findings, Renumbering
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.marks import Loc
from ringhil.emulator.scenario.model_types import CardName, LinkName
from ringhil.emulator.scenario.topology import Card, LinkRef


@dataclass(frozen=True)
class BreakIs(CardCheck):
    """The ring link that is reported broken; None: the ring is reported whole."""

    KEY: ClassVar[str] = "break"
    FIELD: ClassVar[tuple[Any, Any]] = (
        dict[CardName, LinkName | None] | None,
        Field(None, alias="break", min_length=1, description="ring link reported broken by card; null: none"),
    )

    link: LinkRef | None

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: str | None) -> Iterator[Self]:
        """A link of the card's ring."""
        yield cls(card.name, None if value is None else reader.resolver.ring_link(loc, value, on=card))

    def __str__(self) -> str:
        return f"break of card {self.card} is {self.link or 'none'}"

    @property
    def value(self) -> str | None:
        """The link's name."""
        return None if self.link is None else str(self.link)

    def differs(self, found: Findings) -> str | None:
        """It lies between the last GPUs of both arms."""
        links = found.breaks(self.card)
        held = str(self.link) in links if self.link else not links
        return None if held else f"break {' or '.join(links) or 'none'}"

    def renumbered(self, new: Renumbering) -> "BreakIs":
        """The link between the GPUs that are left."""
        return self if self.link is None else replace(self, link=new.link(self.link))
