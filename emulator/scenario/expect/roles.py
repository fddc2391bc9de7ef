"""Who speaks to the CPU, and who to another card."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import CardCheck, Findings, Reader, Renumbering, unheard
from ringhil.emulator.scenario.file.topology import Card, GpuRef
from ringhil.emulator.scenario.file.types import CardName, GpuName, Members
from ringhil.emulator.scenario.yaml.errors import listing
from ringhil.emulator.scenario.yaml.marks import Loc


@dataclass(frozen=True)
class EntryIs(CardCheck):
    """R10: the GPU elected among the card's host links; None: the card has no entry GPU."""

    KEY: ClassVar[str] = "entry"
    FIELD: ClassVar[tuple[Any, Any]] = (
        dict[CardName, GpuName | None] | None,
        Field(None, min_length=1, description="entry GPU by card; null: none (R10)"),
    )

    gpu: GpuRef | None

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: str | None) -> Iterator[Self]:
        """One with a link to the CPU."""
        resolver = reader.resolver
        yield cls(card.name, None if value is None else resolver.host_linked(loc, resolver.gpu(loc, value, on=card)))

    def __str__(self) -> str:
        return f"entry GPU of card {self.card} is {self.gpu or 'none'}"

    @property
    def value(self) -> GpuRef | None:
        """The GPU."""
        return self.gpu

    def differs(self, found: Findings) -> str | None:
        """The difference, by the lease that the CPU has granted."""
        index = found.card(self.card).entry
        entry = None if index is None else GpuRef(self.card, index)
        return None if entry == self.gpu else f"entry {entry or 'none'}"

    def renumbered(self, new: Renumbering) -> "EntryIs | None":
        """The GPU by its new number."""
        if self.gpu is None:
            return self
        gpu = new.gpu(self.gpu)
        return None if gpu is None else replace(self, gpu=gpu)


@dataclass(frozen=True)
class BoundaryIs(CardCheck):
    """R9: the GPU elected among the members of one of the card's boundary links; None: the card has none at all.

    A card with several boundary links has a boundary GPU for each: about the others it says nothing.
    """

    KEY: ClassVar[str] = "boundary"
    FIELD: ClassVar[tuple[Any, Any]] = (
        dict[CardName, Members | None] | None,
        Field(None, min_length=1, description="boundary GPU by card, or a list, one for each link; null: none (R9)"),
    )

    gpu: GpuRef | None

    @classmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: Sequence[str] | None) -> Iterator[Self]:
        """One GPU of a link at most: its members elect one."""
        if value is None:
            yield cls(card.name, None)
            return
        links = reader.resolver.boundary_links
        chosen: dict[int, GpuRef] = {}
        for i, name in enumerate(value):
            place = (*loc, i)
            gpu = reader.resolver.gpu(place, name, on=card)
            link = next((n for n, link in enumerate(links) if gpu in (*link.from_, *link.to)), None)
            if link is None:
                candidates = listing(map(str, reader.resolver.boundary_members(card))) or "none"
                problem = f"{gpu} is in no boundary link; members on card {card.name}: {candidates}"
                raise reader.source.error(place, problem)
            if gpu == chosen.get(link):
                raise reader.source.error(place, f"{gpu} stands here twice; each may once")
            if link in chosen:
                problem = f"{gpu} is in boundary_links[{link}] as {chosen[link]} is; one GPU speaks for a link"
                raise reader.source.error(place, problem)
            chosen[link] = gpu
            yield cls(card.name, gpu)

    def __str__(self) -> str:
        return f"boundary GPU of card {self.card} is {self.gpu or 'none'}"

    @property
    def value(self) -> list[GpuRef] | None:
        """The GPU in a list of its own."""
        return None if self.gpu is None else [self.gpu]

    def write(self, entry: dict[str, Any]) -> None:
        """Several of one card stand in one list."""
        there = entry.get(self.KEY, {}).get(self.card)
        if there is not None and self.gpu is not None:
            there.append(self.gpu)
        else:
            super().write(entry)

    def differs(self, found: Findings) -> str | None:
        """The difference, by the records of the last census."""
        if self.gpu is None and (why := unheard(found, self.card)):
            return why
        gpus = found.boundaries(self.card).values()
        held = str(self.gpu) in gpus if self.gpu is not None else not gpus
        return None if held else f"boundary {', '.join(gpus) or 'none'}"

    def renumbered(self, new: Renumbering) -> "BoundaryIs | None":
        """The GPU by its new number."""
        if self.gpu is None:
            return self
        gpu = new.gpu(self.gpu)
        return None if gpu is None else replace(self, gpu=gpu)
