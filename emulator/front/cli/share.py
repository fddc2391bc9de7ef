"""`ringhil share`: applications that share GPUs, and how each fares (S4)."""

from contextlib import ExitStack
from dataclasses import replace
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
from ringhil.emulator.front.cli.report import findings, show_power, show_verdict
from ringhil.emulator.front.cli.share_page import SharedGpu, page
from ringhil.emulator.front.cli.task_tables import application_rows, applications_failed, show_applications
from ringhil.emulator.front.cli.written import check_apart, report_must_be_possible, write_page
from ringhil.emulator.judge.contexts.turn_log import MemoryWatch, TurnLog
from ringhil.emulator.judge.outcome import Outcome, VerdictWord
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario, ScenarioError, load
from ringhil.emulator.server.hashes import hashes

if TYPE_CHECKING:
    from ringhil.emulator.view.linking import LinkedPage

_KIB = 1 << 10
_SECOND = 10**9  # nanoseconds
_AROUND = 5  # moments of the turns in detail, which the page of a long run has


@click.command("share")
@click.argument("file", type=FILE, metavar="SCENARIO.yaml")
@seed_option
@json_option
@click.option("--html", type=FILE, metavar="FILE", help="Write a page with charts of each GPU's turns and memory.")
@click.option(
    "--record",
    type=FILE,
    metavar="FILE",
    help="Record the run in this file, for `ringhil step` and `view`; with --html, leave a page beside it as well.",
)
def command(file: Path, seed: int | None, as_json: bool, html: Path | None, record: Path | None) -> int:
    """Run the applications of a file, which share GPUs.

    Exit code 0: as expected, also where an application fails; 1: an expectation or an invariant failed.
    """
    console = terminal.beside(as_json, html=html)
    report_must_be_possible(html)
    if record is not None:
        check_apart([file, record.with_name(f"{record.name}.html")], html=html, record=record)
    with explained():
        scenario = _scenario(file, seed)
        with terminal.building() as progress:
            library = cells_library(progress=progress)
        with terminal.counting("steps") as on_progress:
            run = Run(scenario, library)
            run.server.applications.on_progress = on_progress
            seen = _Seen(run) if html is not None else None
            outcome = _run(run, record)
        if html is not None and seen is not None:
            write_page(html, seen.page(outcome, html, record, library))
    if as_json:
        terminal.print_json("share", _document(outcome) | {"hashes": hashes(scenario, library.rtl)})
    else:
        show(outcome, console)
    return 0 if outcome.verdict is VerdictWord.PASS else 1


def _scenario(file: Path, seed: int | None) -> Scenario:
    scenario = load(file)
    if scenario.sharing is None:
        raise ScenarioError(str(file), None, None, "there is no 'sharing'; needed are applications that share GPUs")
    return scenario if seed is None else replace(scenario, seed=seed)


def _run(run: Run, record: Path | None) -> Outcome:
    with ExitStack() as files:
        recorder = None if record is None else files.enter_context(RunRecorder(record, run))
        outcome = run.run()
        if recorder is not None:
            recorder.end(outcome)
    return outcome


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

    def page(self, outcome: Outcome, html: Path, record: Path | None, library: Library) -> str:
        """When the run is over. `html`: where it will be; with `record` it leads into the page of that. Raises
        RinghilError."""
        shown = list(map(self._gpu, range(len(self._gpus))))
        what = f"Seed {outcome.seed}, {outcome.cycles:,} cycles."
        said = [*applications_failed(outcome.applications), *findings(outcome.failures, outcome.not_judged)]
        given = (outcome.name, outcome.verdict, what, application_rows(outcome.applications), said, shown)
        if record is None:
            return page(*given)
        left = _leave(record, library, shown)
        return page(*given, left.linked(html), left.whole(html))

    def _gpu(self, number: int) -> SharedGpu:
        scenario, wiring, gpu = self._run.scenario, self._run.server.wiring, self._gpus[number]
        assert scenario.sharing is not None
        here = wiring.place(wiring.cell_of(gpu))
        return SharedGpu(
            str(gpu),
            {
                place.context: name
                for name, (place, _) in self._run.server.applications.by_context().items()
                if (place.card, place.gpu) == here
            },
            self._turns.turns[number],
            self._memory.changes[number],
            scenario.server.settings.device_memory,
            scenario.sharing.cycle / _SECOND,
            scenario.sharing.page * _KIB,
        )


def _leave(record: Path, library: Library, gpus: list[SharedGpu]) -> "LinkedPage":
    """The page of a recording, with moments of the turns that are shown in detail."""
    # Imported here: without a recording nobody needs it.
    from ringhil.emulator.view.linking import leave_linked

    turns = [turn for gpu in gpus for turn in gpu.close[1]]
    every = max(1, len(turns) // _AROUND)
    cycles = sorted({cycle for turn in turns for cycle in (turn.began, turn.works)})
    with terminal.working("page of the recording"):
        return leave_linked(record, library, cycles, [turn.began for turn in turns[every // 2 :: every]][:_AROUND])


def show(outcome: Outcome, console: Console) -> None:
    """A line for each application, and the verdict."""
    console.print(f"[bold]{escape(outcome.name)}[/bold]  seed {outcome.seed}, {outcome.cycles:,} cycles")
    show_applications(outcome.applications, console)
    show_power(outcome, console)
    show_verdict(outcome.verdict, outcome.failures, outcome.not_judged, console)
