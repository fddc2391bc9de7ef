"""A scenario as text: a plain YAML file that makes the same scenario again."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ringhil.emulator.scenario.expect.check import Expectation, When
from ringhil.emulator.scenario.file.faults import FAULTS, PARAMETERS, LineEvent
from ringhil.emulator.scenario.file.model import INVARIANTS
from ringhil.emulator.scenario.file.scenario import Scenario, TimelineEvent
from ringhil.emulator.scenario.file.settings import GpuPower, Settings
from ringhil.emulator.scenario.file.sharing import Sharing
from ringhil.emulator.scenario.file.switching import NetworkTask, TaskSwitching
from ringhil.emulator.scenario.file.topology import Card, GpuRef, Server, Workload

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.]*(?:[ -][A-Za-z0-9_.]+)*")  # text that needs no quotes anywhere
_NOT_TEXT = re.compile(r"null|true|false", re.IGNORECASE)
_SWITCHING = ("cycle", "page", "link", "piece", "rate", "policy", "first_preset", "second_preset", "left", "workers")


def dumps(scenario: Scenario) -> str:
    """A plain YAML file; `loads` makes the same scenario of it. What has its default value is left out.

    Raises ValueError when no file can say it: two checks of one kind about one card in one expectation.
    """
    lines = [f"name: {flow(scenario.name)}"] if scenario.name else []
    lines += [f"seed: {scenario.seed}", *_server(scenario.server)]
    if scenario.workload is not None:
        lines.append(f"workload: {flow(_workload(scenario.workload))}")
    if scenario.sharing is not None:
        lines += _sharing(scenario.sharing)
    if scenario.switching is not None:
        lines += _switching(scenario.switching)
    events = [*map(event_entry, scenario.timeline), *map(_line_entry, scenario.lines)]
    lines += _block("timeline", events)
    if scenario.until is not None:
        lines.append(f"until: {scenario.until}")
    off = {name: False for name in INVARIANTS if name not in scenario.invariants}
    if off:
        lines.append(f"invariants: {flow(off)}")
    lines += _block("expect", [_expectation(expectation) for expectation in scenario.expect])
    return "\n".join(lines) + "\n"


def _block(key: str, entries: Iterable[object]) -> list[str]:
    lines = [f"  - {flow(entry)}" for entry in entries]
    return [f"{key}:", *lines] if lines else []


def _server(server: Server) -> list[str]:
    lines = ["server:", "  cards:"]
    lines += [f"    {card.name}: {flow(_card(card))}" for card in server.cards]
    if server.boundary_links:
        lines.append("  boundary_links:")
        lines += [f"    - {flow({'from': link.from_, 'to': link.to})}" for link in server.boundary_links]
    defaults = asdict(Settings())
    settings = {name: value for name, value in asdict(server.settings).items() if value != defaults[name]}
    if settings:
        lines.append(f"  settings: {flow(settings)}")
    power = {kind: _given(each) for kind, each in server.power}
    return [*lines, f"  power: {flow(power)}"] if power else lines


def _given(power: GpuPower) -> dict[str, int]:
    return {name: value for name, value in asdict(power).items() if value}


def _card(card: Card) -> dict[str, object]:
    written: dict[str, object] = {"gpus": card.gpus}
    if card.host_links != (0,):
        written["host_links"] = card.host_links
    by_index: tuple[tuple[str, Sequence[object], object], ...]
    by_index = (("types", card.types, "generic"), ("weights", card.weights, 1))
    for key, values, default in by_index:
        ((common, _),) = Counter(values).most_common(1)
        given = {} if common == default else {"default": common}
        given |= {str(i): value for i, value in enumerate(values) if value != common}
        if given:
            written[key] = given
    return written


def _workload(work: Workload) -> dict[str, object]:
    written: dict[str, object] = {"units": work.units} if work.data is None else {"data": str(work.data)}
    written["size"] = work.size
    if work.across:
        written["across"] = work.across
    return written


def _sharing(sharing: Sharing) -> list[str]:
    lines = ["sharing:", f"  cycle: {flow(sharing.cycle)}", f"  page: {flow(sharing.page)}"]
    groups: dict[str, dict[str, Any]] = {"": {}}
    for group in sharing.groups:
        around, _, name = group.path.rpartition("/")
        given = {"memory": group.memory, "slice": group.slice or None, "priority": group.priority}
        groups[group.path] = {key: value for key, value in given.items() if value is not None}
        groups[around].setdefault("groups", {})[name] = groups[group.path]
    lines += [f"  groups: {flow(inside)}" for inside in groups[""].values()]
    lines.append("  applications:")
    for application in sharing.applications:
        written = {name: value for name, value in asdict(application).items() if name != "name" and value is not None}
        if not application.group:
            del written["group"]
        lines.append(f"    {application.name}: {flow(written | {'gpu': application.gpu})}")
    return lines


def event_entry(event: TimelineEvent) -> dict[str, object]:
    """An event as the file's `timeline` has it."""
    if event.lends:
        return {"at": event.at, str(event.action): event.where}
    fault = FAULTS[event.kind]
    written: dict[str, object] = {"at": event.at, str(event.action): event.kind, str(fault.target): event.where}
    if event.count is not None:
        written["count"] = event.count
    if fault.parameter and event.value not in (None, PARAMETERS[fault.parameter].default):
        written[fault.parameter] = event.value
    return written


def _line_entry(event: LineEvent) -> dict[str, object]:
    written: dict[str, object] = {"at": event.at, str(event.action): event.kind, "card": event.card}
    if event.rate not in (None, PARAMETERS["rate"].default):
        written["rate"] = event.rate
    return written


def _expectation(expectation: Expectation) -> dict[str, Any]:
    written: dict[str, Any] = {}
    match expectation.kind:
        case When.END | When.ALWAYS:
            written[str(expectation.kind)] = True
        case _:
            written[str(expectation.kind)] = expectation.cycle
    if expectation.since:
        written["from"] = expectation.since
    if expectation.until is not None:
        written["until"] = expectation.until
    for check in expectation.checks:
        check.write(written)
    return written


def _switching(switching: TaskSwitching) -> list[str]:
    """Layers are written out, unless they are those of a published network: the text needs no other file."""
    whole = {name: getattr(switching, name) for name in (*_SWITCHING, "recycle", "interrupt")}
    lines = ["switching:", f"  gpu: {flow(switching.gpus)}"]
    lines += [f"  {name}: {flow(value)}" for name, value in whole.items() if value is not None]
    lines += ["  tasks:", *(line for task in switching.tasks for line in _switch_task(task)), "  requests:"]
    return lines + [f"    - {flow(asdict(request))}" for request in switching.requests]


def _switch_task(task: NetworkTask) -> list[str]:
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


def flow(value: object) -> str:
    """A value as YAML on one line."""
    match value:
        case str():
            if _PLAIN.fullmatch(value) and not _NOT_TEXT.fullmatch(value):
                return value
            return json.dumps(value, ensure_ascii=not value.isprintable())
        case Mapping():
            return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
        case Sequence():
            return "[" + ", ".join(map(flow, value)) + "]"
        case GpuRef():
            return str(value)
    return json.dumps(value)
