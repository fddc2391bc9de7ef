"""JUnit XML as its readers have agreed on it, checked strictly: elements, order, attributes and sums.

After https://github.com/testmoapp/junitxml, which describes what the common tools write and read.
"""

import xml.etree.ElementTree as ElementTree

_COUNTS = {"tests", "failures", "errors", "skipped"}
ATTRIBUTES = {
    "testsuites": {"name", "time", *_COUNTS},
    "testsuite": {"name", "file", "time", *_COUNTS},
    "testcase": {"classname", "name", "file", "line", "time"},
    "properties": set(),
    "property": {"name", "value"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "system-err": set(),
}
CHILDREN = {
    "testsuites": ["testsuite"],
    "testsuite": ["properties", "testcase", "system-err"],
    "testcase": ["properties", "failure", "error"],
    "properties": ["property"],
}


def check(text: str) -> ElementTree.Element:
    """The document, if everything in it is as it must be."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    _element(root)
    for element in (root, *root):
        cases = list(element.iter("testcase"))
        assert int(element.attrib["tests"]) == len(cases)
        assert int(element.attrib["failures"]) == sum(case.find("failure") is not None for case in cases)
        assert int(element.attrib["errors"]) == sum(case.find("error") is not None for case in cases)
        assert abs(float(element.attrib["time"]) - sum(float(case.attrib["time"]) for case in cases)) < 1e-3
    names = [(case.attrib["classname"], case.attrib["name"]) for case in root.iter("testcase")]
    assert len(set(names)) == len(names), "readers tell cases apart by these"
    return root


def _element(element: ElementTree.Element) -> None:
    assert set(element.attrib) == ATTRIBUTES[element.tag], element.tag
    order = CHILDREN.get(element.tag, [])
    places = [order.index(child.tag) for child in element]
    assert places == sorted(places), f"{element.tag}: {[child.tag for child in element]}"
    if element.tag == "testcase":
        assert int(element.attrib["line"]) >= 1
        assert len(element.findall("failure")) + len(element.findall("error")) <= 1
    if element.tag == "properties":
        keys = [child.attrib["name"] for child in element]
        assert len(set(keys)) == len(keys)
    for child in element:
        _element(child)


def properties(case: ElementTree.Element) -> dict[str, str]:
    """Of a test case or suite."""
    return {p.attrib["name"]: p.attrib["value"] for p in case.findall("properties/property")}
