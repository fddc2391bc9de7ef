"""Rings closed over GPUs that are left out: everything that names a GPU or a link then names it by its new number."""

from collections.abc import Mapping
from dataclasses import replace

from ringhil.emulator.scenario import (
    BoundaryLink,
    Card,
    CrossRef,
    GpuRef,
    LinkRef,
    Scenario,
    Sharing,
    TaskSwitching,
    TimelineEvent,
)

Rings = Mapping[str, tuple[int, ...]]  # by card: the GPUs that are left, ascending


def renumbered(scenario: Scenario, left: Rings) -> Scenario:
    """A count that is expected becomes less by what was left out; a check of one that was left out goes.

    The result need not be valid: an event may name a GPU that isn't there any more.
    """
    server = scenario.server
    names = _Names(left, {card.name: card.gpus for card in server.cards})
    cards = tuple(names.of_card(card) for card in server.cards)
    links = [link for link in map(names.boundary_link, server.boundary_links) if link.from_]
    expect = []
    for expectation in scenario.expect:
        checks = tuple(c for check in expectation.checks if (c := check.renumbered(names)) is not None)
        if checks:
            expect.append(replace(expectation, checks=checks))
    work = scenario.workload
    if work is not None and not links:
        work = replace(work, across=0)
    return replace(
        scenario,
        server=replace(server, cards=cards, boundary_links=tuple(links)),
        workload=work,
        timeline=tuple(map(names.event, scenario.timeline)),
        expect=tuple(expect),
        sharing=names.sharing(scenario.sharing),
        switching=names.switching(scenario.switching),
    )


class _Names:
    """Old names to new ones."""

    def __init__(self, left: Rings, sizes: Mapping[str, int]) -> None:
        self._left, self._sizes = left, sizes

    def gpu(self, gpu: GpuRef) -> GpuRef | None:
        """None: it is left out."""
        left = self._left[gpu.card]
        return GpuRef(gpu.card, left.index(gpu.index)) if gpu.index in left else None

    def sharing(self, sharing: Sharing | None) -> Sharing | None:
        if sharing is None:
            return None
        applications = (replace(a, gpu=self.gpu(a.gpu) or a.gpu) for a in sharing.applications)
        return replace(sharing, applications=tuple(applications))

    def switching(self, switching: TaskSwitching | None) -> TaskSwitching | None:
        if switching is None:
            return None
        return replace(switching, gpus=tuple(self.gpu(gpu) or gpu for gpu in switching.gpus))

    def link(self, link: LinkRef) -> LinkRef:
        """Links on both sides of a GPU that is left out become one."""
        left = self._left[link.card]
        before = sum(index <= link.index for index in left) - 1
        return LinkRef(link.card, before % len(left), len(left)) if left else link

    def event(self, event: TimelineEvent) -> TimelineEvent:
        match event.target:
            case GpuRef():
                return replace(event, target=self.gpu(event.target) or event.target)
            case LinkRef():
                return replace(event, target=self.link(event.target))
            case CrossRef(from_=from_, to=to):
                return replace(event, target=CrossRef(self.gpu(from_) or from_, self.gpu(to) or to))

    def of_card(self, card: Card) -> Card:
        left = self._left[card.name]
        return Card(
            card.name,
            len(left),
            self.indices(card.name, card.host_links),
            tuple(card.types[index] for index in left),
            tuple(card.weights[index] for index in left),
        )

    def boundary_link(self, link: BoundaryLink) -> BoundaryLink:
        pairs = [(self.gpu(from_), self.gpu(to)) for from_, to in link.pairs]
        there = [(from_, to) for from_, to in pairs if from_ is not None and to is not None]
        return BoundaryLink(tuple(from_ for from_, _ in there), tuple(to for _, to in there))

    def indices(self, card: str, indices: tuple[int, ...]) -> tuple[int, ...]:
        new = (self.gpu(GpuRef(card, index)) for index in indices)
        return tuple(gpu.index for gpu in new if gpu is not None)

    def gone(self, card: str) -> int:
        """How many GPUs of a card are left out."""
        return self._sizes[card] - len(self._left[card])
