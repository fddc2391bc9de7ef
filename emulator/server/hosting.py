"""What the CPU is given: a view of each card, the work, the tasks, and how long it waits for things."""

from collections.abc import Callable
from dataclasses import fields

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.emulator.host.groups.amounts import Units
from ringhil.emulator.host.groups.tree import GroupTree
from ringhil.emulator.host.switching.plan import PlannedTask, Subtask, SwitchPlan, WantedTask
from ringhil.emulator.host.tasks.applications import Placed
from ringhil.emulator.host.tasks.training import TrainingTask
from ringhil.emulator.host.work.handing_out import CpuConfig
from ringhil.emulator.host.work.workload import Files, Generated, WorkUnits
from ringhil.emulator.scenario import GpuRef, Scenario, TaskSwitching
from ringhil.emulator.scenario.file.switching import MIB, NetworkTask
from ringhil.emulator.scenario.networks.layers import most_at_once
from ringhil.emulator.server.times import ATTEMPTS, Times
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.grantor import Grantor
from ringhil.protocol.wire import CONTEXTS, Role


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


_SLOW = 4  # times as long on a slow GPU
_SHORTEST = 16  # cycles of a slice


def longest_launch(scenario: Scenario) -> Callable[[int], int]:
    """Cycles, of one that asks for so many, when nobody works but the tasks: in each round every other one has its
    slice, after a switch."""
    settings, sharing = scenario.server.settings, scenario.sharing
    tasks = sharing.applications if sharing else ()
    slices = [each.slice for each in tasks if each.slice]
    slices += [each.slice for each in (sharing.groups if sharing else ()) if each.slice]
    shortest = max(_SHORTEST, min([*slices, settings.default_slice]))
    switch = settings.context_switch + max((task.state for task in tasks), default=0)
    others = (len(tasks) or CONTEXTS) * (max([*slices, settings.default_slice]) + switch)
    awake = scenario.server.longest_wake

    def cycles(asked: int) -> int:
        rounds = _SLOW * asked // shortest + 1
        return _SLOW * asked + rounds * others + awake

    return cycles


def switching_plan(scenario: Scenario, wiring: Wiring) -> SwitchPlan | None:
    """None: there are none."""
    switching = scenario.switching
    if switching is None:
        return None
    tasks = {task.name: planned_task(switching, task) for task in switching.tasks}
    memory = scenario.server.settings.device_memory
    return SwitchPlan(
        policy=switching.policy,
        gpus=tuple((wiring.number(gpu.card), gpu.index) for gpu in switching.gpus),
        requests=[
            WantedTask(number, tasks[request.task], switching.cycles(request.after))
            for number, request in enumerate(switching.requests)
        ],
        piece=switching.piece_on_wire,
        first=memory if switching.first_preset is None else switching.pages(switching.first_preset * MIB),
        second=switching.pages(switching.second_preset * MIB),
        left=switching.left,
        workers=switching.workers,
        recycle=switching.cycles(switching.recycle),
        interrupt=switching.interrupt,
    )


def planned_task(switching: TaskSwitching, task: NetworkTask) -> PlannedTask:
    """One task. Parts of it take together what it takes as a whole: of times the ends are rounded."""

    def subtask(first: int, end: int) -> Subtask:
        begins, ends = (switching.worked(task.operations(layer)) for layer in (first, end))
        size = sum(layer.weights for layer in task.layers[first:end])
        return Subtask(switching.pages(task.memory(first, end)), switching.on_wire(size), ends - begins)

    subtasks = tuple(subtask(*part) for part in task.parts)
    environment = switching.pages(task.environment * MIB)
    return PlannedTask(
        name=task.name,
        start=switching.cycles(task.start),
        clean=switching.cycles(task.clean),
        environment=environment,
        training=task.training,
        steps=task.steps,
        most=environment + most_at_once([each.pages for each in subtasks], task.steps),
        subtasks=subtasks,
        whole=subtask(0, len(task.layers)),
        layers=tuple(subtask(layer, layer + 1) for layer in range(len(task.layers))),
    )
