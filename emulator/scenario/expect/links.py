"""Where the ring is broken, and which ring links are named slow or noisy."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import CardCheck, Check, Findings, Reader, Renumbering, unheard
from ringhil.emulator.scenario.file.names import split_link
from ringhil.emulator.scenario.file.topology import Card, GpuRef, LinkRef
from ringhil.emulator.scenario.file.types import CardName, LinkName, Part
from ringhil.emulator.scenario.yaml.errors import listing
from ringhil.emulator.scenario.yaml.marks import Loc


@dataclass(frozen=True)
class Gap:
    """What lies between two GPUs of a ring of `gpus`, from `after` clockwise to `before`. Neighbours may be written in
    either order, as the link between them."""

    after: GpuRef
    before: GpuRef
    gpus: int

    def __str__(self) -> str:
        return f"{self.after}-{self.before}"

    def is_of(self, links: tuple[LinkRef, ...]) -> bool:
        """Whether these links, clockwise, are what lies there: one within it is not."""
        ends = (links[0].before, links[-1].after)
        against = len(links) == 1 and (self.before.index + 1) % self.gpus == self.after.index
        forwards = (self.after.index + 1) % self.gpus == self.before.index
        return ends == (self.after, self.before) or (against and not forwards and ends == (self.before, self.after))

    def renumbered(self, new: Renumbering) -> "Gap":
        """Between the GPUs that are left; one that was left out takes its border with it."""
        first = new.link(LinkRef(self.after.card, self.after.index, self.gpus))
        last = new.link(LinkRef(self.before.card, (self.before.index - 1) % self.gpus, self.gpus))
        return self if first is None or last is None else Gap(first.before, last.after, first.gpus)


@dataclass(frozen=True)
class BreakIs(CardCheck):
    """The GPUs between which the ring is reported broken; None: the ring is reported whole."""

    KEY: ClassVar[str] = "break"
    FIELD: ClassVar[tuple[Any, Any]] = (
        dict[CardName, LinkName | None] | None,
        Field(
            None,
            alias="break",
            min_length=1,
            description="where the ring is reported broken, by card; null: nowhere",
        ),
    )

    gap: Gap | None

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: str | None) -> Iterator[Self]:
        """Two GPUs of the card."""
        if value is None:
            yield cls(card.name, None)
        else:
            after, before = (reader.resolver.gpu(loc, half, card) for half in split_link(value))
            yield cls(card.name, Gap(after, before, card.gpus))

    def __str__(self) -> str:
        return f"break of card {self.card} is {self.gap or 'none'}"

    @property
    def value(self) -> str | None:
        """As it is written."""
        return None if self.gap is None else str(self.gap)

    def differs(self, found: Findings) -> str | None:
        """It lies between the last GPUs of both arms."""
        if self.gap is None and (why := unheard(found, self.card)):
            return why
        links = found.breaks(self.card)
        held = not links if self.gap is None else bool(links) and self.gap.is_of(links)
        if held:
            return None
        return f"break {links[0].before}-{links[-1].after}" if links else "break none"

    def renumbered(self, new: Renumbering) -> "BreakIs":
        """Between the GPUs that are left."""
        return self if self.gap is None else replace(self, gap=self.gap.renumbered(new))


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
        if self.link is None and (why := unheard(found, self.card)):
            return why
        card = found.card(self.card)
        named = card.slow_link if self.word == "slow" else card.noisy_link
        if named == (None if self.link is None else self.link.index):
            return None
        return f"{self.word} link {'none' if named is None else LinkRef(self.card, named, card.size)}"

    def renumbered(self, new: Renumbering) -> "LinkIs":
        """The link between the GPUs that are left."""
        return self if self.link is None else replace(self, link=new.link(self.link))
