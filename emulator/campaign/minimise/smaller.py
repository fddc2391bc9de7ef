"""A smaller server: fewer cards, fewer links between them and to the CPU, fewer GPUs on a ring."""

from collections.abc import Sequence
from dataclasses import replace

from ringhil.emulator.campaign.minimise.renumber import renumbered
from ringhil.emulator.campaign.minimise.search import Search
from ringhil.emulator.scenario import Application, BoundaryLink, Card, CrossRef, GpuRef, Scenario, Server, TimelineEvent
from ringhil.emulator.scenario.expect import ApplicationIs


def smaller_server(search: Search) -> None:
    """All of it, the large parts first."""
    search.thin(lambda scenario: [card.name for card in scenario.server.cards], without_cards)
    search.thin(lambda scenario: scenario.server.boundary_links, _without_links)
    search.thin(lambda scenario: scenario.sharing.applications if scenario.sharing else (), without_applications)
    search.thin(
        lambda scenario: range(len(scenario.switching.requests)) if scenario.switching else (), without_requests
    )
    search.thin(_removable, without_gpus)
    search.thin(_outer_pairs, _without_pairs)
    search.thin(_outer_host_links, _without_host_links)


def without_applications(scenario: Scenario, gone: Sequence[Application]) -> Scenario:
    """The scenario without these applications, and what is expected of them."""
    if scenario.sharing is None:
        return scenario
    left = tuple(each for each in scenario.sharing.applications if each not in gone)
    names = {each.name for each in gone}
    expect = []
    for expectation in scenario.expect:
        checks = tuple(c for c in expectation.checks if not (isinstance(c, ApplicationIs) and c.name in names))
        if checks:
            expect.append(replace(expectation, checks=checks))
    return replace(
        scenario, sharing=replace(scenario.sharing, applications=left) if left else None, expect=tuple(expect)
    )


def _requests(scenario: Scenario) -> Sequence[int]:
    return range(len(scenario.switching.requests)) if scenario.switching else ()


def without_requests(scenario: Scenario, gone: Sequence[int]) -> Scenario:
    """The scenario without requests of these numbers, and the tasks that nobody wants any more."""
    if scenario.switching is None:
        return scenario
    left = tuple(request for number, request in enumerate(scenario.switching.requests) if number not in gone)
    wanted = {request.task for request in left}
    tasks = tuple(task for task in scenario.switching.tasks if task.name in wanted)
    return replace(scenario, switching=replace(scenario.switching, requests=left, tasks=tasks) if left else None)


def without_cards(scenario: Scenario, names: Sequence[str]) -> Scenario:
    """The scenario without these cards, their links, their applications, and what happens to them or is expected of
    them."""
    if scenario.sharing is not None:
        scenario = without_applications(scenario, [a for a in scenario.sharing.applications if a.gpu.card in names])
    if scenario.switching is not None:
        gpus = tuple(gpu for gpu in scenario.switching.gpus if gpu.card not in names)
        scenario = replace(scenario, switching=replace(scenario.switching, gpus=gpus) if gpus else None)
    server = scenario.server
    links = tuple(link for link in server.boundary_links if not _cards_of(link) & set(names))
    expect = []
    for expectation in scenario.expect:
        checks = tuple(c for c in expectation.checks if c.about not in names)
        if checks:
            expect.append(replace(expectation, checks=checks))
    return _with_server(
        replace(
            scenario,
            timeline=tuple(event for event in scenario.timeline if not _hits(event) & set(names)),
            expect=tuple(expect),
        ),
        replace(server, cards=tuple(card for card in server.cards if card.name not in names), boundary_links=links),
    )


def without_gpus(scenario: Scenario, gpus: Sequence[GpuRef]) -> Scenario:
    """The rings closed over these GPUs, and all that comes after them numbered again."""
    left: dict[str, tuple[int, ...]] = {}
    for card in scenario.server.cards:
        gone = {gpu.index for gpu in gpus if gpu.card == card.name}
        left[card.name] = tuple(index for index in range(card.gpus) if index not in gone)
    return renumbered(scenario, left)


def _removable(scenario: Scenario) -> list[GpuRef]:
    """GPUs that no fault strikes, the last ones first; entry GPUs at power-up stay."""
    kept = {event.target for event in scenario.timeline if isinstance(event.target, GpuRef)}
    for event in scenario.timeline:
        if isinstance(event.target, CrossRef):
            kept |= {event.target.from_, event.target.to}
    kept |= {application.gpu for application in scenario.sharing.applications} if scenario.sharing else set()
    kept |= set(scenario.switching.gpus) if scenario.switching else set()
    kept |= {card.entry_at_power_up for card in scenario.server.cards}
    everybody = [GpuRef(card.name, i) for card in scenario.server.cards for i in reversed(range(card.gpus))]
    return [gpu for gpu in everybody if gpu not in kept]


def _without_links(scenario: Scenario, gone: Sequence[BoundaryLink]) -> Scenario:
    server = scenario.server
    links = tuple(link for link in server.boundary_links if link not in gone)
    refs = {ref for link in gone for ref in link.refs}
    timeline = tuple(event for event in scenario.timeline if event.target not in refs)
    return _with_server(replace(scenario, timeline=timeline), replace(server, boundary_links=links))


def _outer_pairs(scenario: Scenario) -> list[CrossRef]:
    """Only what stands at an end of a logical link can go: the others stay neighbours."""
    return [ref for link in scenario.server.boundary_links for ref in (link.refs[0], link.refs[-1])]


def _without_pairs(scenario: Scenario, gone: Sequence[CrossRef]) -> Scenario:
    links = []
    for link in scenario.server.boundary_links:
        left = [ref for ref in link.refs if ref not in gone]
        if left:
            links.append(BoundaryLink(tuple(ref.from_ for ref in left), tuple(ref.to for ref in left)))
    return _with_server(scenario, replace(scenario.server, boundary_links=tuple(links)))


def _outer_host_links(scenario: Scenario) -> list[GpuRef]:
    """The last one of each card; the first one is its entry GPU at power-up."""
    return [GpuRef(card.name, card.host_links[-1]) for card in scenario.server.cards if len(card.host_links) > 1]


def _without_host_links(scenario: Scenario, gone: Sequence[GpuRef]) -> Scenario:
    def less(card: Card) -> Card:
        left = tuple(index for index in card.host_links if GpuRef(card.name, index) not in gone)
        return replace(card, host_links=left)

    return _with_server(scenario, replace(scenario.server, cards=tuple(map(less, scenario.server.cards))))


def _with_server(scenario: Scenario, server: Server) -> Scenario:
    """Work can't cross links between cards where there are no such links."""
    work = scenario.workload
    if work is not None and not server.boundary_links:
        work = replace(work, across=0)
    return replace(scenario, server=server, workload=work)


def _cards_of(link: BoundaryLink) -> set[str]:
    return {link.from_[0].card, link.to[0].card}


def _hits(event: TimelineEvent) -> set[str]:
    """The cards that an event happens to."""
    if isinstance(event.target, CrossRef):
        return {event.target.from_.card, event.target.to.card}
    return {event.target.card}
