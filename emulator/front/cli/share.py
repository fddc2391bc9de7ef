"""`ringhil share`: applications that share GPUs, and how each fares (S4)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, json_option, seed_option
from ringhil.emulator.front.cli.report import findings, show_power, show_verdict
from ringhil.emulator.front.cli.share_page import SharedGpu, page
from ringhil.emulator.front.cli.task_tables import application_rows, applications_failed, show_applications
from ringhil.emulator.front.cli.written import must_be_writable, write_page
from ringhil.emulator.judge.contexts.turn_log import MemoryWatch, TurnLog
from ringhil.emulator.judge.outcome import Outcome, VerdictWord
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario, ScenarioError, load
from ringhil.emulator.server.hashes import hashes

_KIB = 1 << 10
_MS = 10**6  # nanoseconds


@click.command("share")
@click.argument("file", type=FILE, metavar="SCENARIO.yaml")
@seed_option
@json_option
@click.option("--html", type=FILE, metavar="FILE", help="Write a page with charts of each GPU's turns and memory.")
def command(file: Path, seed: int | None, as_json: bool, html: Path | None) -> int:
    """Run the applications of a file, which share GPUs.

    Exit code 0: as expected, also where an application fails; 1: an expectation or an invariant failed.
    """
    console = terminal.beside(as_json, html=html)
    must_be_writable(html)
    with explained():
        scenario = _scenario(file, seed)
        with terminal.building() as progress:
            library = cells_library(progress=progress)
        with terminal.counting("steps") as on_progress:
            run = Run(scenario, library)
            run.server.applications.on_progress = on_progress
            seen = _Seen(run) if html is not None else None
            outcome = run.run()
    if html is not None and seen is not None:
        write_page(html, seen.page(outcome))
    if as_json:
        click.echo(json.dumps(_document(outcome) | {"hashes": hashes(scenario, library.rtl)}))
    else:
        show(outcome, console)
    return 0 if outcome.verdict is VerdictWord.PASS else 1


def _scenario(file: Path, seed: int | None) -> Scenario:
    scenario = load(file)
    if scenario.sharing is None:
        raise ScenarioError(str(file), None, None, "there is no 'sharing'; needed are applications that share GPUs")
    return scenario if seed is None else replace(scenario, seed=seed)


def _document(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "seed": outcome.seed,
        "cycles": outcome.cycles,
        "verdict": outcome.verdict,
        "failures": list(outcome.failures),
        "not_judged": list(outcome.not_judged),
        "applications": outcome.applications_json(),
    } | ({"power": outcome.power_json()} if outcome.power else {})


class _Seen:
    """What a page shows of the GPUs that are shared. Make it before the run is started."""

    def __init__(self, run: Run) -> None:
        self._run, self._gpus = run, run.scenario.gpus_with_contexts
        self._turns, self._memory = TurnLog(run.server, self._gpus), MemoryWatch(run.server, self._gpus)

    def page(self, outcome: Outcome) -> str:
        """When the run is over."""
        scenario, wiring = self._run.scenario, self._run.server.wiring
        assert scenario.sharing is not None
        names: dict[tuple[int, int], dict[int, str]] = {}
        for name, (place, _) in self._run.server.applications.by_context().items():
            names.setdefault((place.card, place.gpu), {})[place.context] = name
        shown = [
            SharedGpu(
                str(gpu),
                names.get(wiring.place(wiring.cell_of(gpu)), {}),
                self._turns.turns[number],
                self._memory.changes[number],
                scenario.server.settings.device_memory,
                scenario.sharing.cycle / _MS,
                scenario.sharing.page * _KIB,
            )
            for number, gpu in enumerate(self._gpus)
        ]
        what = f"Seed {outcome.seed}, {outcome.cycles:,} cycles. Verdict: {outcome.verdict}."
        said = [*applications_failed(outcome.applications), *findings(outcome.failures, outcome.not_judged)]
        return page(outcome.name, what, application_rows(outcome.applications), said, shown)


def show(outcome: Outcome, console: Console) -> None:
    """A line for each application, and the verdict."""
    console.print(f"[bold]{escape(outcome.name)}[/bold]  seed {outcome.seed}, {outcome.cycles:,} cycles")
    show_applications(outcome.applications, console)
    show_power(outcome, console)
    show_verdict(outcome.verdict, outcome.failures, outcome.not_judged, console)
