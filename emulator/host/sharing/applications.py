"""The applications of a server: each gets a context of its GPU, and runs as a process on the CPU."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.sharing.driver import ContextRef, Driver
from ringhil.emulator.host.sharing.process import Process
from ringhil.emulator.host.sharing.training import Surroundings, TaskReport, TrainingTask, training


@dataclass(frozen=True)
class Placed:
    """A task on a GPU: `card` by its number; it begins `start` cycles after the others may."""

    card: int
    gpu: int
    start: int
    task: TrainingTask


class Applications:
    """Named tasks. A GPU has 15 contexts for them; their keys are their numbers."""

    def __init__(self, port: CardPort, driver: Driver, tasks: Mapping[str, Placed]) -> None:
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
            self._processes[name] = Process(port, driver, place, program)

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
