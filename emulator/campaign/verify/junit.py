"""JUnit XML as Jenkins, GitLab, GitHub's actions and Azure read it.

| element | is |
|---|---|
| `testsuite` | a scenario file; `file`, `time` |
| `testcase` | a variant: `classname` the path with dots, `name` the scenario's, `file`, `line`, `time` (seconds) |
| `property` of it | `id`, `cycles`, `seed`, `rtl`, `replay`; `left` if there is one; a parameter as `parameter.gpu` |
| `failure` | `type`: "expectation" or the invariants broken, `message`: the first of what failed; text: all of it |
| `error` | the same for a file that can't be used, or a process that died |

An interrupted run has the property `interrupted` in every suite and says so in `system-err` of the last.
"""

import itertools
import xml.etree.ElementTree as ElementTree

from ringhil.emulator.campaign.verify.report import VerifyReport
from ringhil.emulator.campaign.verify.verdict import Failure, Verdict
from ringhil.emulator.judge.outcome import VerdictWord


def junit(report: VerifyReport) -> str:
    """The document; characters that XML can't hold are written as `\\x1b`."""
    root = ElementTree.Element("testsuites", {"name": "ringhil verify", **_counts(report.results)})
    for file, group in itertools.groupby(report.results, key=lambda v: v.file):
        results = tuple(group)
        path = file.as_posix()
        suite = ElementTree.SubElement(root, "testsuite", {"name": path, "file": path, **_counts(results)})
        properties = {"ringhil": report.version, "rtl": report.rtl}
        _properties(suite, properties | ({"interrupted": "true"} if report.stopped else {}))
        for verdict in results:
            _case(suite, verdict, report.rtl)
    if report.stopped and len(root):
        ElementTree.SubElement(root[-1], "system-err").text = "interrupted: not all scenarios were played"
    for element in root.iter():
        element.attrib = {name: clean(value) for name, value in element.attrib.items()}
        element.text = clean(element.text) if element.text else None
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def place(verdict: Verdict, failure: Failure) -> str:
    """`dead.yaml:14: expected ...`, as compilers write it."""
    column = "" if failure.column is None else f":{failure.column}"
    line = "" if failure.line is None else f":{failure.line}{column}"
    kind = "" if failure.kind in ("expectation", "input", "process") else f"{failure.kind}: "
    return f"{verdict.file.as_posix()}{line}: {kind}{failure.text}"


def clean(text: str) -> str:
    """The text without what XML 1.0 can't hold."""
    return "".join(c if _allowed(c) else f"\\x{ord(c):02x}" for c in text)


def _allowed(c: str) -> bool:
    code = ord(c)
    return c in "\t\n\r" or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code > 0xFFFF


def _counts(results: tuple[Verdict, ...]) -> dict[str, str]:
    return {
        "tests": str(len(results)),
        "failures": str(sum(v.state == VerdictWord.FAIL for v in results)),
        "errors": str(sum(v.state == VerdictWord.ERROR for v in results)),
        "skipped": "0",
        "time": f"{sum(v.seconds for v in results):.6f}",
    }


def _properties(parent: ElementTree.Element, values: dict[str, str]) -> None:
    element = ElementTree.SubElement(parent, "properties")
    for name, value in values.items():
        ElementTree.SubElement(element, "property", {"name": name, "value": value})


def _case(suite: ElementTree.Element, verdict: Verdict, rtl: str) -> None:
    attributes = {
        "classname": ".".join(verdict.file.with_suffix("").parts).lstrip("./"),
        "name": verdict.name,
        "file": verdict.file.as_posix(),
        "line": str(verdict.line),
        "time": f"{verdict.seconds:.6f}",
    }
    case = ElementTree.SubElement(suite, "testcase", attributes)
    values = {"id": verdict.id, "cycles": str(verdict.cycles), "rtl": rtl, "replay": verdict.replay}
    if verdict.seed is not None:
        values["seed"] = str(verdict.seed)
    if verdict.left is not None:
        values["left"] = verdict.left.as_posix()
    _properties(case, values | {f"parameter.{name}": value for name, value in verdict.parameters})
    if verdict.state == VerdictWord.PASS:
        return
    kinds = ", ".join(dict.fromkeys(f.kind for f in verdict.failures))
    element = "failure" if verdict.state == VerdictWord.FAIL else "error"
    first = verdict.failures[0]
    details = ElementTree.SubElement(case, element, {"type": kinds, "message": first.text})
    details.text = "\n".join(lines(verdict))


def lines(verdict: Verdict) -> list[str]:
    """All that is to be said of one that did not pass."""
    said = [place(verdict, failure) for failure in verdict.failures]
    said.append(f"replay: {verdict.replay}")
    if verdict.left is not None:
        said.append(f"left in {verdict.left.as_posix()}")
    return said + ([verdict.note] if verdict.note else [])
