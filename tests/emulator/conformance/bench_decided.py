"""Which rule decides what a read-only register says: each case is judged again with the register one higher, or lower.

Only values that something has brought about are changed: a rule that asks for a counter to stay 0 decides nothing about
what it counts. Settings by environment: RINGHIL_DECIDED (file to write), RINGHIL_DECIDED_RULES (names, all if empty).
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import cocotb

from ringhil.emulator.conformance.rule import all_rules, cases_of
from ringhil.emulator.testbench.node import NodeBench
from ringhil.emulator.testbench.player import Observed, StimulusPlayer
from ringhil.protocol import registers

READ = {r.name: r.reset for r in registers.REGISTERS if r.access == "ro" and r.name not in ("status", "turn")}


def altered(observed: Observed, name: str, by: int) -> Observed:
    """As if the register had said so, whenever it was read and wasn't 0."""
    peeks = [(cycle, read, value + by if read == name and value else value) for cycle, read, value in observed.peeks]
    return replace(observed, registers={**observed.registers, name: observed.registers[name] + by}, peeks=peeks)


@cocotb.test()
async def decided(dut: Any) -> None:
    player = StimulusPlayer(NodeBench(dut))
    found: dict[str, dict[str, list[str]]] = {name: {"1": [], "-1": []} for name in READ}
    rules = all_rules()
    for name in os.environ["RINGHIL_DECIDED_RULES"].split() or rules:
        for case in cases_of(rules[name], 1, 1):
            observed = await player.play(case.stimulus)
            if case.judge(case.stimulus, observed):
                continue
            for register, by in ((r, by) for r in READ for by in (1, -1) if not found[r][str(by)]):
                moved = observed.registers.get(register) or any(v for _, r, v in observed.peeks if r == register)
                if moved and case.judge(case.stimulus, altered(observed, register, by)):
                    found[register][str(by)].append(name)
    Path(os.environ["RINGHIL_DECIDED"]).write_text(json.dumps(found))
