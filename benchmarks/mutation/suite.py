"""Runs inside the simulator: shows every mutant to the conformance suite until a rule is broken.

| line written | says |
|---|---|
| `{"begin": number, "rule": ..., "case": ...}` | the suite begins with a mutant, or gets to a case |
| `{"mutant": number, "cases": ..., "rule": ..., "case": ..., "cycle": ..., "found": ...}` | killed, by this rule |
| `{"mutant": number, "cases": ...}` | all rules are kept |

Mutant 0 is the node as it is. Of cases, those come first that have killed most mutants of the same module; before
that, the first case of every rule, short ones first. So most mutants need a few cases only, and the same list of
mutants meets the same cases in the same order.
"""

import faulthandler
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import cocotb

from ringhil.emulator.conformance.rule import RuleCase, all_rules, cases_of
from ringhil.emulator.conformance.suite import CaseJudge
from ringhil.emulator.testbench.node import NodeBench
from ringhil.emulator.testbench.player import StimulusPlayer

PREFIX = "RINGHIL_MUTATION_"


def _setting(name: str) -> str:
    return os.environ[PREFIX + name]


def all_cases(rules: list[str], seed: int, effort: int) -> list[tuple[str, RuleCase]]:
    """Of these rules (all, if empty): the first ones of every rule, then the second ones, ..."""
    known = all_rules()
    found = [
        (index, case.stimulus.cycles, name, case)
        for name in rules or known
        for index, case in enumerate(cases_of(known[name], seed, effort))
    ]
    return [(name, case) for _, _, name, case in sorted(found, key=lambda f: (f[:3], f[3].name))]


@cocotb.test()
async def mutants(dut: Any) -> None:
    """All those still to do."""
    out, patience = Path(_setting("OUT")), float(_setting("PATIENCE"))
    modules: dict[str, str] = json.loads(Path(_setting("MUTANTS")).read_text())  # number of a mutant to its module
    cases = all_cases([r for r in _setting("RULES").split(",") if r], int(_setting("SEED")), int(_setting("EFFORT")))
    kills: dict[str, Counter[tuple[str, str]]] = {}
    for line in out.read_text().splitlines():
        earlier = json.loads(line)
        if "mutant" in earlier:
            _learn(kills, modules.pop(str(earlier["mutant"]), ""), earlier)
    bench = NodeBench(dut)
    judge = CaseJudge(StimulusPlayer(bench))
    with out.open("a", encoding="utf-8") as lines:

        def write(entry: dict[str, Any]) -> None:
            lines.write(json.dumps(entry) + "\n")
            lines.flush()

        for number, module in modules.items():
            # What the last mutant has left behind is reset by the node as it is.
            dut.mutant_i.value = 0
            await bench.start()
            dut.mutant_i.value = int(number)
            best = kills.setdefault(module, Counter())
            entry: dict[str, Any] = {"mutant": int(number), "cases": len(cases)}
            for index, (rule, case) in enumerate(sorted(cases, key=lambda c: -best[c[0], c[1].name])):
                write({"begin": int(number), "rule": rule, "case": case.name})
                faulthandler.dump_traceback_later(patience, exit=True)  # of a simulation that stands still
                breaches = await judge(case, case.stimulus)
                faulthandler.cancel_dump_traceback_later()
                if breaches:
                    entry |= {"cases": index + 1, "rule": breaches[0].rule, "case": f"{rule}, {case.name}"}
                    entry |= {"cycle": breaches[0].cycle, "found": breaches[0].what, "by": [rule, case.name]}
                    break
            write(entry)
            _learn(kills, module, entry)
            if number == "0" and "rule" in entry:
                return


def _learn(kills: dict[str, Counter[tuple[str, str]]], module: str, entry: dict[str, Any]) -> None:
    if "by" in entry:
        rule, case = entry["by"]
        kills.setdefault(module, Counter())[rule, case] += 1
