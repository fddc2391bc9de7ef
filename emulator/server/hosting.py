"""What the CPU is given: a view of each card, the work, and how long it waits for things."""

from dataclasses import fields

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.config import CpuConfig
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.emulator.host.groups.amounts import Units
from ringhil.emulator.host.groups.tree import GroupTree
from ringhil.emulator.host.tasks.applications import Placed
from ringhil.emulator.host.tasks.training import TrainingTask
from ringhil.emulator.host.work.workload import Files, Generated, WorkUnits
from ringhil.emulator.scenario import GpuRef, Scenario
from ringhil.emulator.server.times import ATTEMPTS, Times
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.grantor import Grantor
from ringhil.protocol.wire import Role


def views(wiring: Wiring, times: list[Times]) -> list[CardView]:
    """The CPU's view of every card: nothing is known of it yet."""
    found = []
    for number, card in enumerate(wiring.cards):
        cells = tuple(wiring.cell(number, gpu) for gpu in card.host_links)
        grantor = Grantor(Role.ENTRY, times[number].election.lease, times[number].election.guard)
        found.append(CardView(card.name, number, card.gpus, card.host_links, cells, grantor))
    return found


def workload(scenario: Scenario) -> WorkUnits | None:
    """The work of a scenario, opened. Raises DataError."""
    work = scenario.workload
    if work is None:
        return None
    if work.data is not None:
        return Files(work.data, work.size)
    return Generated(work.units or 0, work.size, scenario.seed)


def process_groups(scenario: Scenario, wiring: Wiring, port: CardPort, driver: Driver) -> GroupTree:
    """The groups of a scenario's applications, who are not in them yet."""
    sharing = scenario.sharing

    def name(card: int, gpu: int) -> str:
        return str(GpuRef(wiring.cards[card].name, gpu))

    tree = GroupTree(port, driver, Units(sharing.cycle, sharing.page) if sharing else Units(), name)
    for given in sharing.groups if sharing else ():
        group = tree.mkdir(given.path)
        group.memory, group.slice, group.priority = given.memory, given.slice or None, given.priority
    return tree


def tasks(scenario: Scenario, wiring: Wiring) -> dict[str, Placed]:
    """The applications of a scenario, by name."""
    found = {}
    for a in scenario.sharing.applications if scenario.sharing else ():
        given = {field.name: getattr(a, field.name) for field in fields(TrainingTask)}
        task = TrainingTask(**given)
        found[a.name] = Placed(wiring.number(a.gpu.card), a.gpu.index, a.start, task, a.group)
    return found


def cpu_config(scenario: Scenario, wiring: Wiring, times: list[Times]) -> CpuConfig:
    """Its times and windows."""
    s = scenario.server.settings
    slowest = max(t.timeout + t.ring_time for t in times)
    period = max(s.census_period, slowest)
    patience = 4 * slowest + 2 * s.host_latency + s.allowance_period
    silence = 3 * period + ATTEMPTS * slowest
    across = scenario.workload.across if scenario.workload else 0
    ways = _ways(wiring) if across else {}
    setup = s.compute_setup + scenario.server.longest_wake
    return CpuConfig(silence, patience, s.window, setup, s.compute_per_flit, across, ways, s.policy)


def _ways(wiring: Wiring) -> dict[tuple[int, int], frozenset[int]]:
    """The GPUs of a card whose links lead to another one, for every pair of cards."""
    ways = {}
    for card in range(len(wiring.cards)):
        for target in range(len(wiring.cards)):
            hop = wiring.next_hop(card, target)
            ends = (wiring.crossings[cell] for cell in wiring.crossings if wiring.place(cell)[0] == card)
            members = next((end.members for end in ends if end.peer_card == hop), ())
            if card != target and hop is not None:
                ways[card, target] = frozenset(members)
    return ways
