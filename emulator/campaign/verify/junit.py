"""JUnit XML as Jenkins, GitLab, GitHub's actions and Azure read it.

| element | is |
|---|---|
| `testsuite` | a scenario file; `file`, `time` |
| `testcase` | a variant: `classname` the path with dots, `name` the scenario's, `time` (seconds) |
| `system-out` of it | lines `id: ...`, `cycles`, `rtl`, `replay`, `seed`, `left`, `kept`; `parameter.gpu` |
| `failure` | `type`: "expectation" or the invariants broken, `message`: the first of what failed; text: all of it |
| `error` | the same for a file that can't be used, or a process that died |
| `skipped` | what an interrupted run has not played of a file; what is known to fail, and does |

An interrupted run has the property `interrupted` in every suite, and a suite of its own with an error: it has not
passed. So has one of which a `--select` fits nothing. The property `passed_over` names what is no scenario.
"""

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

from ringhil.emulator.campaign.verify.report import Unplayed, VerifyReport, told_of
from ringhil.emulator.campaign.verify.verdict import Failure, Verdict
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.pages.junit import duration, written


def junit(report: VerifyReport, *, places: bool = False) -> str:
    """The document. `places`: test cases have `file` and `line`, which GitLab and actions of GitHub show, and which
    Jenkins's schema doesn't know."""
    root = ElementTree.Element("testsuites", {"name": "ringhil verify"})
    files: dict[Path, tuple[list[Verdict], list[Unplayed]]] = {}
    for verdict in report.results:
        files.setdefault(verdict.file, ([], []))[0].append(verdict)
    for left in report.unplayed:
        files.setdefault(left.file, ([], []))[1].append(left)
    known = {"ringhil": report.version, "rtl": report.rtl, **report.hashes}
    properties = known | ({"interrupted": "true"} if report.stopped else {})
    properties |= {"passed_over": told_of(report.passed_over)} if report.passed_over else {}
    for file, (verdicts, unplayed) in files.items():
        name = file.as_posix()
        suite = ElementTree.SubElement(root, "testsuite", {"name": name, "file": name, **_counts(verdicts, unplayed)})
        _properties(suite, properties)
        for verdict in verdicts:
            _case(suite, verdict, report.rtl, places)
        for left in unplayed:
            case = _empty_case(suite, _classname(file), "not played")
            ElementTree.SubElement(case, "skipped", {"type": "interrupted", "message": left.text}).text = left.text
    if report.stopped:
        _incomplete(root, "all was played", "interrupted", report.interruption, properties)
    if report.unmatched:
        _incomplete(root, "all was found", "select", report.why_unmatched, properties)
    if report.stale:
        _stale(root, report, properties)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in root)))
    root.set("time", duration(sum(float(suite.attrib["time"]) for suite in root)))
    return written(root)


def place(verdict: Verdict, failure: Failure) -> str:
    """`dead.yaml:14: expected ...`, as compilers write it."""
    column = "" if failure.column is None else f":{failure.column}"
    line = "" if failure.line is None else f":{failure.line}{column}"
    kind = "" if failure.kind in ("expectation", "input", "process") else f"{failure.kind}: "
    return f"{verdict.file.as_posix()}{line}: {kind}{failure.text}"


def _counts(verdicts: Sequence[Verdict], unplayed: Sequence[Unplayed]) -> dict[str, str]:
    return {
        "tests": str(len(verdicts) + len(unplayed)),
        "failures": str(sum(v.state == VerdictWord.FAIL and not v.known for v in verdicts)),
        "errors": str(sum(v.state == VerdictWord.ERROR for v in verdicts)),
        "skipped": str(len(unplayed) + sum(bool(v.known) for v in verdicts)),
        "time": duration(sum(float(duration(v.seconds)) for v in verdicts)),
    }


def _incomplete(root: ElementTree.Element, name: str, kind: str, text: str, properties: dict[str, str]) -> None:
    """A suite with one error, which belongs to no file."""
    counts = {"tests": "1", "failures": "0", "errors": "1", "skipped": "0", "time": duration(0)}
    suite = ElementTree.SubElement(root, "testsuite", {"name": "ringhil verify", **counts})
    _properties(suite, properties)
    case = _empty_case(suite, "ringhil.verify", name)
    ElementTree.SubElement(case, "error", {"type": kind, "message": text}).text = text


def _stale(root: ElementTree.Element, report: VerifyReport, properties: dict[str, str]) -> None:
    number = str(len(report.stale))
    counts = {"tests": number, "failures": number, "errors": "0", "skipped": "0", "time": duration(0)}
    suite = ElementTree.SubElement(root, "testsuite", {"name": "ringhil verify --known", **counts})
    _properties(suite, properties)
    for text in report.stale:
        case = _empty_case(suite, "ringhil.verify.known", text.partition(": nothing has failed")[0])
        ElementTree.SubElement(case, "failure", {"type": "known", "message": text}).text = text


def _empty_case(suite: ElementTree.Element, classname: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", {"classname": classname, "name": name, "time": duration(0)})


def _classname(file: Path) -> str:
    return ".".join(file.with_suffix("").parts).lstrip("./")


def _properties(parent: ElementTree.Element, values: dict[str, str]) -> None:
    element = ElementTree.SubElement(parent, "properties")
    for name, value in values.items():
        ElementTree.SubElement(element, "property", {"name": name, "value": value})


def _case(suite: ElementTree.Element, verdict: Verdict, rtl: str, places: bool) -> None:
    attributes = {"classname": _classname(verdict.file), "name": verdict.name, "time": duration(verdict.seconds)}
    if places:
        attributes |= {"file": verdict.file.as_posix(), "line": str(verdict.line)}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    if verdict.known:
        skipped = {"type": "known", "message": f"known to fail: {verdict.known}"}
        ElementTree.SubElement(case, "skipped", skipped).text = "\n".join(lines(verdict))
    elif verdict.state != VerdictWord.PASS:
        kinds = ", ".join(dict.fromkeys(f.kind for f in verdict.failures))
        element = "failure" if verdict.state == VerdictWord.FAIL else "error"
        first = verdict.main or verdict.failures[0]
        details = ElementTree.SubElement(case, element, {"type": kinds, "message": first.text})
        details.text = "\n".join(lines(verdict))
    values = {"id": verdict.id, "cycles": str(verdict.cycles), "rtl": rtl, "replay": verdict.replay}
    values |= {"scenario": verdict.scenario} if verdict.scenario else {}
    values |= {"kept": "not played again: nothing has changed since it passed"} if verdict.kept else {}
    if verdict.seed is not None:
        values["seed"] = str(verdict.seed)
    if verdict.left is not None:
        values["left"] = verdict.left.as_posix()
    values |= {f"parameter.{name}": value for name, value in verdict.parameters}
    pairs = [*values.items(), *(("not judged", str(each)) for each in verdict.unjudged)]
    said = (f"{name}: {value}".replace("\r", "\\r").replace("\n", "\\n") for name, value in pairs)
    ElementTree.SubElement(case, "system-out").text = "\n".join(said)


def lines(verdict: Verdict) -> list[str]:
    """All that is to be said of one that did not pass."""
    said: list[str] = []
    for failure in verdict.failures:
        said += [place(verdict, failure), *(f"  {note}" for note in failure.notes)]
    said.append(f"replay: {verdict.replay}")
    if verdict.left is not None:
        said.append(f"left in {verdict.left.as_posix()}")
    return said + ([verdict.note] if verdict.note else [])
