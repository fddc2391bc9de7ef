"""Runs inside the simulator: plays the cases of the chosen rules and writes one line of JSON for each.

Settings come by environment variables, see `check.py`. A failing case is made small before the next rule begins.
"""

import json
import os
from pathlib import Path
from typing import Any

import cocotb

from ringhil.emulator.conformance.general import general_breaches
from ringhil.emulator.conformance.minimise import minimise
from ringhil.emulator.conformance.rule import Case, all_rules, cases_of
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.node import NodeBench
from ringhil.emulator.testbench.player import Player
from ringhil.emulator.testbench.stimulus import Stimulus

PREFIX = "RINGHIL_CHECK_"


def setting(name: str, otherwise: str = "") -> str:
    """A setting from the environment."""
    return os.environ.get(PREFIX + name, otherwise)


async def judged(player: Player, case: Case, stimulus: Stimulus) -> list[Breach]:
    """Play `stimulus` in place of the case's own; what is wrong, earliest first."""
    observed = await player.play(stimulus)
    return sorted([*case.judge(stimulus, observed), *general_breaches(stimulus, observed)], key=lambda b: b.cycle)


@cocotb.test()
async def conformance(dut: Any) -> None:
    """Every chosen rule, each until its first broken case."""
    out = Path(setting("OUT"))
    seed, effort = int(setting("SEED", "1")), int(setting("EFFORT", "1"))
    chosen = [name for name in setting("RULES").split(",") if name]
    shrink = int(setting("SHRINK", "100"))
    player = Player(NodeBench(dut))
    rules = all_rules()
    with out.open("a", encoding="utf-8") as lines:
        for name in chosen or rules:
            for case in cases_of(rules[name], seed, effort):
                breaches = await judged(player, case, case.stimulus)
                entry: dict[str, Any] = {"rule": name, "case": case.name, "cycles": case.stimulus.cycles}
                if breaches:
                    small = await minimise(case, breaches[0].rule, player, judged, shrink)
                    entry |= {"breaches": [[b.rule, b.cycle, b.what] for b in breaches[:20]]}
                    entry |= {"small": small.to_json(), "stimulus": case.stimulus.to_json()}
                lines.write(json.dumps(entry) + "\n")
                lines.flush()
                if breaches:
                    break
