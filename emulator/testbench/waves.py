"""Waves of one stimulus: it is played again on a bench that can record."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.children import temporary_folder
from ringhil.emulator.testbench.build import HDL, Simulator, build_bench
from ringhil.emulator.testbench.runner import run_bench
from ringhil.emulator.trace.waves.vcd import convert
from ringhil.emulator.trace.waves.viewers import value_names

_REPLAY = "ringhil.emulator.testbench.replay"


def record_waves(
    simulator: Simulator,
    files: Sequence[Path],
    defines: Mapping[str, str],
    stimulus: Path,
    target: Path,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Play the stimulus in file `stimulus` to the bench of `files` and write all its signals to `target` (FST), from
    the end of reset on: cycle n begins at n nanoseconds."""
    views = HDL / "ring_view.sv"
    bench = build_bench(
        simulator,
        "node_bench",
        [*files, views],
        defines={**defines, "RINGHIL_VIEWS": "1"},
        waves=True,
        progress=progress,
    )
    with temporary_folder("ringhil-waves-") as scratch:
        origin = scratch / "origin"
        settings = {"RINGHIL_STIMULUS": str(stimulus.absolute()), "RINGHIL_ORIGIN": str(origin)}
        run = run_bench(bench, [_REPLAY], scratch, settings=settings, waves=True)
        if run.failed or run.waves is None:
            raise BuildError(f"{stimulus}: no waves: {run.failed[0].failure if run.failed else 'none were written'}")
        convert(run.waves, target, start=int(origin.read_text()), rebase=True, names=value_names())
    return target
