"""The conformance check of a node: lint, ports, then every rule in the simulator; for what is broken, the files to
see it again."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ringhil.emulator.build.cache import cache_dir
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.node_rtl import NODE, defined, sources
from ringhil.emulator.build.toolchain import find_verilator
from ringhil.emulator.conformance import lint, ports
from ringhil.emulator.conformance.choosing import choose
from ringhil.emulator.conformance.general import GENERAL
from ringhil.emulator.conformance.rule import all_rules
from ringhil.emulator.testbench.build import HDL, Bench, Simulator, build_bench
from ringhil.emulator.testbench.runner import PATIENCE, run_bench
from ringhil.emulator.testbench.stimulus import Stimulus
from ringhil.emulator.testbench.waves import record_waves

TOP = "node_bench"
SUITE = "ringhil.emulator.conformance.suite"
ENDS = "rtl.ends"
# What is watched whatever rules are played, and what it demands.
ALWAYS = {
    lint.LINT: lint.DEMANDS,
    ENDS: "the simulation goes on: no endless loop within a cycle, no crash, no assertion in the RTL that fails",
    **GENERAL,
}
State = Literal["kept", "broken", "not claimed", "not checked"]


@dataclass
class RuleVerdict:
    """What came of one rule. `cycle`, `what`, `case`: the first breach; `stimulus`, `waves`: files that show it."""

    rule: str
    demands: str
    requirement: str = ""
    state: State = "not checked"
    cases: int = 0
    cycles: int = 0
    case: str = ""
    cycle: int | None = None
    what: str = ""
    stimulus: Path | None = None
    waves: Path | None = None


@dataclass
class CheckReport:
    """The result of a check. `ok`: a case was played, no rule is broken, and it was not interrupted."""

    rtl: str
    top: str
    hash: str
    simulator: str
    seed: int
    effort: int
    verdicts: dict[str, RuleVerdict] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def ok(self) -> bool:
        return self.verdict == "pass"

    @property
    def verdict(self) -> Literal["pass", "fail", "not judged"]:
        """`not judged`: nothing is broken, and no case was played that could show it."""
        if self.interrupted or any(v.state == "broken" for v in self.verdicts.values()):
            return "fail"
        return "pass" if any(v.cases for v in self.verdicts.values()) else "not judged"

    def to_json(self) -> dict[str, Any]:
        """One document; paths as text, empty fields left out."""
        rules = []
        for v in self.verdicts.values():
            entry: dict[str, Any] = {"rule": v.rule, "state": v.state, "demands": v.demands}
            entry |= {"requirement": v.requirement, "cases": v.cases, "cycles": v.cycles}
            if v.state == "broken":
                entry |= {"case": v.case, "cycle": v.cycle, "found": v.what}
                entry |= {name: str(p) for name, p in (("stimulus", v.stimulus), ("waves", v.waves)) if p is not None}
            rules.append(entry)
        head = {name: getattr(self, name) for name in ("rtl", "top", "hash", "simulator", "seed", "effort")}
        return {**head, "verdict": self.verdict, "rules": rules}


@dataclass(frozen=True)
class CheckSettings:
    """`rules`: only these, names or groups (all, if empty). `effort`: how many cases, 1 for a minute or less. `out`:
    where files about broken rules go. `waves`: record them. `coverage`: directory for Verilator's counts and for the
    functional coverage. `shrink`: plays that may be spent on making a stimulus small. `patience`: seconds for a
    simulation.
    """

    simulator: Simulator = "verilator"
    seed: int = 1
    effort: int = 1
    rules: tuple[str, ...] = ()
    out: Path = Path("ringhil-check")
    waves: bool = True
    coverage: Path | None = None
    shrink: int = 100
    patience: float = PATIENCE


def check(
    rtl: Path,
    top: str = NODE,
    settings: CheckSettings | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> CheckReport:
    """Check the node `top` in directory `rtl`. Raises BuildError, with one line, when it can't be checked at all: it
    doesn't compile, its ports are wrong, it has a combinational loop, or a tool is missing."""
    chosen = settings if settings is not None else CheckSettings()
    known = all_rules()
    chosen = replace(chosen, rules=choose(chosen.rules, [*known], [*ALWAYS]))
    for folder in (chosen.out, chosen.coverage):
        if folder is not None and folder.exists() and not folder.is_dir():
            raise BuildError(f"{folder}: it is a file; name a folder")
    progress("lint")
    files = sources(rtl)
    defined(files, top)
    verilator = find_verilator(cache_dir() / "versions")
    warned = lint.warnings(files, top, verilator)
    progress("ports")
    found = ports.ports_of(files, top, verilator)
    wrong = ports.compare(top, found)
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise BuildError(wrong[0] + more, "\n".join(wrong))
    bench_files, defines = bench_sources(files, top, found)
    counting = chosen.coverage is not None
    bench = build_bench(chosen.simulator, TOP, bench_files, defines=defines, coverage=counting, progress=progress)
    report = CheckReport(str(rtl), top, bench.rtl, chosen.simulator, chosen.seed, chosen.effort)
    for name, demands in ALWAYS.items():
        report.verdicts[name] = RuleVerdict(name, demands)
    _judge_lint(report, warned)
    for name in chosen.rules:
        report.verdicts[name] = RuleVerdict(name, known[name].demands, known[name].requirement)
    progress("rules")
    _play(report, bench, chosen, progress)
    if chosen.waves:
        _record(report, bench_files, defines, chosen, progress)
    return report


