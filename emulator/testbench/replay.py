"""Runs inside the simulator: plays one stimulus file, and prints what the node did as JSON if asked to."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cocotb

from ringhil.emulator.testbench.node import NodeBench
from ringhil.emulator.testbench.player import Observed, StimulusPlayer
from ringhil.emulator.testbench.stimulus import Stimulus


@cocotb.test()
async def replay(dut: Any) -> None:
    """$RINGHIL_STIMULUS, from reset; what was observed goes to $RINGHIL_OBSERVED, the time of cycle 0 to
    $RINGHIL_ORIGIN."""
    stimulus = Stimulus.read(Path(os.environ["RINGHIL_STIMULUS"]))
    bench = NodeBench(dut)
    observed = await StimulusPlayer(bench).play(stimulus)
    if "RINGHIL_ORIGIN" in os.environ:
        Path(os.environ["RINGHIL_ORIGIN"]).write_text(str(bench.origin))
    if "RINGHIL_OBSERVED" in os.environ:
        Path(os.environ["RINGHIL_OBSERVED"]).write_text(json.dumps(as_data(observed)))


def as_data(observed: Observed) -> dict[str, Any]:
    """Plain data; frames in hexadecimal."""

    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items()}
        if isinstance(value, set):
            return sorted(plain(v) for v in value)
        return [plain(v) for v in value] if isinstance(value, list | tuple) else value

    return {name: plain(value) for name, value in asdict(observed).items()}
