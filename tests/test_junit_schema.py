"""The rules of junit_schema refuse what the schema refuses."""

import pytest

from .junit_schema import assert_valid

GOOD = """\
<testsuites name="a" tests="1" failures="1" errors="0" time="1,234.5"><testsuite name="a" tests="1" failures="1"
errors="0" skipped="0" time="0.123" file="a"><properties><property name="a" value="b"/></properties><testcase name="a"
classname="b" time="0.123"><failure type="a" message="b">text</failure><system-out>said</system-out></testcase>
</testsuite></testsuites>"""


def test_what_it_takes() -> None:
    assert assert_valid(GOOD).attrib["name"] == "a"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('time="0.123" file', 'time="0.1234" file', "time is '0.1234'"),
        ('time="0.123" file', 'time="1e-05" file', "time is '1e-05'"),
        ('errors="0" time', 'errors="0" skipped="0" time', "testsuites has {'skipped'}"),
        ('errors="0" skipped', "skipped", "testsuite lacks {'errors'}"),
        ('classname="b"', 'classname="b" line="3"', "testcase has {'line'}"),
        ("<system-out>", "<properties/><system-out>", "testcase holds {'properties'}"),
        ("</testcase>", "text</testcase>", "testcase holds the text 'text'"),
        ('name="a" value="b"', 'name="a"', "property lacks {'value'}"),
    ],
)
def test_what_it_refuses(old: str, new: str, words: str) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(AssertionError, match=words.replace("{", r"\{")):
        assert_valid(GOOD.replace(old, new))
