"""The expectations of a file: about cards that exist, and such that they can come true."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from ringhil.emulator.scenario import model
from ringhil.emulator.scenario.choice import exactly_one
from ringhil.emulator.scenario.errors import quoted
from ringhil.emulator.scenario.expectation import (
    BoundaryIs,
    BreakIs,
    Check,
    CountIs,
    EntryIs,
    EpochIs,
    Expectation,
    IsolatedAre,
    MembersAre,
    ReachableIs,
    StrandedAre,
    TruthIs,
    WorkIs,
)
from ringhil.emulator.scenario.marks import Loc, Source
from ringhil.emulator.scenario.references import Resolver
from ringhil.emulator.scenario.scenario import Workload
from ringhil.emulator.scenario.suggest import listing
from ringhil.emulator.scenario.topology import Card, GpuRef

T = TypeVar("T")


class ExpectChecker:
    """Checks the entries of `expect` against the rest of the file; every method raises ScenarioError."""

    def __init__(self, source: Source, resolver: Resolver, workload: Workload | None) -> None:
        self.source = source
        self.resolver = resolver
        self.workload = workload

    def all(self, written: Sequence[model.Expectation]) -> tuple[Expectation, ...]:
        return tuple(self._one(("expect", n), entry) for n, entry in enumerate(written))

    def _one(self, loc: Loc, written: model.Expectation) -> Expectation:
        kind, cycle = self._when(loc, written)
        checks = tuple(self._checks(loc, written))
        if not checks:
            raise self.source.error(loc, f"nothing to check; allowed: {listing(model.CHECKS)}")
        line = self.source.mark(loc).line
        return Expectation(kind, cycle, checks, line, written.from_ or 0, written.until)

    def _when(self, loc: Loc, written: model.Expectation) -> tuple[Literal["at", "by", "end", "always"], int | None]:
        kind = exactly_one(self.source, loc, model.TIMES)
        for key in ("from", "until"):
            if kind != "always" and (*loc, key) in self.source.keys:
                problem = f"key {quoted(key)} beside {quoted(kind)}; it goes with 'always'"
                raise self.source.error((*loc, key), problem, key=True)
        if written.from_ is not None and written.until is not None and written.until < written.from_:
            problem = f"found {written.until}; allowed is {written.from_} ('from') or later"
            raise self.source.error((*loc, "until"), problem)
        return kind, getattr(written, kind) if kind in ("at", "by") else None

    def _checks(self, loc: Loc, written: model.Expectation) -> Iterator[Check]:
        for place, card, count in self._by_card(loc, "count", written.count):
            yield CountIs(card.name, self._count(place, card, count))
        for place, card, members in self._by_card(loc, "members", written.members):
            yield MembersAre(card.name, self._indices(place, card, members))
        for place, card, name in self._by_card(loc, "entry", written.entry):
            yield EntryIs(card.name, None if name is None else self._entry(place, card, name))
        for place, card, names in self._by_card(loc, "boundary", written.boundary):
            for gpu in (None,) if names is None else self._boundary(place, card, names):
                yield BoundaryIs(card.name, gpu)
        for _, card, epoch in self._by_card(loc, "epoch", written.epoch):
            yield EpochIs(card.name, epoch)
        for place, card, link in self._by_card(loc, "break", written.break_):
            yield BreakIs(card.name, None if link is None else self.resolver.ring_link(place, link, on=card))
        for place, card, gpus in self._by_card(loc, "stranded", written.stranded):
            yield StrandedAre(card.name, self._indices(place, card, gpus))
        for place, card, gpus in self._by_card(loc, "isolated", written.isolated):
            yield IsolatedAre(card.name, self._indices(place, card, gpus))
        if written.work is not None:
            yield self._work((*loc, "work"), written.work)
        for _, card, reachable in self._by_card(loc, "reachable", written.reachable):
            yield ReachableIs(card.name, reachable)
        for i, name in enumerate(written.truth or ()):
            place = (*loc, "truth", i)
            card = self.resolver.named_card(place, name)
            if name in (written.truth or ())[:i]:
                raise self.source.error(place, f"card {name} stands here twice; each may once")
            yield TruthIs(card.name)

    def _by_card(self, loc: Loc, key: str, by_card: Mapping[str, T] | None) -> Iterator[tuple[Loc, Card, T]]:
        for name, value in (by_card or {}).items():
            place = (*loc, key, name)
            yield place, self.resolver.card(place), value

    def _count(self, loc: Loc, card: Card, count: int) -> int:
        if count > card.gpus:
            raise self.source.error(loc, f"found {count}; card {card.name} has {card.gpus} GPUs")
        return count

    def _indices(self, loc: Loc, card: Card, indices: Sequence[int]) -> tuple[int, ...]:
        for i, index in enumerate(indices):
            self.resolver.index((*loc, i), card, index)
        seen = set[int]()
        for i, index in enumerate(indices):
            if index in seen:
                raise self.source.error((*loc, i), f"GPU {index} stands here twice; each may once")
            seen.add(index)
        return tuple(sorted(seen))

    def _entry(self, loc: Loc, card: Card, name: str) -> GpuRef:
        return self.resolver.host_linked(loc, self.resolver.gpu(loc, name, on=card))

    def _boundary(self, loc: Loc, card: Card, names: Sequence[str]) -> Iterator[GpuRef]:
        """One GPU of a link at most: its members elect one."""
        links = self.resolver.boundary_links
        chosen: dict[int, GpuRef] = {}
        for i, name in enumerate(names):
            place = (*loc, i)
            gpu = self.resolver.gpu(place, name, on=card)
            link = next((n for n, link in enumerate(links) if gpu in (*link.from_, *link.to)), None)
            if link is None:
                candidates = listing(map(str, self.resolver.boundary_members(card))) or "none"
                problem = f"{gpu} is in no boundary link; members on card {card.name}: {candidates}"
                raise self.source.error(place, problem)
            if gpu == chosen.get(link):
                raise self.source.error(place, f"{gpu} stands here twice; each may once")
            if link in chosen:
                problem = f"{gpu} is in boundary_links[{link}] as {chosen[link]} is; one GPU speaks for a link"
                raise self.source.error(place, problem)
            chosen[link] = gpu
            yield gpu

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
