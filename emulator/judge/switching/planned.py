"""Whether tasks that follow one another are planned as their file says (docs/howto/switching.md, W1, W6).

Sizes in pages and in bytes on the link, times in cycles: all from the numbers of the file, by the judge's own
arithmetic.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

from ringhil.emulator.host.switching.plan import PlannedTask, Subtask, SwitchPlan
from ringhil.emulator.judge.findings import Value, say
from ringhil.emulator.scenario import TaskSwitching
from ringhil.emulator.scenario.file.switching import NetworkTask

_MIB, _KIB = 1 << 20, 1 << 10
_US, _S = 1000, 10**9  # nanoseconds
_LINK_BYTES = 8  # that the emulated link carries in a cycle, and bits of a byte


class _Units:
    """Those of a file."""

    def __init__(self, file: TaskSwitching) -> None:
        self._file = file

    def pages(self, size: int) -> int:
        return ceil(Fraction(size, self._file.page * _KIB))

    def cycles(self, microseconds: int) -> int:
        return ceil(Fraction(microseconds * _US, self._file.cycle))

    def on_link(self, size: int) -> int:
        """The link is as fast as `link` MB/s, whatever it carries in a cycle."""
        in_a_cycle = Fraction(self._file.link * 10**6 * self._file.cycle, _S)
        return ceil(size * _LINK_BYTES / in_a_cycle)

    def worked(self, operations: int) -> int:
        return floor(Fraction(operations, self._file.rate * self._file.cycle) + Fraction(1, 2))


def misplanned(file: TaskSwitching, memory: int, plan: SwitchPlan) -> Iterator[str]:
    """What is not as the file says. `memory`: pages of a GPU."""
    units = _Units(file)
    tasks = {task.name: task for task in file.tasks}
    first = memory if file.first_preset is None else units.pages(file.first_preset * _MIB)
    wanted = [(number, each.task, units.cycles(each.after)) for number, each in enumerate(file.requests)]
    compared: tuple[tuple[str, object, object], ...] = (
        ("policy", str(plan.policy), str(file.policy)),
        ("GPUs", [gpu for _, gpu in plan.gpus], [gpu.index for gpu in file.gpus]),
        ("requests", [(each.number, each.task.name, each.at) for each in plan.requests], wanted),
        ("piece", plan.piece, units.on_link(file.piece * _KIB)),
        ("first preset value", plan.first, first),
        ("second preset value", plan.second, units.pages(file.second_preset * _MIB)),
        ("left", plan.left, file.left),
        ("workers", plan.workers, file.workers),
        ("recycle", plan.recycle, units.cycles(file.recycle)),
        ("interrupt", plan.interrupt, file.interrupt),
    )
    for what, planned, right in compared:
        if planned != right:
            yield say("{}: {found} is planned; the file says {expected}", what, found=planned, expected=right)
    for name, task in {each.task.name: each.task for each in plan.requests}.items():
        for what, planned, right in _of_task(units, tasks[name], task):
            if planned != right:
                yield say(
                    "task {}: {} {found} is planned; the file says {expected}",
                    Value(name),
                    what,
                    found=planned,
                    expected=right,
                )


def _of_task(units: _Units, file: NetworkTask, task: PlannedTask) -> Iterator[tuple[str, object, object]]:
    yield "start", task.start, units.cycles(file.start)
    yield "clean", task.clean, units.cycles(file.clean)
    yield "environment", task.environment, units.pages(file.environment * _MIB)
    yield "training", task.training, file.training
    yield "steps", task.steps, file.steps
    yield "whole", task.whole, _part(units, file, 0, len(file.layers))
    single = [(layer, layer + 1) for layer in range(len(file.layers))]
    for what, found, parts in (("subtask", task.subtasks, file.parts), ("layer", task.layers, single)):
        yield say("number of {}s", what), len(found), len(parts)
        for number, (part, planned) in enumerate(zip(parts, found, strict=False)):
            yield say("{} {}", what, number), planned, _part(units, file, *part)
    pages = [part.pages for part in task.subtasks]
    both = pages if len(pages) == 1 else [one + next_ for one, next_ in pairwise(pages)]
    yield "most memory", task.most, task.environment + (max(both) if file.steps == 1 else sum(pages))


def _part(units: _Units, file: NetworkTask, first: int, end: int) -> Subtask:
    """These layers: weights, and what layers read and write; training takes gradients and all outputs besides, and
    works backwards, which is twice the way forwards."""
    layers = file.layers[first:end]
    weights, outputs = sum(each.weights for each in layers), [each.outputs * file.batch for each in layers]
    size = 2 * weights + sum(outputs) if file.training else weights + 2 * max(outputs)

    def by(layer: int) -> int:
        """When the layers before this one are computed."""
        forwards = file.batch * sum(each.operations for each in file.layers[:layer])
        return units.worked(3 * forwards if file.training else forwards)

    return Subtask(units.pages(size), units.on_link(weights), by(end) - by(first))
