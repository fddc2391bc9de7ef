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
from ringhil.emulator.front.cli.html_file import must_be_writable, write_page
from ringhil.emulator.front.cli.share_page import SharedGpu, page
from ringhil.emulator.judge.memory_watch import MemoryWatch
from ringhil.emulator.judge.outcome import Outcome, VerdictWord
from ringhil.emulator.judge.run import Run
from ringhil.emulator.judge.turn_log import TurnLog
from ringhil.emulator.judge.turn_watch import gpus_with_contexts
from ringhil.emulator.pages.tables import print_table, table
from ringhil.emulator.scenario import Scenario, ScenarioError, load

_GIB = 1 << 30
_KIB = 1 << 10
_MS = 10**6  # nanoseconds
_COLUMNS = ("application", "GPU", "told of", "held", "slice", "a step", "all steps", "on the GPU", "switches")
_FILE = click.Path(path_type=Path)


@click.command("share")
@click.argument("file", type=_FILE, metavar="SCENARIO.yaml")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Use another seed than the file's.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of a table.")
@click.option("--html", type=_FILE, metavar="FILE", help="Write charts of whose turn it was when, and of the memory.")
def command(file: Path, seed: int | None, as_json: bool, html: Path | None) -> int:
    """Let the applications of a file share GPUs; 0, also when some fail; 1: an expectation or invariant failed."""
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
        click.echo(json.dumps(_document(outcome)))
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
        "applications": outcome.applications_json(),
    }


def _rows(outcome: Outcome) -> list[list[str]]:
    return [
        [
            name,
            each.gpu,
            f"{each.told / _GIB:.2f} GiB",
            f"{each.memory / _GIB:.2f} GiB",
            f"{each.slice_ms:g} ms",
            "-" if each.step_ms is None else f"{each.step_ms:.1f} ms",
            "-" if each.total_s is None else f"{each.total_s:.1f} s",
            f"{each.gpu_s:.1f} s",
            f"{each.switches:,}",
        ]
        for name, each in outcome.applications.items()
    ]


class _Seen:
    """What a page shows of the GPUs that are shared. Make it before the run is started."""

    def __init__(self, run: Run) -> None:
        self._run, self._gpus = run, gpus_with_contexts(run.scenario)
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
        return page(outcome.name, what, _COLUMNS, _rows(outcome), shown)


def show(outcome: Outcome, console: Console) -> None:
    """A line for each application, and the verdict."""
    console.print(f"[bold]{escape(outcome.name)}[/bold]  seed {outcome.seed}, {outcome.cycles:,} cycles")
    shown = table(*_COLUMNS, left=_COLUMNS[:2])
    for name, *cells in _rows(outcome):
        shown.add_row(escape(name), *cells)
    print_table(console, shown)
    for name, each in outcome.applications.items():
        if each.failed:
            console.print(f"[red]{escape(name)} failed:[/red] {escape(str(each.why))}", soft_wrap=True)
    for failure in outcome.failures:
        console.print(f"[red]failed:[/red] {escape(failure)}", soft_wrap=True)
    colour = "green" if outcome.verdict is VerdictWord.PASS else "red"
    console.print(f"verdict: [bold {colour}]{outcome.verdict}[/bold {colour}]")
