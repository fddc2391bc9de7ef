"""Which ring links are named slow or noisy."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import Check, Findings, Renumbering
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.file.topology import LinkRef
from ringhil.emulator.scenario.file.types import CardName, LinkName, Part
from ringhil.emulator.scenario.yaml.marks import Loc
from ringhil.emulator.scenario.yaml.suggest import listing

WORDS = ("slow", "noisy")

_ByCard = dict[CardName, LinkName | None]


class NamedLinks(Part):
    """At least one of them."""

    slow: _ByCard | None = Field(None, min_length=1, description="ring link that is called slow by card; null: none")
    noisy: _ByCard | None = Field(None, min_length=1, description="ring link that is called noisy by card; null: none")


@dataclass(frozen=True)
class LinkIs(Check):
    """The ring link of the card that is called `word`, slow or noisy; None: no link is."""

    KEY: ClassVar[str] = "links"
    FIELD: ClassVar[tuple[Any, Any]] = (
        NamedLinks | None,
        Field(None, description="ring links that are called slow or noisy"),
    )

    card: str
    word: str
    link: LinkRef | None

    @classmethod
    def read(cls, reader: Reader, loc: Loc, written: NamedLinks) -> Iterator[Self]:
        """A link of the card's ring, for each word and card."""
        if written.slow is None and written.noisy is None:
            raise reader.source.error(loc, f"nothing to check; allowed: {listing(WORDS)}")
        for word in WORDS:
            for name, link in (getattr(written, word) or {}).items():
                place = (*loc, word, name)
                card = reader.resolver.card(place)
                yield cls(name, word, None if link is None else reader.resolver.ring_link(place, link, on=card))

    def __str__(self) -> str:
        return f"{self.word} link of card {self.card} is {self.link or 'none'}"

    @property
    def about(self) -> str:
        """The card."""
        return self.card

    def write(self, entry: dict[str, Any]) -> None:
        """Each card once under each word."""
        by_card = entry.setdefault(self.KEY, {}).setdefault(self.word, {})
        if self.card in by_card:
            raise ValueError(f"two checks of the {self.word} link of {self.card} in one expectation")
        by_card[self.card] = None if self.link is None else str(self.link)

    def differs(self, found: Findings) -> str | None:
        """The link that is named, by the last report, where it is another one."""
        card = found.card(self.card)
        named = card.slow_link if self.word == "slow" else card.noisy_link
        if named == (None if self.link is None else self.link.index):
            return None
        return f"{self.word} link {'none' if named is None else LinkRef(self.card, named, card.size)}"

    def renumbered(self, new: Renumbering) -> "LinkIs":
        """The link between the GPUs that are left."""
        return self if self.link is None else replace(self, link=new.link(self.link))
