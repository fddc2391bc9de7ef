"""The files that show a broken rule, in a folder of its own."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ringhil.emulator.conformance.report import CheckReport, RuleVerdict
from ringhil.emulator.testbench.build import Simulator
from ringhil.emulator.testbench.waves import record_waves

STIMULUS, WAVES = "stimulus.json", "waves.fst"


def write_evidence(
    report: CheckReport,
    sources: Sequence[Path],
    defines: Mapping[str, str],
    out: Path,
    waves: bool,
    progress: Callable[[str], None],
) -> None:
    """Stimuli, and `waves` of those with which the simulation comes to its end; their paths go into the report.
    `sources`, `defines`: of the bench. Raises BuildError."""
    for verdict in report.broken:
        if verdict.found is not None:
            _clear(out / verdict.rule)
            verdict.files["stimulus"] = out / verdict.rule / STIMULUS
            verdict.files["stimulus"].write_text(verdict.found.stimulus.to_json())
    shown = [v for v in report.broken if waves and v.found is not None and v.found.breach.cycle > 0]
    if shown:
        progress("waves")
    simulator: Simulator = "icarus" if report.simulator == "icarus" else "verilator"
    for verdict in shown:
        _show(verdict, out / verdict.rule, simulator, sources, defines, progress)


def _clear(folder: Path) -> None:
    """Waves of an earlier check must not stand beside the stimulus of this one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WAVES).unlink(missing_ok=True)


def _show(
    verdict: RuleVerdict,
    folder: Path,
    simulator: Simulator,
    sources: Sequence[Path],
    defines: Mapping[str, str],
    progress: Callable[[str], None],
) -> None:
    stimulus = verdict.files["stimulus"]
    verdict.files["waves"] = record_waves(simulator, sources, defines, stimulus, folder / WAVES, progress)
