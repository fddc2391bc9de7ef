"""The conformance check of a node: lint, ports, then every rule in the simulator; for what is broken, the files to
see it again."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ringhil.emulator.build.cache import cache_dir
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.node_rtl import NODE, defined, sources
from ringhil.emulator.build.toolchain import find_verilator
from ringhil.emulator.children import temporary_folder
from ringhil.emulator.conformance import lint, ports
from ringhil.emulator.conformance.choosing import choose
from ringhil.emulator.conformance.evidence import write_evidence
from ringhil.emulator.conformance.general import GENERAL
from ringhil.emulator.conformance.playing import End, Playing
from ringhil.emulator.conformance.report import ENDS, CheckReport, RuleFinding, RuleVerdict
from ringhil.emulator.conformance.rule import all_rules
from ringhil.emulator.conformance.shrink import Effort, shrunk
from ringhil.emulator.testbench.build import HDL, Bench, Simulator, build_bench
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.runner import PATIENCE
from ringhil.emulator.testbench.stimulus import Stimulus

TOP = "node_bench"
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
    where more than ten rules are broken, they share ten times as many. `patience`: seconds for a case. `jobs`:
    simulations at a time; what they find doesn't depend on it.
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
    jobs: int = os.cpu_count() or 1


def check(
    rtl: Path,
    top: str = NODE,
    settings: CheckSettings | None = None,
    progress: Callable[[str], None] = lambda text: None,
    judged: Callable[[RuleVerdict], None] = lambda verdict: None,
) -> CheckReport:
    """Check the node `top` in directory `rtl`. `judged` is called with rules as they are judged, in their order; of a
    broken one it isn't said yet how. Raises BuildError, with one line, when it can't be checked at all: it
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
    judged(report.verdicts[lint.LINT])
    for name in chosen.rules:
        report.verdicts[name] = RuleVerdict(name, known[name].demands, known[name].requirement)
    progress("rules")
    findings = _play(report, bench, chosen, progress, judged)
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
    report: CheckReport,
    bench: Bench,
    settings: CheckSettings,
    progress: Callable[[str], None],
    judged: Callable[[RuleVerdict], None],
) -> list[RuleFinding]:
    """Play the rules, and put what was written down into the report, in the order of the rules. The first breach of
    each rule that a simulation came to the end with, to be made small."""

    def soon(rule: str, entries: Sequence[dict[str, Any]]) -> None:
        alone = {name: replace(verdict) for name, verdict in report.verdicts.items()}
        for entry in entries:
            _take(alone, entry, {})
        judged(alone[rule])

    jobs = settings.jobs if settings.coverage is None else 1
    with temporary_folder("ringhil-check-") as scratch:
        playing = Playing(bench, settings.rules, _given(settings), scratch, settings.patience)
        played = playing.run(jobs, progress, soon)
    if settings.coverage is not None and played.counts:
        (settings.coverage / f"lines-{settings.seed}.dat").write_bytes(played.counts)
    found: dict[str, RuleFinding] = {}
    for entry in played.entries:
        _take(report.verdicts, entry, found)
    for end in played.ends:
        _ended(report, end)
    _judge_watched(report, whole={*settings.rules} == {*all_rules()} and not report.killed)
    return [found[rule] for rule in report.verdicts if rule in found]


def _given(settings: CheckSettings) -> dict[str, str]:
    """Settings of the suite."""
    given = {"SEED": str(settings.seed), "EFFORT": str(settings.effort)}
    if settings.coverage is not None:
        settings.coverage.mkdir(parents=True, exist_ok=True)
        given["COVERAGE"] = str((settings.coverage / f"functional-{settings.seed}.json").absolute())
    return given


def _ended(report: CheckReport, end: End) -> None:
    """A simulation ended in a case: of itself, which breaks a rule, or by somebody outside."""
    if end.killed:
        report.killed = report.killed or end.why
        verdict = report.verdicts[end.rule]
        if verdict.state != "broken":
            verdict.state, verdict.what = "not judged", end.why
    elif report.verdicts[ENDS].state != "broken":
        stimulus = Stimulus.from_json(end.stimulus)
        report.verdicts[ENDS].broken_by(RuleFinding(Breach(ENDS, 0, end.why), end.rule, end.case, 0, stimulus, False))


def _judge_watched(report: CheckReport, *, whole: bool) -> None:
    """What is watched in every case is kept only when all rules were played: any of them may be the one that shows
    otherwise."""
    cases, cycles = (sum(getattr(v, n) for v in report.verdicts.values()) for n in ("cases", "cycles"))
    for name in (ENDS, *GENERAL):
        verdict = report.verdicts[name]
        verdict.cases, verdict.cycles = cases, cycles
        if cases and verdict.state == "not checked":
            verdict.state = "kept" if whole else "not judged"


def _take(verdicts: dict[str, RuleVerdict], entry: dict[str, Any], found: dict[str, RuleFinding]) -> None:
    """The result of one case; `found` gets the rules that it is the first to break."""
    verdict = verdicts[entry["rule"]]
    verdict.cases += 1
    verdict.cycles += entry["cycles"]
    if verdict.state == "not checked":
        verdict.state = "kept"
    if entry.get("claimed") is False and verdict.state == "kept":
        verdict.state = "not claimed"
    if "lacks" in entry and verdict.state == "kept":
        verdict.state, verdict.what = "not judged", f"the node has no {entry['lacks']}"
    for rule, cycle, what in entry.get("breaches", ()):
        if rule not in found:
            stimulus = Stimulus.from_json(entry["stimulus"])
            first = Breach(*min(entry["breaches"], key=lambda breach: breach[1]))
            found[rule] = RuleFinding(
                Breach(rule, cycle, what), entry["rule"], entry["case"], entry["number"], stimulus, first=first
            )
            verdicts[rule].broken_by(found[rule])
