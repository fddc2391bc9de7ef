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
from ringhil.emulator.judge.outcome import Outcome, VerdictWord
from ringhil.emulator.judge.run import Run
from ringhil.emulator.pages.tables import print_table, table
from ringhil.emulator.scenario import Scenario, ScenarioError, load

_GIB = 1 << 30


@click.command("share")
@click.argument("file", type=click.Path(path_type=Path), metavar="SCENARIO.yaml")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Use another seed than the file's.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of a table.")
def command(file: Path, seed: int | None, as_json: bool) -> int:
    """Let the applications of a file share GPUs; 0, also when some fail; 1: an expectation or invariant failed."""
    with explained():
        scenario = _scenario(file, seed)
        with terminal.building() as progress:
            library = cells_library(progress=progress)
        with terminal.counting("steps") as on_progress:
            run = Run(scenario, library)
            run.server.applications.on_progress = on_progress
            outcome = run.run()
    if as_json:
        click.echo(json.dumps(_document(outcome)))
    else:
        show(outcome, terminal.output())
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


def show(outcome: Outcome, console: Console) -> None:
    """A line for each application, and the verdict."""
    console.print(f"[bold]{escape(outcome.name)}[/bold]  seed {outcome.seed}, {outcome.cycles:,} cycles")
    columns = ("application", "GPU", "told of", "held", "slice", "a step", "all steps", "on the GPU", "switches")
    shown = table(*columns, left=columns[:2])
    for name, each in outcome.applications.items():
        shown.add_row(
            escape(name),
            each.gpu,
            f"{each.told / _GIB:.2f} GiB",
            f"{each.memory / _GIB:.2f} GiB",
            f"{each.slice_ms:g} ms",
            "-" if each.step_ms is None else f"{each.step_ms:.1f} ms",
            "-" if each.total_s is None else f"{each.total_s:.1f} s",
            f"{each.gpu_s:.1f} s",
            f"{each.switches:,}",
        )
    print_table(console, shown)
    for name, each in outcome.applications.items():
        if each.failed:
            console.print(f"[red]{escape(name)} failed:[/red] {escape(str(each.why))}", soft_wrap=True)
    for failure in outcome.failures:
        console.print(f"[red]failed:[/red] {escape(failure)}", soft_wrap=True)
    colour = "green" if outcome.verdict is VerdictWord.PASS else "red"
    console.print(f"verdict: [bold {colour}]{outcome.verdict}[/bold {colour}]")
