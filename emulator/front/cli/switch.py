"""`ringhil switch`: tasks that follow one another on a GPU, by each policy (W7)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import json_option, seed_option
from ringhil.emulator.front.cli.report import findings, show_verdict
from ringhil.emulator.front.cli.switch_page import page
from ringhil.emulator.front.cli.task_tables import requests_failed, show_policies, show_switches
from ringhil.emulator.front.cli.written import must_be_writable, write_page
from ringhil.emulator.judge.expectations import EXPECT
from ringhil.emulator.judge.outcome import Outcome, VerdictWord
from ringhil.emulator.judge.run import Run
from ringhil.emulator.judge.switching.outcome import SwitchingOutcome
from ringhil.emulator.scenario import Scenario, ScenarioError, SwitchPolicyName, load
from ringhil.emulator.scenario.networks.from_onnx import onnx_layers
from ringhil.emulator.scenario.networks.table import table_text
from ringhil.emulator.server.hashes import hashes

_MIB = 1 << 20
_LARGEST = 1 << 31  # of a dimension
_FILE = click.Path(path_type=Path)


@click.command("switch")
@click.argument("file", type=_FILE, metavar="SCENARIO.yaml", required=False)
@click.option(
    "--policy",
    "policies",
    type=click.Choice([str(name) for name in SwitchPolicyName]),
    multiple=True,
    help="Use only this policy; may be repeated.  [default: all]",
)
@seed_option
@json_option
@click.option("--html", type=_FILE, metavar="FILE", help="Write a page with charts of each policy's steps and memory.")
@click.option("--from-onnx", type=_FILE, metavar="FILE.onnx", help="Print the layers of this neural network, and end.")
@click.option("--size", "sizes", multiple=True, metavar="NAME=N", help="With --from-onnx: size of a named dimension.")
def command(
    file: Path | None,
    policies: tuple[str, ...],
    seed: int | None,
    as_json: bool,
    html: Path | None,
    from_onnx: Path | None,
    sizes: tuple[str, ...],
) -> int:
    """Run the tasks of a file one after another on a GPU, once by each policy, and compare these.

    Exit code 0: as expected, also where a task fails; 1: an expectation or an invariant failed.
    """
    if (file is None) == (from_onnx is None):
        raise click.UsageError("needed is either a scenario or --from-onnx FILE.onnx")
    if from_onnx is not None:
        return _convert(from_onnx, sizes)
    assert file is not None
    if sizes:
        raise click.UsageError("--size is for --from-onnx")
    console = terminal.beside(as_json, html=html)
    must_be_writable(html)
    with explained():
        scenario = _scenario(file, seed)
        with terminal.building() as progress:
            library = cells_library(progress=progress)
        chosen = [SwitchPolicyName(name) for name in dict.fromkeys(policies)] or [*SwitchPolicyName]
        played = _play(scenario, library, chosen)
    if html is not None:
        _write(html, scenario, played)
    if as_json:
        click.echo(json.dumps(_document(scenario, played) | {"hashes": hashes(scenario, library.rtl)}))
    else:
        show(scenario, played, console)
    return 0 if played.verdict is VerdictWord.PASS else 1


def _convert(path: Path, sizes: tuple[str, ...]) -> int:
    """A file of layers to standard output."""
    named = {}
    for size in sizes:
        name, _, number = size.partition("=")
        if not number.isdecimal() or not 0 < int(number) < _LARGEST:
            raise click.UsageError(f"--size: found {size!r}; allowed is NAME=N, N from 1 to {_LARGEST - 1}")
        named[name] = int(number)
    with explained():
        layers = onnx_layers(path, named)
    click.echo(table_text(f"ONNX file {path.name}", layers), nl=False)
    return 0


def _scenario(file: Path, seed: int | None) -> Scenario:
    scenario = load(file)
    if scenario.switching is None:
        raise ScenarioError(str(file), None, None, "there is no 'switching'; needed are tasks that follow one another")
    return scenario if seed is None else replace(scenario, seed=seed)


@dataclass(frozen=True)
class PlayedPolicies:
    """By all policies that were chosen: `failures`, and what can't be told, each with its policy."""

    outcomes: dict[str, SwitchingOutcome]
    failures: list[str]
    not_judged: list[str]

    @property
    def verdict(self) -> VerdictWord:
        """Of all of them."""
        return VerdictWord.FAIL if self.failures else VerdictWord.PASS


def _play(scenario: Scenario, library: Library, policies: Sequence[SwitchPolicyName]) -> PlayedPolicies:
    """A run for each."""
    assert scenario.switching is not None
    outcomes = dict[str, Outcome]()
    for policy in policies:
        with terminal.counting(f"{policy}: requests") as on_progress:
            run = Run(replace(scenario, switching=replace(scenario.switching, policy=policy)), library)
            run.server.switching.on_progress = on_progress
            outcomes[str(policy)] = run.run()
            run.close()
    return PlayedPolicies(
        {policy: outcome.switching for policy, outcome in outcomes.items() if outcome.switching is not None},
        [f"{policy}: {failure}" for policy, outcome in outcomes.items() for failure in outcome.failures],
        _not_judged(outcomes),
    )


def _not_judged(outcomes: dict[str, Outcome]) -> list[str]:
    """What is expected of one policy the others can't tell: that is said where none could."""
    found = {policy: outcome.unjudged for policy, outcome in outcomes.items()}
    by_policy = [f"{policy}: {each}" for policy, told in found.items() for each in told if each.promise != EXPECT]
    first = next(iter(found.values()))
    by_none = [each for each in first if each.promise == EXPECT and all(each in told for told in found.values())]
    return [*by_policy, *map(str, by_none)]


def _document(scenario: Scenario, played: PlayedPolicies) -> dict[str, Any]:
    return {
        "name": scenario.name,
        "seed": scenario.seed,
        "verdict": played.verdict,
        "failures": played.failures,
        "not_judged": played.not_judged,
        "policies": {policy: outcome.to_json() for policy, outcome in played.outcomes.items()},
    }


def show(scenario: Scenario, played: PlayedPolicies, console: Console) -> None:
    """A line for each policy, what failed, each switch, figures of all of them, and the verdict."""
    console.print(f"[bold]{escape(scenario.name)}[/bold]  seed {scenario.seed}")
    show_policies(played.outcomes, console)
    show_switches(played.outcomes, console)
    show_verdict(played.verdict, played.failures, played.not_judged, console)


def _write(path: Path, scenario: Scenario, played: PlayedPolicies) -> None:
    switching = scenario.switching
    assert switching is not None
    names = ", ".join(request.task for request in switching.requests[:20])
    what = f"One after the other on {switching.gpus[0]}: {names}. Link: {switching.link / 1000:g} GB/s."
    what = f"{what} Seed {scenario.seed}. Verdict: {played.verdict}."
    said = [*requests_failed(played.outcomes), *findings(played.failures, played.not_judged)]
    preset = None if switching.first_preset is None else switching.first_preset * _MIB
    write_page(path, page(scenario.name, what, said, played.outcomes, preset))
