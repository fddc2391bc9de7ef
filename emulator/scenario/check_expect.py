"""The expectations of a file: about cards that exist, and such that they can come true."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from ringhil.emulator.scenario import model
from ringhil.emulator.scenario.choice import exactly_one
from ringhil.emulator.scenario.expectation import (
    BoundaryIs,
    BreakIs,
    Check,
    CountIs,
    EntryIs,
    Expectation,
    MembersAre,
    ReachableIs,
    WorkIs,
)
from ringhil.emulator.scenario.marks import Loc, Source
from ringhil.emulator.scenario.references import Resolver
from ringhil.emulator.scenario.scenario import Workload
from ringhil.emulator.scenario.suggest import listing
from ringhil.emulator.scenario.topology import BoundaryLink, Card, GpuRef

T = TypeVar("T")


class ExpectChecker:
    """Checks the entries of `expect` against the rest of the file; every method raises ScenarioError."""

    def __init__(
        self, source: Source, resolver: Resolver, links: Sequence[BoundaryLink], workload: Workload | None
    ) -> None:
        self.source = source
        self.resolver = resolver
        self.links = links
        self.workload = workload

    def all(self, written: Sequence[model.Expectation]) -> tuple[Expectation, ...]:
        return tuple(self._one(("expect", n), entry) for n, entry in enumerate(written))

    def _one(self, loc: Loc, written: model.Expectation) -> Expectation:
        kind, cycle = self._when(loc, written)
        checks = tuple(self._checks(loc, written))
        if not checks:
            raise self.source.error(loc, f"nothing to check; allowed: {listing(model.CHECKS)}")
        return Expectation(kind, cycle, checks, self.source.mark(loc).line)

    def _when(self, loc: Loc, written: model.Expectation) -> tuple[Literal["at", "by", "end"], int | None]:
        kind = exactly_one(self.source, loc, model.TIMES)
        return kind, None if kind == "end" else getattr(written, kind)

    def _checks(self, loc: Loc, written: model.Expectation) -> Iterator[Check]:
        for place, card, count in self._by_card(loc, "count", written.count):
            yield CountIs(card.name, self._count(place, card, count))
        for place, card, members in self._by_card(loc, "members", written.members):
            yield MembersAre(card.name, self._members(place, card, members))
        for place, card, name in self._by_card(loc, "entry", written.entry):
            yield EntryIs(card.name, self._entry(place, card, name))
        for place, card, name in self._by_card(loc, "boundary", written.boundary):
            yield BoundaryIs(card.name, self._boundary(place, card, name))
        for place, card, link in self._by_card(loc, "break", written.break_):
            yield BreakIs(card.name, None if link is None else self.resolver.link(place, link, on=card))
        if written.work is not None:
            yield self._work((*loc, "work"), written.work)
        for _, card, reachable in self._by_card(loc, "reachable", written.reachable):
            yield ReachableIs(card.name, reachable)

    def _by_card(self, loc: Loc, key: str, by_card: Mapping[str, T] | None) -> Iterator[tuple[Loc, Card, T]]:
        for name, value in (by_card or {}).items():
            place = (*loc, key, name)
            yield place, self.resolver.card(place), value

    def _count(self, loc: Loc, card: Card, count: int) -> int:
        if count > card.gpus:
            raise self.source.error(loc, f"found {count}; card {card.name} has {card.gpus} GPUs")
        return count

    def _members(self, loc: Loc, card: Card, members: Sequence[int]) -> tuple[int, ...]:
        for i, index in enumerate(members):
            self.resolver.index((*loc, i), card, index)
        seen = set[int]()
        for i, index in enumerate(members):
            if index in seen:
                raise self.source.error((*loc, i), f"GPU {index} stands here twice; each may once")
            seen.add(index)
        return tuple(sorted(seen))

    def _entry(self, loc: Loc, card: Card, name: str) -> GpuRef:
        gpu = self.resolver.gpu(loc, name, on=card)
        if gpu.index not in card.host_links:
            candidates = listing(str(GpuRef(card.name, index)) for index in card.host_links)
            raise self.source.error(loc, f"{gpu} has no link to the CPU; host links of card {card.name}: {candidates}")
        return gpu

    def _boundary(self, loc: Loc, card: Card, name: str) -> GpuRef:
        gpu = self.resolver.gpu(loc, name, on=card)
        members = [m for link in self.links for m in (*link.from_, *link.to) if m.card == card.name]
        if gpu not in members:
            candidates = listing(map(str, members)) or "none"
            problem = f"{gpu} is in no boundary link; members on card {card.name}: {candidates}"
            raise self.source.error(loc, problem)
        return gpu

    def _work(self, loc: Loc, written: model.Work) -> WorkIs:
        work = WorkIs(written.completed, written.lost, written.duplicated)
        if work == WorkIs(None, None, None):
            raise self.source.error(loc, f"nothing to check; allowed: {listing(model.RESULTS)}")
        units = 0 if self.workload is None else self.workload.units
        for key, found in (("completed", work.completed), ("lost", work.lost)):
            if units is not None and found is not None and found > units:
                has = "there is no workload" if self.workload is None else f"the workload has {units} units"
                raise self.source.error((*loc, key), f"found {found}; {has}")
        return work
