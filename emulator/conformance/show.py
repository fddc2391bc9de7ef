"""A report for people and for pipelines: table, JUnit."""

import xml.etree.ElementTree as ElementTree

from rich.console import Console
from rich.markup import escape

from ringhil.emulator.conformance.causes import Cause
from ringhil.emulator.conformance.general import GENERAL
from ringhil.emulator.conformance.report import ENDS, CheckReport, RuleVerdict
from ringhil.emulator.pages.github import error
from ringhil.emulator.pages.junit import written
from ringhil.emulator.pages.tables import print_table, table
from ringhil.emulator.pages.verdicts import marked

WATCHED = (ENDS, *GENERAL)
_WIDTHS = (22, 11, 5, 9)  # of the longest rule, verdict, and numbers: a line is printed before the others are known


class RuleRows:
    """The table of rules, line by line: `add` prints what a rule came to, once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown: set[str] = set()

    def add(self, verdict: RuleVerdict) -> None:
        """One line, below the head of the table if it is the first one."""
        if verdict.rule in self._shown:
            return
        line = table("rule", "verdict", "cases", "cycles", "demands", left=("rule", "verdict"), folded=("demands",))
        for column, width in zip(line.columns, _WIDTHS, strict=False):
            column.min_width = width
        line.show_header = not self._shown
        numbers = (f"{verdict.cases}", f"{verdict.cycles:,}") if verdict.cases else ("", "")
        line.add_row(verdict.rule, marked(verdict.state), *numbers, escape(verdict.demands))
        print_table(self._console, line)
        self._console.file.flush()
        self._shown.add(verdict.rule)


def show(report: CheckReport, console: Console, rows: RuleRows | None = None) -> None:
    """One line a rule; for the broken one to begin with what was seen, and the files. `rows`: the table, where lines of
    it have been printed: those watched in every case come behind the others. Without it those that are broken come
    first."""
    lines = rows if rows is not None else RuleRows(console)
    for verdict in sorted(
        report.verdicts.values(), key=lambda v: (rows is None and v.state != "broken", v.rule in WATCHED)
    ):
        lines.add(verdict)
    if report.broken:
        _show_first(report, console)
    kept = sum(v.state == "kept" for v in report.verdicts.values())
    text = f"{report.rtl} ({report.top}) on {report.simulator}, seed {report.seed}: {kept} rules kept"
    others = [
        s
        for s in ("broken", "not claimed", "not checked", "not judged")
        if any(v.state == s for v in report.verdicts.values())
    ]
    for state in others:
        text += f", {sum(v.state == state for v in report.verdicts.values())} {state}"
    if report.lacking:
        text += f" ({report.lacking})"
    console.print("\n" + text)


def _show_first(report: CheckReport, console: Console) -> None:
    """The broken rule to begin with, and how many follow: dozens of them mostly have one cause."""
    first, *rest = report.causes
    verdict = report.verdicts[first.rules[0]]
    console.print(f"\n{marked('broken', verdict.rule)}: {escape(verdict.demands)}")
    where = f"cycle {verdict.cycle}: " if verdict.cycle is not None else ""
    console.print(f"  {where}{escape(verdict.what)}", soft_wrap=True)
    for what, path in verdict.files.items():
        console.print(f"  {what} {path}", soft_wrap=True)
    if len(first.rules) > 1:
        console.print(f"  {first.where}, the same kind of frame: also {', '.join(first.rules[1:])}", soft_wrap=True)
    if rest:
        others = sum(len(cause.rules) for cause in rest)
        text = f"{others} more {'rule is' if others == 1 else 'rules are'} broken in {len(rest)} other "
        text += (
            f"{'way' if len(rest) == 1 else 'ways'}, of which this one is the simplest: mend it first, and check again."
        )
        console.print(f"\n{text} --json and --junit have all.", soft_wrap=True)


def errors(report: CheckReport) -> list[str]:
    """What is likely behind the broken rules, for GitHub's page."""
    found = []
    for cause in report.causes:
        first = report.verdicts[cause.rules[0]]
        where = f"cycle {first.cycle}: " if first.cycle is not None else ""
        told = [first.demands, f"{where}{first.what}", f"also broken by it: {', '.join(cause.rules[1:])}"]
        text = "\n".join(told if cause.rules[1:] else told[:2])
        found.append(error(f"ringhil rtl check: {first.rule}", text))
    return found


def junit(report: CheckReport) -> str:
    """JUnit XML: a test case for each rule. No times are told: the same check gives the same file."""
    broken = len(report.broken)
    skipped = sum(v.state.startswith("not") for v in report.verdicts.values())
    errors = int(report.interrupted)
    counts = {"tests": str(len(report.verdicts) + errors), "failures": str(broken)}
    counts |= {"skipped": str(skipped), "errors": str(errors)}
    root = ElementTree.Element("testsuites", {name: counts[name] for name in ("tests", "failures", "errors")})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "ringhil rtl check", **counts})
    properties = ElementTree.SubElement(suite, "properties")
    for name in ("rtl", "top", "hash", "simulator", "seed", "effort"):
        ElementTree.SubElement(properties, "property", {"name": name, "value": str(getattr(report, name))})
    behind = {rule: (number, cause) for number, cause in enumerate(report.causes, start=1) for rule in cause.rules}
    for verdict in report.verdicts.values():
        group, _, name = verdict.rule.partition(".")
        case = ElementTree.SubElement(suite, "testcase", {"classname": f"{report.top}.{group}", "name": name})
        if verdict.state == "broken":
            message = (f"cycle {verdict.cycle}: " if verdict.cycle is not None else "") + verdict.what
            ElementTree.SubElement(case, "failure", {"type": "broken", "message": message}).text = _details(
                verdict, report, *behind[verdict.rule]
            )
        elif verdict.state != "kept":
            ElementTree.SubElement(case, "skipped", {"type": verdict.state, "message": verdict.state})
    if report.interrupted:
        case = ElementTree.SubElement(suite, "testcase", {"classname": report.top, "name": "all was checked"})
        ElementTree.SubElement(case, "error", {"type": "interrupted", "message": "interrupted: no rule was judged"})
    return written(root)


def _details(verdict: RuleVerdict, report: CheckReport, number: int, cause: Cause) -> str:
    lines = [f"rule: {verdict.rule}: {verdict.demands}", f"found: {verdict.what}"]
    if verdict.case:
        lines.append(f"case: {verdict.case}, seed {report.seed}, effort {report.effort}")
    lines.append(f"likely cause {number}: {cause.where}; broken by it: {', '.join(cause.rules)}")
    lines += [f"{what}: {path}" for what, path in verdict.files.items()]
    return "\n".join(lines)
