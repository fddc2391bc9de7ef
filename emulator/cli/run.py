"""`ringhil run`: the main job."""

import json
from dataclasses import replace
from pathlib import Path

import click

from ringhil.emulator.cli import terminal
from ringhil.emulator.cli.errors import explained
from ringhil.emulator.cli.report import show
from ringhil.emulator.engine.library import RTL, cells_library
from ringhil.emulator.recording import Recorder
from ringhil.emulator.scenario import Scenario, Workload, load
from ringhil.emulator.server import Outcome, Server

_SIZE = 4096


@click.command("run")
@click.argument("server", type=click.Path(path_type=Path), metavar="SERVER.yaml")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Share out this file or directory instead of the workload.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Use another seed than the file's.")
@click.option("--rtl", type=click.Path(path_type=Path), help="Run the RTL of this directory instead of ours.")
@click.option("--record", type=click.Path(path_type=Path), help="Write every message to this file (JSON lines).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
def command(
    server: Path, data: Path | None, seed: int | None, rtl: Path | None, record: Path | None, as_json: bool
) -> int:
    """Power up the server of a file, count its GPUs, share out the work in proportion, play the timeline and judge."""
    with explained():
        scenario = _scenario(server, data, seed)
        with terminal.building() as progress:
            library = cells_library(rtl or RTL, progress=progress)
        with terminal.counting("work units") as on_progress:
            outcome = _run(Server(scenario, library, on_progress=on_progress), record)
    if as_json:
        click.echo(json.dumps(outcome.to_json()))
    else:
        show(outcome, terminal.output())
    return 0 if outcome.verdict == "pass" else 1


def _scenario(path: Path, data: Path | None, seed: int | None) -> Scenario:
    scenario = load(path)
    if seed is not None:
        scenario = replace(scenario, seed=seed)
    if data is not None:
        size = scenario.workload.size if scenario.workload else _SIZE
        scenario = replace(scenario, workload=Workload(None, data, size))
    return scenario


def _run(server: Server, record: Path | None) -> Outcome:
    if record is None:
        return server.run()
    scenario, rtl = server.scenario, server.engine.library.rtl
    gpus = [f"{card.name}.{gpu}" for card in scenario.server.cards for gpu in range(card.gpus)]
    with Recorder(record, name=scenario.name, seed=scenario.seed, rtl=rtl, gpus=gpus) as recorder:
        server.kernel.tap = recorder.frame
        outcome = server.run()
        recorder.commit()
    return outcome
