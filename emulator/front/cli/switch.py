"""`ringhil switch`: tasks that follow one another on a GPU, by each policy (W7)."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape

from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, json_option, seed_option
from ringhil.emulator.front.cli.report import findings, show_verdict
from ringhil.emulator.front.cli.switch_page import CLOSE, page
from ringhil.emulator.front.cli.task_tables import requests_failed, show_policies, show_switches
from ringhil.emulator.front.cli.written import check_apart, make_folder, report_must_be_possible, write_page
from ringhil.emulator.judge.expectations import EXPECT
from ringhil.emulator.judge.outcome import Outcome, VerdictWord
from ringhil.emulator.judge.run import Run
from ringhil.emulator.judge.switching.outcome import SwitchingOutcome
from ringhil.emulator.scenario import Scenario, ScenarioError, SwitchPolicyName, load
from ringhil.emulator.scenario.networks.from_onnx import onnx_layers
from ringhil.emulator.scenario.networks.table import table_text
from ringhil.emulator.server.hashes import hashes

if TYPE_CHECKING:
    from ringhil.emulator.view.linking import LinkedPage

_MIB = 1 << 20
_MS = 10**6  # nanoseconds
_LARGEST = 1 << 31  # of a dimension


@click.command("switch")
@click.argument("file", type=FILE, metavar="SCENARIO.yaml", required=False)
@click.option(
    "--policy",
    "policies",
    type=click.Choice([str(name) for name in SwitchPolicyName]),
    multiple=True,
    help="Use only this policy; may be repeated.  [default: all]",
)
@seed_option
@json_option
@click.option("--html", type=FILE, metavar="FILE", help="Write a page with charts of each policy's steps and memory.")
@click.option(
    "--record",
    type=FILE,
    metavar="DIR",
    help="Record each policy's run in this folder, for `ringhil step` and `view`; with --html, leave pages there, too.",
)
@click.option("--from-onnx", type=FILE, metavar="FILE.onnx", help="Print the layers of this neural network, and end.")
@click.option("--size", "sizes", multiple=True, metavar="NAME=N", help="With --from-onnx: size of a named dimension.")
def command(
    file: Path | None,
    policies: tuple[str, ...],
    seed: int | None,
    as_json: bool,
    html: Path | None,
    record: Path | None,
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
    report_must_be_possible(html)
    chosen = [SwitchPolicyName(name) for name in dict.fromkeys(policies)] or [*SwitchPolicyName]
    if record is not None:
        check_apart([file, *(record / f"{policy}.rec.html" for policy in chosen)], html=html)
    with explained():
        scenario = _scenario(file, seed)
        with terminal.building() as progress:
            library = cells_library(progress=progress)
        if record is not None:
            make_folder(record)
        played = _play(scenario, library, chosen, record)
        if html is not None:
            _write(html, scenario, played, library)
    if as_json:
        terminal.print_json("switch", _document(scenario, played) | {"hashes": hashes(scenario, library.rtl)})
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
    """By all policies that were chosen: `failures`, and what can't be told, each with its policy. `since`: the cycle
    from which times are counted; `recordings`: where they are."""

    outcomes: dict[str, SwitchingOutcome]
    failures: list[str]
    not_judged: list[str]
    since: dict[str, int]
    recordings: dict[str, Path] = field(default_factory=dict)

    @property
    def verdict(self) -> VerdictWord:
        """Of all of them."""
        return VerdictWord.FAIL if self.failures else VerdictWord.PASS


def _play(
    scenario: Scenario, library: Library, policies: Sequence[SwitchPolicyName], record: Path | None
) -> PlayedPolicies:
    """A run for each, recorded in a folder."""
    assert scenario.switching is not None
    outcomes, since, recordings = dict[str, Outcome](), dict[str, int](), dict[str, Path]()
    for policy in policies:
        with terminal.counting(f"{policy}: requests") as on_progress, ExitStack() as files:
            run = Run(replace(scenario, switching=replace(scenario.switching, policy=policy)), library)
            files.callback(run.close)
            run.server.switching.on_progress = on_progress
            recorder = None
            if record is not None:
                recordings[str(policy)] = path = record / f"{policy}.rec"
                recorder = files.enter_context(RunRecorder(path, run))
            outcomes[str(policy)] = outcome = run.run()
            since[str(policy)] = run.server.switching.since
            if recorder is not None:
                recorder.end(outcome)
    return PlayedPolicies(
        {policy: outcome.switching for policy, outcome in outcomes.items() if outcome.switching is not None},
        [f"{policy}: {failure}" for policy, outcome in outcomes.items() for failure in outcome.failures],
        _not_judged(outcomes),
        since,
        recordings,
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


def _write(path: Path, scenario: Scenario, played: PlayedPolicies, library: Library) -> None:
    switching = scenario.switching
    assert switching is not None
    names = ", ".join(request.task for request in switching.requests[:20])
    what = f"One after the other on {switching.gpus[0]}: {names}. Link: {switching.link / 1000:g} GB/s."
    said = [*requests_failed(played.outcomes), *findings(played.failures, played.not_judged)]
    preset = None if switching.first_preset is None else switching.first_preset * _MIB

    def cycle(policy: str, ms: float) -> int:
        return played.since[policy] + round(ms * _MS / switching.cycle)

    pages: dict[str, LinkedPage] = {}
    for policy, recording in played.recordings.items():
        outcome = played.outcomes[policy]
        around = [cycle(policy, each.since_ms) for each in outcome.switches[:CLOSE]]
        with terminal.working(f"page of the recording of {policy}"):
            pages[policy] = _leave(
                recording, library, [cycle(policy, each.began_ms) for each in outcome.phases], around
            )
    links = {policy: left.linked(path) for policy, left in pages.items()}
    text = page(
        scenario.name,
        played.verdict,
        f"{what} Seed {scenario.seed}.",
        said,
        played.outcomes,
        preset,
        lambda policy, ms: links[policy](cycle(policy, ms)) if policy in links else None,
        {policy: left.whole(path) for policy, left in pages.items()},
    )
    write_page(path, text)


def _leave(recording: Path, library: Library, cycles: Sequence[int], around: Sequence[int]) -> "LinkedPage":
    # Imported here: without a recording nobody needs it.
    from ringhil.emulator.view.linking import leave_linked

    return leave_linked(recording, library, cycles, around)