def interrupted_check(rtl: Path, top: str, settings: CheckSettings) -> CheckReport:
    """What can be said of a check that was interrupted: of no rule is it known whether it is kept."""
    known = all_rules()
    played = choose(settings.rules, [*known], [*ALWAYS])
    report = CheckReport(str(rtl), top, "", settings.simulator, settings.seed, settings.effort, interrupted=True)
    for name, demands in (*ALWAYS.items(), *((name, known[name].demands) for name in played)):
        report.verdicts[name] = RuleVerdict(name, demands)
    return report


def bench_sources(files: Sequence[Path], top: str, found: Sequence[ports.RtlPort]) -> tuple[list[Path], dict[str, str]]:
    """What the bench of a node is built from, and its defines."""
    defines = {"RINGHIL_NODE": top}
    if not any(port.name == "quiescent_o" for port in found):
        defines["RINGHIL_NO_QUIESCENCE"] = "1"
    return [*files, HDL / f"{TOP}.sv"], defines


def _judge_lint(report: CheckReport, warned: Sequence[str]) -> None:
    verdict = report.verdicts[lint.LINT]
    verdict.state = "broken" if warned else "kept"
    if warned:
        verdict.what = warned[0] + (f" (and {len(warned) - 1} more)" if len(warned) > 1 else "")


def _play(report: CheckReport, bench: Bench, settings: CheckSettings, progress: Callable[[str], None]) -> None:
    """Run the suite, and put what it wrote down into the report. After a case in which the simulation ended the other
    rules are played in a new one."""
    waiting = list(settings.rules)
    with tempfile.TemporaryDirectory(prefix="ringhil-check-") as scratch:
        while waiting:
            out = Path(scratch) / "results.jsonl"
            out.write_text("")
            given = {"OUT": str(out), "SEED": str(settings.seed), "EFFORT": str(settings.effort)}
            given |= {"RULES": ",".join(waiting), "SHRINK": str(settings.shrink)}
            if settings.coverage is not None:
                settings.coverage.mkdir(parents=True, exist_ok=True)
                given["COVERAGE"] = str((settings.coverage / f"functional-{report.seed}.json").absolute())
            ended = ""
            try:
                run = run_bench(
                    bench,
                    [SUITE],
                    Path(scratch) / "run",
                    seed=settings.seed,
                    settings={f"RINGHIL_CHECK_{k}": v for k, v in given.items()},
                    patience=settings.patience,
                )
                if run.failed:
                    raise BuildError(f"the suite failed: {run.failed[0].failure}", run.log.read_text())
            except BuildError as error:
                ended = str(error)
            counts = Path(scratch) / "run" / "coverage.dat"
            if settings.coverage is not None and counts.is_file():
                (settings.coverage / f"lines-{report.seed}.dat").write_bytes(counts.read_bytes())
            lines = [json.loads(line) for line in out.read_text().splitlines()]
            done = [entry for entry in lines if "rule" in entry]
            for entry in done:
                _take(report, entry, settings)
            if not ended:
                break
            if not lines or "rule" in lines[-1]:
                raise BuildError(ended)
            last = lines[-1]
            _breach(report, ENDS, last, 0, ended, Stimulus.from_json(last["stimulus"]), settings)
            progress(f"the simulation ended in {last['begin']}")
            waiting = waiting[waiting.index(last["begin"]) + 1 :]
    played = any(verdict.cases for verdict in report.verdicts.values())
    for verdict in report.verdicts.values():
        if played and verdict.state == "not checked" and verdict.rule in (ENDS, *GENERAL):
            verdict.state = "kept"


def _take(report: CheckReport, entry: dict[str, Any], settings: CheckSettings) -> None:
    verdict = report.verdicts[entry["rule"]]
    verdict.cases += 1
    verdict.cycles += entry["cycles"]
    if verdict.state == "not checked":
        verdict.state = "kept"
    if entry.get("claimed") is False and verdict.state == "kept":
        verdict.state = "not claimed"
    seen = set()
    for rule, cycle, what in entry.get("breaches", ()):
        if rule not in seen:
            seen.add(rule)
            _breach(report, rule, entry, cycle, what, Stimulus.from_json(entry["small"]), settings)


def _breach(
    report: CheckReport,
    rule: str,
    entry: dict[str, Any],
    cycle: int,
    what: str,
    stimulus: Stimulus,
    settings: CheckSettings,
) -> None:
    verdict = report.verdicts[rule]
    if verdict.state == "broken":
        return
    verdict.state, verdict.cycle, verdict.what = "broken", cycle, what
    verdict.case = f"{entry.get('rule', entry.get('begin'))}, {entry['case']}"
    settings.out.mkdir(parents=True, exist_ok=True)
    verdict.stimulus = settings.out / f"{rule}.json"
    verdict.stimulus.write_text(stimulus.to_json())


def _record(
    report: CheckReport,
    files: Sequence[Path],
    defines: dict[str, str],
    settings: CheckSettings,
    progress: Callable[[str], None],
) -> None:
    """Waves of every broken rule's small stimulus."""
    broken = [v for v in report.verdicts.values() if v.state == "broken" and v.stimulus is not None and v.rule != ENDS]
    if not broken:
        return
    progress("waves")
    for verdict in broken:
        assert verdict.stimulus is not None
        verdict.waves = record_waves(
            settings.simulator, files, defines, verdict.stimulus, verdict.stimulus.with_suffix(".fst"), progress
        )
