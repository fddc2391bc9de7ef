"""Runs inside the simulator: plays the cases of the chosen rules and writes down, in lines of JSON, what came of it.

| line | says |
|---|---|
| `{"begin": rule, "case": ...}` | a case begins; if no result follows, the simulation ended in it |
| `{"rule": ..., "case": ..., "cycles": ...}` | its result; with `breaches`, one of each rule, if it is broken |
| `{"done": rule}` | the rule is judged |

Settings come by environment variables, see `check.py`. Several simulations share the rules: each takes the next one
that none has `claimed`.
"""

import json
import os
from pathlib import Path
from typing import Any

import cocotb

from ringhil.emulator.conformance.coverage import collector, sample
from ringhil.emulator.conformance.general import general_breaches
from ringhil.emulator.conformance.rule import RuleCase, all_rules, cases_of
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.node import NodeBench
from ringhil.emulator.testbench.player import StimulusPlayer
from ringhil.emulator.testbench.stimulus import Stimulus


class CaseJudge:
    """Plays a case and judges it; remembers whether the node ever claimed to rest, and which parts it has."""

    def __init__(self, player: StimulusPlayer) -> None:
        self._player = player
        self.rested = False
        self.has = {"contexts": 0, "meter": 0}
        self.coverage = collector()

    async def __call__(self, case: RuleCase, stimulus: Stimulus) -> list[Breach]:
        """Play `stimulus` in place of the case's own; what is wrong, earliest first."""
        observed = await self._player.play(stimulus)
        sample(self.coverage, stimulus, observed)
        self.rested |= observed.rests
        self.has = {"contexts": observed.registers["contexts"], "meter": observed.registers["power_state"]}
        breaches = [*case.judge(stimulus, observed), *general_breaches(stimulus, observed)]
        if case.compare is not None and not breaches:
            leaping = await self._player.play(stimulus, leap=True)
            self.rested |= leaping.leaped > 0
            breaches = case.compare(observed, leaping)
        return sorted(breaches, key=lambda b: b.cycle)


PREFIX = "RINGHIL_CHECK_"


def setting(name: str, otherwise: str = "") -> str:
    """A setting from the environment."""
    return os.environ.get(PREFIX + name, otherwise)


def claimed(folder: Path, rule: str) -> bool:
    """Whether this simulation plays the rule: no other one has begun to."""
    try:
        (folder / rule).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


@cocotb.test()
async def conformance(dut: Any) -> None:
    """Every chosen rule that is left, each until its first broken case."""
    out, shared = Path(setting("OUT")), Path(setting("SHARED"))
    seed, effort = (int(setting(name, "1")) for name in ("SEED", "EFFORT"))
    rules = all_rules()
    with out.open("a", encoding="utf-8") as lines:

        def write(entry: dict[str, Any]) -> None:
            lines.write(json.dumps(entry) + "\n")
            lines.flush()

        judge = CaseJudge(StimulusPlayer(NodeBench(dut)))
        for name in setting("RULES").split(","):
            if not claimed(shared, name):
                continue
            for number, case in enumerate(cases_of(rules[name], seed, effort)):
                write({"begin": name, "case": case.name, "stimulus": case.stimulus.to_json()})
                judge.rested = False
                breaches = await judge(case, case.stimulus)
                entry: dict[str, Any] = {"rule": name, "case": case.name, "cycles": case.stimulus.cycles}
                if case.compare is not None:
                    entry["claimed"] = judge.rested
                if case.lacking and not judge.has[case.lacking]:
                    entry["lacks"] = case.lacking
                if breaches:
                    first = {b.rule: b for b in reversed(breaches)}
                    entry["breaches"] = [[b.rule, b.cycle, b.what] for b in breaches if first[b.rule] is b]
                    entry |= {"number": number, "stimulus": case.stimulus.to_json()}
                write(entry)
                if breaches:
                    break
            write({"done": name})
    if setting("COVERAGE"):
        judge.coverage.save(Path(setting("COVERAGE")))
