"""What a check comes to: a verdict for each rule, and what is likely behind the broken ones."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ringhil.emulator.conformance.causes import Broken, Cause, causes
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.stimulus import Stimulus

ENDS = "rtl.ends"
State = Literal["kept", "broken", "not claimed", "not checked", "not judged"]


@dataclass(frozen=True)
class RuleFinding:
    """A breach and what brings it about: `stimulus` in place of that of case `number` of the rule `played`. `ends`: the
    simulation comes to its end with it; `first`: the breach that came first in that case, of whatever rule."""

    breach: Breach
    played: str
    case: str
    number: int
    stimulus: Stimulus
    ends: bool = True
    first: Breach | None = None


@dataclass
class RuleVerdict:
    """What came of one rule. `not judged`: it is watched in every case, and not all cases were played; or the node
    lacks what it is about, or somebody has ended the simulator, as `what` says. `cycle`, `what`, `case`: the first
    breach, as it is in the files that show it."""

    rule: str
    demands: str
    requirement: str = ""
    state: State = "not checked"
    cases: int = 0
    cycles: int = 0
    case: str = ""
    cycle: int | None = None
    what: str = ""
    found: RuleFinding | None = None
    files: dict[str, Path] = field(default_factory=dict)

    def broken_by(self, found: RuleFinding) -> None:
        """The rule is broken, as `found` shows."""
        self.state, self.found = "broken", found
        self.cycle, self.what = found.breach.cycle, found.breach.what
        self.case = f"{found.played}, {found.case}"

    @property
    def stimulus(self) -> Path | None:
        """The file that can be played again."""
        return self.files.get("stimulus")

    @property
    def waves(self) -> Path | None:
        """The FST file."""
        return self.files.get("waves")


@dataclass
class CheckReport:
    """The result of a check. `ok`: a case was played, no rule is broken, and it was not interrupted. `killed`: how a
    simulator was ended from outside, "" if none was."""

    rtl: str
    top: str
    hash: str
    simulator: str
    seed: int
    effort: int
    verdicts: dict[str, RuleVerdict] = field(default_factory=dict)
    interrupted: bool = False
    killed: str = ""

    @property
    def ok(self) -> bool:
        return self.verdict == "pass"

    @property
    def verdict(self) -> Literal["pass", "fail", "not judged"]:
        """`not judged`: nothing is broken, and what could show it was not played, or not to its end."""
        if self.interrupted or self.broken:
            return "fail"
        if self.killed:
            return "not judged"
        return (
            "pass"
            if any(v.cases and v.state in ("kept", "not claimed") for v in self.verdicts.values())
            else "not judged"
        )

    @property
    def lacking(self) -> str:
        """Why nothing is said of some rules: a part that the node doesn't have, "" if it has them all."""
        return next((v.what for v in self.verdicts.values() if v.state == "not judged" and v.what), "")

    @property
    def broken(self) -> list[RuleVerdict]:
        """Verdicts of the broken rules, in the order of the rules."""
        return [v for v in self.verdicts.values() if v.state == "broken"]

    @property
    def causes(self) -> list[Cause]:
        """The broken rules by what is likely behind them, the most telling group first."""
        return causes(
            [
                Broken(v.found.breach, v.found.stimulus if v.found.ends else None, v.found.first)
                if v.found is not None
                else Broken(Breach(v.rule, 0, v.what), None)
                for v in self.broken
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """One document; paths as text, empty fields left out."""
        groups = self.causes if self.broken else []
        of_rule = {rule: number for number, cause in enumerate(groups, start=1) for rule in cause.rules}
        rules = []
        for v in self.verdicts.values():
            entry: dict[str, Any] = {"rule": v.rule, "state": v.state, "demands": v.demands}
            entry |= {"requirement": v.requirement, "cases": v.cases, "cycles": v.cycles}
            if v.state == "broken":
                entry |= {"case": v.case, "cycle": v.cycle, "found": v.what, "cause": of_rule[v.rule]}
                entry |= {name: str(path) for name, path in v.files.items()}
            elif v.state == "not judged" and v.what:
                entry["why"] = v.what
            rules.append(entry)
        head = {name: getattr(self, name) for name in ("rtl", "top", "hash", "simulator", "seed", "effort")}
        document = {**head, "verdict": self.verdict, "rules": rules}
        if groups:
            document["causes"] = [{"where": c.where, "what": c.what, "rules": list(c.rules)} for c in groups]
        return document
