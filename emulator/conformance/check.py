"""The conformance check of a node: lint, ports, then every rule in the simulator; for what is broken, the files to
see it again."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ringhil.emulator.build.cache import cache_dir
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.node_rtl import NODE, defined, sources
from ringhil.emulator.build.toolchain import find_verilator
from ringhil.emulator.conformance import lint, ports
from ringhil.emulator.conformance.choosing import choose
from ringhil.emulator.conformance.evidence import write_evidence
from ringhil.emulator.conformance.general import GENERAL
from ringhil.emulator.conformance.report import CheckReport, RuleFinding, RuleVerdict
from ringhil.emulator.conformance.rule import all_rules
from ringhil.emulator.conformance.shrink import Effort, shrunk
from ringhil.emulator.testbench.build import HDL, Bench, Simulator, build_bench
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.results import KilledError
from ringhil.emulator.testbench.runner import PATIENCE, run_bench
from ringhil.emulator.testbench.stimulus import Stimulus

TOP = "node_bench"
SUITE = "ringhil.emulator.conformance.suite"
ENDS = "rtl.ends"
# What is watched whatever rules are played, and what it demands.
ALWAYS = {
    lint.LINT: lint.DEMANDS,
    ENDS: "the simulation goes on: no endless loop within a cycle, no crash, no assertion in the RTL that fails",
    **GENERAL,
}


@dataclass(frozen=True)
class CheckSettings:
    """`rules`: only these, names or groups (all, if empty). `effort`: how many cases, 1 for a minute or less. `out`:
    where files about broken rules go, a folder for each. `waves`: record them. `coverage`: directory for Verilator's
    counts and for the functional coverage. `shrink`: plays that may be spent on making the stimulus of a rule small;
    where more than ten rules are broken, they share ten times as many. `patience`: seconds for a simulation.
    """

    simulator: Simulator = "verilator"
    seed: int = 1
    effort: int = 1
    rules: tuple[str, ...] = ()
    out: Path = Path("ringhil-check")
    waves: bool = True
    coverage: Path | None = None
    shrink: int = 200
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
    findings = _play(report, bench, chosen, progress)
    if findings:
        progress("counterexamples")
        effort = Effort(chosen.shrink, chosen.patience, chosen.seed, chosen.effort)
        for finding in shrunk(bench, findings, effort, progress).values():
            report.verdicts[finding.breach.rule].broken_by(finding)
    write_evidence(report, bench_files, defines, chosen.out, chosen.waves, progress)
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


def _play(
    report: CheckReport, bench: Bench, settings: CheckSettings, progress: Callable[[str], None]
) -> list[RuleFinding]:
    """Run the suite, and put what it wrote down into the report. After a case in which the simulation ended the other
    rules are played in a new one. The first breach of each rule that a simulation came to the end with, to be made
    small."""
    waiting = list(settings.rules)
    found: dict[str, RuleFinding] = {}
    with tempfile.TemporaryDirectory(prefix="ringhil-check-") as scratch:
        while waiting:
            lines, ended, killed = _simulated(bench, waiting, settings, Path(scratch))
            for entry in (entry for entry in lines if "rule" in entry):
                _take(report, entry, found)
            if not ended:
                break
            if not lines or ("rule" in lines[-1] and not killed):
                raise BuildError(ended)
            last = lines[-1]
            at = last["begin"] if "begin" in last else last["rule"]
            if killed:
                report.killed = ended
                verdict = report.verdicts[at]
                if verdict.state != "broken":
                    verdict.state, verdict.what = "not judged", ended
            elif report.verdicts[ENDS].state != "broken":
                stimulus = Stimulus.from_json(last["stimulus"])
                report.verdicts[ENDS].broken_by(
                    RuleFinding(Breach(ENDS, 0, ended), at, last["case"], 0, stimulus, False)
                )
            progress(f"the simulation ended in {at}")
            waiting = waiting[waiting.index(at) + 1 :]
    _judge_watched(report, whole={*settings.rules} == {*all_rules()} and not report.killed)
    return [found[rule] for rule in report.verdicts if rule in found]


def _judge_watched(report: CheckReport, *, whole: bool) -> None:
    """What is watched in every case is kept only when all rules were played: any of them may be the one that shows
    otherwise."""
    cases, cycles = (sum(getattr(v, n) for v in report.verdicts.values()) for n in ("cases", "cycles"))
    for name in (ENDS, *GENERAL):
        verdict = report.verdicts[name]
        verdict.cases, verdict.cycles = cases, cycles
        if cases and verdict.state == "not checked":
            verdict.state = "kept" if whole else "not judged"


def _simulated(
    bench: Bench, waiting: Sequence[str], settings: CheckSettings, scratch: Path
) -> tuple[list[dict[str, Any]], str, bool]:
    """What the suite wrote down, why the simulation ended before its time ("" if it didn't), and whether that was
    somebody outside."""
    out, ended, killed = scratch / "results.jsonl", "", False
    out.write_text("")
    given = {"OUT": str(out), "SEED": str(settings.seed), "EFFORT": str(settings.effort), "RULES": ",".join(waiting)}
    if settings.coverage is not None:
        settings.coverage.mkdir(parents=True, exist_ok=True)
        given["COVERAGE"] = str((settings.coverage / f"functional-{settings.seed}.json").absolute())
    try:
        run = run_bench(
            bench,
            [SUITE],
            scratch / "run",
            seed=settings.seed,
            settings={f"RINGHIL_CHECK_{k}": v for k, v in given.items()},
            patience=settings.patience,
        )
        if run.failed:
            raise BuildError(f"the suite failed: {run.failed[0].failure}", run.log.read_text(errors="replace"))
    except BuildError as error:
        ended, killed = str(error), isinstance(error, KilledError)
    counts = scratch / "run" / "coverage.dat"
    if settings.coverage is not None and counts.is_file():
        (settings.coverage / f"lines-{settings.seed}.dat").write_bytes(counts.read_bytes())
    try:
        return [json.loads(line) for line in out.read_text().splitlines()], ended, killed
    except ValueError as error:  # it ended in the middle of a line
        why = ended or f"what the simulation wrote breaks off ({error}); is there room on the disk?"
        raise BuildError(why) from None


def _take(report: CheckReport, entry: dict[str, Any], found: dict[str, RuleFinding]) -> None:
    """The result of one case; `found` gets the rules that it is the first to break."""
    verdict = report.verdicts[entry["rule"]]
    verdict.cases += 1
    verdict.cycles += entry["cycles"]
    if verdict.state == "not checked":
        verdict.state = "kept"
    if entry.get("claimed") is False and verdict.state == "kept":
        verdict.state = "not claimed"
    for rule, cycle, what in entry.get("breaches", ()):
        if rule not in found:
            stimulus = Stimulus.from_json(entry["stimulus"])
            first = Breach(*min(entry["breaches"], key=lambda breach: breach[1]))
            found[rule] = RuleFinding(
                Breach(rule, cycle, what), entry["rule"], entry["case"], entry["number"], stimulus, first=first
            )
            report.verdicts[rule].broken_by(found[rule])
