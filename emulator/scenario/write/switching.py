"""The part `switching` of a scenario as text."""

from dataclasses import asdict

from ringhil.emulator.scenario.file.switching import NetworkTask, TaskSwitching
from ringhil.emulator.scenario.write.flow import flow

_PLAIN = ("cycle", "page", "link", "piece", "rate", "policy", "first_preset", "second_preset", "left", "workers")


def switching_lines(switching: TaskSwitching) -> list[str]:
    """Layers are written out, unless they are those of a published network: the text needs no other file."""
    whole = {name: getattr(switching, name) for name in (*_PLAIN, "recycle", "interrupt")}
    lines = ["switching:", f"  gpu: {flow(switching.gpus)}"]
    lines += [f"  {name}: {flow(value)}" for name, value in whole.items() if value is not None]
    lines += ["  tasks:", *(line for task in switching.tasks for line in _task(task)), "  requests:"]
    return lines + [f"    - {flow(asdict(request))}" for request in switching.requests]


def _task(task: NetworkTask) -> list[str]:
    written = {
        "kind": "training" if task.training else "inference",
        "batch": task.batch,
        "steps": task.steps,
        "division": [end - first for first, end in task.parts],
        "start": task.start,
        "clean": task.clean,
        "environment": task.environment,
    }
    lines = [f"    {task.name}:", *(f"      {name}: {flow(value)}" for name, value in written.items())]
    if task.model is not None:
        return [*lines, f"      model: {flow(task.model)}"]
    return [*lines, "      layers:", *(f"        - {flow(asdict(layer))}" for layer in task.layers)]
