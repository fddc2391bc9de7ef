"""The rules of junit-10.xsd, the schema by which Jenkins's xunit plug-in takes or refuses a JUnit file, as data."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

_TIME = r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]{0,3})?"
_REASON = "failure", "error", "skipped"
_RERUN = "rerunFailure", "rerunError", "flakyFailure", "flakyError"
_SAID = "system-out", "system-err"


@dataclass(frozen=True)
class Rule:
    """An element: attributes that it must have and may have, and its children, in any order. `text`: it holds text.
    `times`: which attributes are times of Surefire, fixed notation with at most three decimals."""

    must: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    children: frozenset[str] = frozenset()
    text: bool = False
    times: frozenset[str] = field(default=frozenset())


def _rule(
    must: str = "", may: str = "", children: tuple[str, ...] = (), *, text: bool = False, times: str = ""
) -> Rule:
    return Rule(
        *(frozenset(names.split()) for names in (must, may)), frozenset(children), text, frozenset(times.split())
    )


RULES = {
    "testsuites": _rule("", "name time tests failures errors", ("testsuite",), times="time"),
    "testsuite": _rule(
        "name tests failures errors",
        "group time skipped timestamp hostname id package file log url version",
        ("testsuite", "properties", "testcase", *_SAID),
        times="time",
    ),
    "testcase": _rule("name", "time classname group", (*_REASON, *_RERUN, *_SAID)),
    "properties": _rule(children=("property",)),
    "property": _rule("name value"),
    **{name: _rule("", "type message", text=True) for name in _REASON},
    **{name: _rule("type", "message", ("stackTrace", *_SAID), text=True) for name in _RERUN},
    **{name: _rule(text=True) for name in (*_SAID, "stackTrace")},
}


def assert_valid(text: str) -> ElementTree.Element:
    """The document, if the plug-in would take it."""
    root = ElementTree.fromstring(text)
    assert root.tag in ("testsuites", "testsuite")
    for element in root.iter():
        rule, names = RULES[element.tag], set(element.attrib)
        assert rule.must <= names, f"{element.tag} lacks {set(rule.must - names)}"
        assert names <= rule.must | rule.may, f"{element.tag} has {names - rule.must - rule.may}"
        children = {child.tag for child in element}
        assert children <= rule.children, f"{element.tag} holds {children - rule.children}"
        for name in rule.times & names:
            assert re.fullmatch(_TIME, element.attrib[name]), f"{element.tag}: {name} is {element.attrib[name]!r}"
        stray = "".join([element.text or "", *(child.tail or "" for child in element)])
        assert rule.text or not stray.strip(), f"{element.tag} holds the text {stray.strip()!r}"
    return root
