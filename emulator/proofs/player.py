"""Runs inside the simulator: drives the harness of a proof with the inputs of a counterexample, cycle by cycle.

Inputs change half a cycle before the edge that takes them in, so that what an assertion says then is said of them.
"""

import json
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer

from ringhil.emulator.proofs.counterexample import SHOWN
from ringhil.emulator.testbench.monitor import PERIOD


@cocotb.test()
async def replay(dut: Any) -> None:
    """All cycles; what was seen in each is written down."""
    cycles = json.loads(Path(os.environ["RINGHIL_PROOF_INPUTS"]).read_text())
    dut.clk_i.value = 0
    with Path(os.environ["RINGHIL_PROOF_SEEN"]).open("w", encoding="utf-8") as seen:
        for inputs in cycles:
            for name, value in inputs.items():
                getattr(dut, name).value = value
            await Timer(PERIOD // 2, "step")
            seen.write(json.dumps({name: int(str(getattr(dut, name).value), 2) for name in SHOWN}) + "\n")
            dut.clk_i.value = 1
            await Timer(PERIOD // 4, "step")
            dut.clk_i.value = 0
            await Timer(PERIOD // 4, "step")
