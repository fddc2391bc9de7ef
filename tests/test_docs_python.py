"""docs/reference/python.md: its examples run, pages import what it names and no more, and no name vanishes."""

import doctest
import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

from . import public

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "python.md"


def test_the_examples_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = doctest.testfile(str(PAGE), module_relative=False)
    assert done.failed == 0
    assert done.attempted > 40


def test_each_public_name_stands_in_one_table() -> None:
    shown = Counter((each.package, each.name) for title in public.GROUPS for each in public.group(title))
    assert shown == Counter((each.package, each.name) for name in public.PACKAGES for each in public.names(name))


def test_a_package_names_in_all_what_its_stub_does() -> None:
    for package in public.PACKAGES:
        assert sorted(importlib.import_module(package).__all__) == sorted(e.name for e in public.names(package))


def test_no_public_name_and_no_parameter_vanishes() -> None:
    listed, found = public.LIST.read_text().splitlines(), public.lines()
    assert public.broken(listed, found) == [], "public: keep them, deprecated (docs/reference/python.md#what-is-stable)"
    assert listed == found, "new: run `make generate`"


@pytest.mark.parametrize(
    ("old", "new", "serves"),
    [
        ("f(a, b=)", "f(a, b=, c=)", True),
        ("f(a, *, b)", "f(a, c=, *, b=)", True),
        ("f(a, *, b=)", "f(a, b=)", True),
        ("f(a)", "f(a=, *rest, **named)", True),
        ("f", "f(a)", True),
        ("f(a, b=)", "f(a)", False),
        ("f(a, b=)", "f(a, b)", False),
        ("f(a, b)", "f(b, a)", False),
        ("f(a)", "f(x)", False),
        ("f(a)", "f(a, b)", False),
        ("f(a)", "f(*, a)", False),
        ("f(*, a=)", "f(*, b=)", False),
        ("f(*, a)", "f(*, a, b)", False),
        ("f(a)", "f", False),
        ("f(a)", "g(a)", False),
    ],
)
def test_a_call_that_was_allowed_is_allowed(old: str, new: str, serves: bool) -> None:
    assert public.broken([old], [new]) == ([] if serves else [old])


def test_pages_and_examples_import_public_names_alone() -> None:
    blocks = [
        (page.name, block)
        for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    ]
    blocks += [(file.name, file.read_text()) for file in ROOT.glob("examples/firmware/*.py")]
    imported = re.compile(r"^ *from (ringhil[\w.]*) import (?:\(([^)]+)\)|(.+))$", re.MULTILINE)
    used = {
        (place, package, name)
        for place, block in blocks
        for package, several, one in imported.findall(block)
        for name in re.findall(r"\w+", several or one)
    }
    known = {(each.package, each.name) for package in public.PACKAGES for each in public.names(package)}
    assert len(used) > 50
    assert {each for each in used if each[1:] not in known} == set()
