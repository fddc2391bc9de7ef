"""The files that show a broken rule, in a folder of its own."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.conformance.report import CheckReport, RuleVerdict
from ringhil.emulator.conformance.shown import shown
from ringhil.emulator.testbench.build import Simulator
from ringhil.emulator.testbench.waves import record_waves
from ringhil.emulator.trace.waves import viewers

STIMULUS, WAVES = "stimulus.json", "waves.fst"
VIEW = "waves"  # name of the files for viewers, without suffix


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
    recorded = [v for v in report.broken if waves and v.found is not None and v.found.ends]
    if recorded:
        progress("waves")
    simulator: Simulator = "icarus" if report.simulator == "icarus" else "verilator"
    for verdict in recorded:
        _show(verdict, out / verdict.rule, simulator, sources, defines, progress)


def _clear(folder: Path) -> None:
    """Waves of an earlier check must not stand beside the stimulus of this one."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (WAVES, f"{VIEW}.gtkw", f"{VIEW}.sucl"):
        (folder / name).unlink(missing_ok=True)


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
    assert verdict.found is not None
    try:
        viewers.write(folder, shown(verdict.found), VIEW)
    except viewers.WaveError as error:
        raise BuildError(str(error)) from None
    verdict.files |= {"gtkwave": folder / f"{VIEW}.gtkw", "surfer": folder / f"{VIEW}.sucl"}
