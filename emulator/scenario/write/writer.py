"""A scenario to the text of a file that loads to it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from ringhil.emulator.scenario.expect.expectation import Expectation, When
from ringhil.emulator.scenario.file.faults import FAULTS, PARAMETERS
from ringhil.emulator.scenario.file.invariants import INVARIANTS
from ringhil.emulator.scenario.file.line_faults import LineEvent
from ringhil.emulator.scenario.file.power import GpuPower
from ringhil.emulator.scenario.file.scenario import Scenario, TimelineEvent
from ringhil.emulator.scenario.file.settings import Settings
from ringhil.emulator.scenario.file.sharing import Sharing
from ringhil.emulator.scenario.file.topology import Card, Server
from ringhil.emulator.scenario.file.workload import Workload
from ringhil.emulator.scenario.write.flow import flow as _flow
from ringhil.emulator.scenario.write.switching import switching_lines


def dumps(scenario: Scenario) -> str:
    """A plain YAML file; `loads` makes the same scenario of it. What has its default value is left out.

    Raises ValueError when no file can say it: two checks of one kind about one card in one expectation.
    """
    lines = [f"name: {_flow(scenario.name)}"] if scenario.name else []
    lines += [f"seed: {scenario.seed}", *_server(scenario.server)]
    if scenario.workload is not None:
        lines.append(f"workload: {_flow(_workload(scenario.workload))}")
    if scenario.sharing is not None:
        lines += _sharing(scenario.sharing)
    if scenario.switching is not None:
        lines += switching_lines(scenario.switching)
    events = [*map(event_entry, scenario.timeline), *map(_line_entry, scenario.lines)]
    lines += _block("timeline", events)
    if scenario.until is not None:
        lines.append(f"until: {scenario.until}")
    off = {name: False for name in INVARIANTS if name not in scenario.invariants}
    if off:
        lines.append(f"invariants: {_flow(off)}")
    lines += _block("expect", [_expectation(expectation) for expectation in scenario.expect])
    return "\n".join(lines) + "\n"


def _block(key: str, entries: Iterable[object]) -> list[str]:
    lines = [f"  - {_flow(entry)}" for entry in entries]
    return [f"{key}:", *lines] if lines else []


def _server(server: Server) -> list[str]:
    lines = ["server:", "  cards:"]
    lines += [f"    {card.name}: {_flow(_card(card))}" for card in server.cards]
    if server.boundary_links:
        lines.append("  boundary_links:")
        lines += [f"    - {_flow({'from': link.from_, 'to': link.to})}" for link in server.boundary_links]
    defaults = asdict(Settings())
    settings = {name: value for name, value in asdict(server.settings).items() if value != defaults[name]}
    if settings:
        lines.append(f"  settings: {_flow(settings)}")
    power = {kind: _given(each) for kind, each in server.power}
    return [*lines, f"  power: {_flow(power)}"] if power else lines


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
    lines = ["sharing:", f"  cycle: {_flow(sharing.cycle)}", f"  page: {_flow(sharing.page)}"]
    groups: dict[str, dict[str, Any]] = {"": {}}
    for group in sharing.groups:
        around, _, name = group.path.rpartition("/")
        given = {"memory": group.memory, "slice": group.slice or None, "priority": group.priority}
        groups[group.path] = {key: value for key, value in given.items() if value is not None}
        groups[around].setdefault("groups", {})[name] = groups[group.path]
    lines += [f"  groups: {_flow(inside)}" for inside in groups[""].values()]
    lines.append("  applications:")
    for application in sharing.applications:
        written = {name: value for name, value in asdict(application).items() if name != "name" and value is not None}
        if not application.group:
            del written["group"]
        lines.append(f"    {application.name}: {_flow(written | {'gpu': application.gpu})}")
    return lines


def event_entry(event: TimelineEvent) -> dict[str, object]:
    """An event as the file's `timeline` has it."""
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
