"""Plays a counterexample to the node in the simulator: what the solver has found is seen again, or it isn't trusted."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.proofs.counterexample import Trace, trace_of
from ringhil.emulator.testbench.build import build_bench
from ringhil.emulator.testbench.monitor import PERIOD
from ringhil.emulator.testbench.runner import run_bench

PLAYER = "ringhil.emulator.proofs.player"
_ASSERTION = re.compile(r"(\w+): assert \((.*)\);")
_ASSUMPTION = re.compile(r"assume \(.*?\);", re.DOTALL)
_TOLD = re.compile(r"^claim broken: (\w+) at (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class PlayedTrace:
    """`trace`: what was seen; `broken`: the assertions that failed in the last cycle; `waves`: a VCD file of it all."""

    trace: Trace
    broken: tuple[str, ...]
    waves: Path | None


def telling(text: str) -> str:
    """A part of the harness whose assertions tell that they fail, and when, instead of ending the simulation.

    Assumptions go: between an edge and the next inputs they needn't hold."""
    told = r'\1: assert (\2) else $display("claim broken: \1 at %0d", $rtoi($realtime * 1000.0));'
    return _ASSUMPTION.sub("begin end", _ASSERTION.sub(told, text))


def replay(
    top: str, files: Sequence[Path], defines: Sequence[str], inputs: Sequence[dict[str, int]], reset: int, folder: Path
) -> PlayedTrace:
    """Play `inputs`, cycle by cycle, to the harness `top` of `files` in Verilator. Raises BuildError."""
    given = dict(define.partition("=")[::2] for define in defines)
    values = {name: value or "1" for name, value in given.items()}
    bench = build_bench("verilator", top, files, defines=values, waves=True)
    folder.mkdir(parents=True, exist_ok=True)
    trace, seen = folder / "inputs.json", folder / "seen.jsonl"
    trace.write_text(json.dumps(list(inputs)))
    settings = {"RINGHIL_PROOF_INPUTS": str(trace), "RINGHIL_PROOF_SEEN": str(seen)}
    run = run_bench(bench, [PLAYER], folder, settings=settings, waves=True)
    if run.failed:
        raise BuildError(f"the counterexample can't be played: {run.failed[0].failure}", run.log.read_text())
    cycles = [json.loads(line) for line in seen.read_text().splitlines()]
    last = (len(cycles) - 1) * PERIOD
    told = _TOLD.findall(run.log.read_text(errors="replace"))
    broken = dict.fromkeys(name for name, at in told if int(at) == last)
    return PlayedTrace(trace_of(cycles, reset), tuple(broken), run.waves)
