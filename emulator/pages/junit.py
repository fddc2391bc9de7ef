"""JUnit XML within the rules of all its readers: those of Jenkins's xunit plug-in (junit-10.xsd) are the strictest.

A test case has no other attributes than `classname`, `name` and `time`, and no properties; a time has three decimals;
only a test suite says how many were skipped.
"""

import xml.etree.ElementTree as ElementTree

from ringhil.emulator.pages import visible


def written(root: ElementTree.Element) -> str:
    """The document; characters that XML can't hold are written as `\\x1b`."""
    for element in root.iter():
        element.attrib = {name: _clean(value) for name, value in element.attrib.items()}
        element.text = _clean(element.text) if element.text else None
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def refused(command: str, message: str) -> str:
    """The document of a `command` of which nothing came, since it could not be done."""
    counts = {"tests": "1", "failures": "0", "errors": "1"}
    root = ElementTree.Element("testsuites", {"name": command, **counts, "time": duration(0)})
    suite = ElementTree.SubElement(root, "testsuite", {"name": command, **counts, "skipped": "0", "time": duration(0)})
    where = {"classname": command.replace(" ", "."), "name": "it could be done", "time": duration(0)}
    case = ElementTree.SubElement(suite, "testcase", where)
    ElementTree.SubElement(case, "error", {"type": "refused", "message": message}).text = message
    return written(root)


def duration(seconds: float) -> str:
    """As a `time` is written."""
    return f"{seconds:.3f}"


def _clean(text: str) -> str:
    return "".join(c if _allowed(c) else f"\\x{ord(c):02x}" for c in str(visible(text)))


def _allowed(c: str) -> bool:
    code = ord(c)
    return c in "\t\n\r" or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code > 0xFFFF
