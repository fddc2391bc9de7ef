"""Runs inside the simulator: makes the stimulus of each broken rule small, and writes down, in lines of JSON, what
came of it.

| line | says |
|---|---|
| `{"begin": rule}` | its stimulus is being made small; if no result follows, the simulation ended meanwhile |
| `{"rule": ..., "breach": [...], "stimulus": ...}` | the result |
"""

import json
import os
from pathlib import Path
from typing import Any

import cocotb

from ringhil.emulator.conformance.minimise import Budget, Minimiser
from ringhil.emulator.conformance.referee import SOCKET, Cases, Referee
from ringhil.emulator.conformance.suite import CaseJudge, setting
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.node import NodeBench
from ringhil.emulator.testbench.player import StimulusPlayer
from ringhil.emulator.testbench.stimulus import Stimulus

CYCLES = 1000  # of simulation a play, on the average
LEAST = 50  # plays that a long stimulus may cost at least, as long as it is


@cocotb.test()
async def shrinking(dut: Any) -> None:
    """Every breach in $RINGHIL_CHECK_BREACHES, in order."""
    wanted = json.loads(Path(setting("BREACHES")).read_text(encoding="utf-8"))
    cases = Cases(int(setting("SEED")), int(setting("EFFORT")))
    judge = CaseJudge(StimulusPlayer(NodeBench(dut)))
    asked = Referee(int(os.environ[SOCKET])) if SOCKET in os.environ else None
    with Path(setting("OUT")).open("a", encoding="utf-8") as lines:

        def write(entry: dict[str, Any]) -> None:
            lines.write(json.dumps(entry) + "\n")
            lines.flush()

        for entry in wanted:
            write({"begin": entry["breach"][0]})
            rule, number = entry["played"], entry["number"]
            case = cases(rule, number)

            async def play(stimulus: Stimulus, case: Any = case) -> list[Breach]:
                return await judge(case, stimulus)

            def passes(stimulus: Stimulus, rule: str = rule, number: int = number) -> bool:
                assert asked is not None
                return asked.passes(rule, number, stimulus)

            plays = int(setting("PLAYS"))
            budget = Budget(plays, max(plays * CYCLES, LEAST * case.stimulus.cycles))
            small = Minimiser(
                case.stimulus, Breach(*entry["breach"]), play, budget, passes if asked is not None else None
            )
            await small.run()
            breach = [small.breach.rule, small.breach.cycle, small.breach.what]
            write({"rule": small.breach.rule, "breach": breach, "stimulus": small.best.to_json()})
