"""Where the ring is broken."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import CardCheck, Findings, Renumbering
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.file.names import split_link
from ringhil.emulator.scenario.file.topology import Card, GpuRef, LinkRef
from ringhil.emulator.scenario.file.types import CardName, LinkName
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
        links = found.breaks(self.card)
        held = not links if self.gap is None else bool(links) and self.gap.is_of(links)
        if held:
            return None
        return f"break {links[0].before}-{links[-1].after}" if links else "break none"

    def renumbered(self, new: Renumbering) -> "BreakIs":
        """Between the GPUs that are left."""
        return self if self.gap is None else replace(self, gap=self.gap.renumbered(new))
