"""Parsed file to Scenario: types and ranges by `model`, then what needs a look at other parts of the file."""

from pathlib import Path

from pydantic import ValidationError

from ringhil.emulator.scenario import model
from ringhil.emulator.scenario.check_expect import ExpectChecker
from ringhil.emulator.scenario.check_server import check_server
from ringhil.emulator.scenario.check_timeline import check_timeline
from ringhil.emulator.scenario.choice import exactly_one
from ringhil.emulator.scenario.explain import explain
from ringhil.emulator.scenario.marks import Source
from ringhil.emulator.scenario.references import Resolver
from ringhil.emulator.scenario.scenario import Scenario, Workload


def check(source: Source, *, name: str, folder: Path) -> Scenario:
    """`name` unless the file says one; relative data paths start at `folder`. Raises ScenarioError."""
    try:
        written = model.Scenario.model_validate(source.data)
    except ValidationError as error:
        raise explain(error, source) from None
    server = check_server(source, written.server)
    resolver = Resolver(source, {card.name: card for card in server.cards})
    workload = _workload(source, written.workload, folder)
    return Scenario(
        name=written.name or name,
        seed=written.seed,
        server=server,
        workload=workload,
        timeline=check_timeline(source, resolver, written.timeline),
        until=written.until,
        expect=ExpectChecker(source, resolver, server.boundary_links, workload).all(written.expect),
    )


def _workload(source: Source, written: model.Workload | None, folder: Path) -> Workload | None:
    if written is None:
        return None
    exactly_one(source, ("workload",), model.WORKLOADS)
    return Workload(written.units, None if written.data is None else folder / written.data, written.size)
