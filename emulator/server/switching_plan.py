"""The tasks of a scenario that follow one another, in the units of the hardware."""

from ringhil.emulator.host.switching.plan import PlannedTask, Subtask, SwitchPlan, WantedTask
from ringhil.emulator.scenario import Scenario, TaskSwitching
from ringhil.emulator.scenario.file.switching import MIB, NetworkTask
from ringhil.emulator.scenario.networks.division import most_at_once
from ringhil.emulator.server.wiring import Wiring


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
