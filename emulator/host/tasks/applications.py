"""The applications of a server: each gets a context of its GPU, and runs as a process on the CPU."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.contexts.command import ContextRef
from ringhil.emulator.host.groups.tree import GroupTree
from ringhil.emulator.host.tasks.process import Process
from ringhil.emulator.host.tasks.training import Surroundings, TaskReport, TrainingTask, training


@dataclass(frozen=True)
class Placed:
    """A task on a GPU: `card` by its number; it begins `start` cycles after the others may. `group`: the path of the
    group in which its own is."""

    card: int
    gpu: int
    start: int
    task: TrainingTask
    group: str = ""


class Applications:
    """Named tasks, each in a group of its own name. A GPU has 15 contexts for them; their keys are their numbers."""

    def __init__(self, port: CardPort, tree: GroupTree, tasks: Mapping[str, Placed]) -> None:
        self._port, self._tasks = port, tasks
        self.reports = {name: TaskReport() for name in tasks}
        self.on_progress: Callable[[int, int], None] = lambda done, total: None  # steps
        self._processes = dict[str, Process]()
        self._places = dict[str, ContextRef]()
        around = Surroundings(lambda: port.now, self._training, self._stepped)
        used: Counter[tuple[int, int]] = Counter()
        for key, (name, placed) in enumerate(tasks.items(), 1):
            used[placed.card, placed.gpu] += 1
            place = ContextRef(placed.card, placed.gpu, used[placed.card, placed.gpu])
            self._places[name] = place
            program = training(placed.task, key, self.reports[name], around)
            member = tree.join(name, _own_group(tree, name, placed))
            ask, ended = partial(tree.ask, member, place), partial(tree.leave, member)
            self._processes[name] = Process(port, ask, program, ended)

    def begin(self) -> None:
        """Start each at its time, counted from now."""
        for name, process in self._processes.items():
            self._port.after(self._tasks[name].start, process.start)

    def by_context(self) -> dict[str, tuple[ContextRef, TaskReport]]:
        """By name: the context that it uses, and how it fares."""
        return {name: (place, self.reports[name]) for name, place in self._places.items()}

    def _training(self) -> bool:
        """Whether one of them has steps to do."""
        return any(report.trained is None and report.failed is None for report in self.reports.values())

    def _stepped(self) -> None:
        done = sum(min(report.steps, self._tasks[name].task.steps) for name, report in self.reports.items())
        self.on_progress(done, sum(placed.task.steps for placed in self._tasks.values()))

    @property
    def finished(self) -> bool:
        """None of them is running, or will be."""
        return all(process.ended for process in self._processes.values())


def _own_group(tree: GroupTree, name: str, placed: Placed) -> str:
    """Made for it, with what it may have."""
    path, task = f"{placed.group}/{name}", placed.task
    group = tree.mkdir(path)
    group.memory, group.slice, group.priority = task.memory, task.slice or None, task.priority or None
    return path
