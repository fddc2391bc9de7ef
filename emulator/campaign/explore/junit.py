"""A campaign as JUnit XML, from its document: a test case for each class of faults.

| element | is |
|---|---|
| `testsuite` | the campaign; properties: version, seed, hashes, how much was played |
| `testcase` | a class, such as `dead` or `dead + hang`; and `all was played` |
| `failure`, `error` | cases of it have failed, or could not be played; text: how, and each case that the document has |
| `skipped` | not all was played, which is no failure; or all that has failed of a class is known to |
"""

import xml.etree.ElementTree as ElementTree
from typing import Any

from ringhil.emulator.judge.known import WAS_KNOWN
from ringhil.emulator.pages.junit import duration, written

_ALL = "all was played"


def junit(document: dict[str, Any], at_least: float = 0.0) -> str:
    """The document of `explore --json` for readers of JUnit; `at_least`: share of the cases that had to be played."""
    classes, incomplete = document["classes"], document["done"] < document["cases"]
    few = too_few(document, at_least)
    counts = {
        "failures": str(sum(_state(c) == "failure" for c in classes) + few + len(document["stale"])),
        "errors": str(sum(_state(c) == "error" for c in classes)),
    }
    counts["tests"] = str(len(classes) + 1 + len(document["stale"]))
    root = ElementTree.Element("testsuites", {"name": "ringhil explore", **counts, "time": duration(0)})
    skipped = str(int(incomplete and not few) + sum(_state(c) == "skipped" for c in classes))
    suite = ElementTree.SubElement(
        root, "testsuite", {"name": document["name"], **counts, "skipped": skipped, "time": duration(0)}
    )
    values = {"ringhil": document["version"], "seed": str(document["seed"]), **document["hashes"]}
    values |= {"cases": str(document["cases"]), "done": str(document["done"])}
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": value})
    for each in classes:
        case = _case(suite, each["class"])
        if _state(each):
            _failed(case, each, document)
    for text in document["stale"]:
        ElementTree.SubElement(_case(suite, text), "failure", {"type": "known", "message": text}).text = text
    last = _case(suite, _ALL)
    if incomplete:
        text = f"{document['done']:,} of {document['cases']:,} cases were played"
        ElementTree.SubElement(
            last, "failure" if few else "skipped", {"type": "incomplete", "message": text}
        ).text = text
    return written(root)


def too_few(document: dict[str, Any], at_least: float) -> bool:
    """Whether a smaller share of the cases was played; `covered` is rounded."""
    return bool(document["done"] < document["cases"] and document["done"] / document["cases"] < at_least)


def _case(suite: ElementTree.Element, name: str) -> ElementTree.Element:
    attributes = {"classname": "ringhil.explore", "name": name, "time": duration(0)}
    return ElementTree.SubElement(suite, "testcase", attributes)


def _state(each: dict[str, Any]) -> str:
    """The element of a class; "": it has passed. What is known to fail is skipped."""
    if each["failed"] > each["known"]:
        return "failure"
    return "error" if each["errors"] else "skipped" if each["failed"] else ""


def _failed(case: ElementTree.Element, each: dict[str, Any], document: dict[str, Any]) -> None:
    number = each["failed"] + each["errors"]
    shown = [row for row in document["failing"] if row["class"] == each["class"]]
    sorts = dict.fromkeys(row["sort"] or row["violated"] or row["verdict"] for row in shown)
    lines = [f"{number:,} of {each['cases']:,} cases"]
    over = {way["first"]: way["over"] for way in document["sorts"] if way["over"]}
    for row in shown:
        lines += [f"{row['verdict']}: {row['key']}", *(f"  {text}" for text in row["failures"])]
        lines += [f"  {WAS_KNOWN}: {over[row['key']]}"] if row["key"] in over else []
        lines += [f"  {word}: {row[word]}" for word in ("replay", "smallest") if row[word]]
    if len(shown) < number:
        lines.append(f"and {number - len(shown):,} more; `ringhil explore query` shows them")
    message = f"{lines[0]} have failed: {'; '.join(sorts) or 'see the store'}"
    kinds = ", ".join(dict.fromkeys(row["violated"] or row["verdict"] for row in shown)) or "failed"
    kinds = "known" if _state(each) == "skipped" else kinds
    ElementTree.SubElement(case, _state(each), {"type": kinds, "message": message}).text = "\n".join(lines)
