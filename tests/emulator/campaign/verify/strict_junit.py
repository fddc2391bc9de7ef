"""JUnit XML as its readers have agreed on it, checked strictly: Jenkins's schema, order, sums, names that differ."""

import re
import xml.etree.ElementTree as ElementTree

from tests.junit_schema import assert_valid

_CHILDREN = {"testsuite": ["properties", "testcase"], "testcase": ["failure", "error", "skipped", "system-out"]}


def check(text: str) -> ElementTree.Element:
    """The document, if everything in it is as it must be."""
    root = assert_valid(text)
    for element in (root, *root):
        cases = list(element.iter("testcase"))
        assert int(element.attrib["tests"]) == len(cases)
        for name, child in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if name in element.attrib or element.tag == "testsuite":
                assert int(element.attrib[name]) == sum(case.find(child) is not None for case in cases)
        assert abs(float(element.attrib["time"]) - sum(float(case.attrib["time"]) for case in cases)) < 1e-6
    for element in root.iter():
        order = _CHILDREN.get(element.tag, [child.tag for child in element])
        places = [order.index(child.tag) for child in element]
        assert places == sorted(places), f"{element.tag}: {[child.tag for child in element]}"
        if "time" in element.attrib:
            assert re.fullmatch(r"[0-9]+\.[0-9]{3}", element.attrib["time"])
    for case in root.iter("testcase"):
        assert sum(case.find(name) is not None for name in ("failure", "error", "skipped")) <= 1
        assert {"classname", "name", "time"} <= case.attrib.keys()
    names = [(case.attrib["classname"], case.attrib["name"]) for case in root.iter("testcase")]
    assert len(set(names)) == len(names), "readers tell cases apart by these"
    return root


def properties(suite: ElementTree.Element) -> dict[str, str]:
    """Of a test suite."""
    return {p.attrib["name"]: p.attrib["value"] for p in suite.findall("properties/property")}


def facts(case: ElementTree.Element) -> dict[str, str]:
    """What a test case says of itself."""
    return dict(line.split(": ", 1) for line in (case.findtext("system-out") or "").split("\n") if line)
