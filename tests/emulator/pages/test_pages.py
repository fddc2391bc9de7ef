"""Whatever a name is, it stays a text in HTML and in Markdown; a template that lacks a value says so."""

import re
from pathlib import Path

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.pages.page import assert_stands_alone

from ringhil.emulator.campaign.verify import Failure, Verdict, VerifyReport
from ringhil.emulator.campaign.verify.annotations import summary
from ringhil.emulator.coverage import report as coverage
from ringhil.emulator.coverage.hdl import Hdl, Line, SignalToggles, SourceFile
from ringhil.emulator.coverage.result import CoverageReport
from ringhil.emulator.coverage.waivers import Waiver
from ringhil.emulator.pages import TEMPLATES, breakable, cell, code, render

HOSTILE = "</td></pre></style>\"'><script>alert(1)</script>`|`<img src=x onerror=alert(1)>"


def hostile_coverage() -> CoverageReport:
    source = SourceFile(HOSTILE, (Line(1, HOSTILE, 1, 0, 0, 0),), (SignalToggles(1, HOSTILE, 2, 0, 0),))
    return CoverageReport(Hdl((source,), (HOSTILE,), (HOSTILE,), ((Waiver(1, HOSTILE, HOSTILE, HOSTILE), 1),)), None)


def test_hostile_names_are_texts_on_a_page_of_coverage() -> None:
    text = coverage.text(hostile_coverage(), ".html")
    page = assert_stands_alone(text)
    assert page.words.count(HOSTILE) == 9  # tables 2, lists 2, summary, line, signal, waiver 3


def test_hostile_names_are_code_or_escaped_in_markdown() -> None:
    verdict = Verdict(
        Path("s.yaml"), 0, HOSTILE, (), HOSTILE, "fail", 1, 1, 0.0, (Failure("expectation", HOSTILE),), HOSTILE
    )
    rows = summary(VerifyReport((verdict,), "r", "1", 1.0)).splitlines()
    (row,) = (row for row in rows if "script" in row)
    cells = row.replace("\\|", "").split(" | ")
    assert len(cells) == 4
    assert all("<" not in words for words in cells[:3])
    assert cells[3].startswith("``")  # a fence that the name's own marks don't end


def test_no_template_switches_escaping_off() -> None:
    templates = sorted(TEMPLATES.glob("*.j2"))
    assert len(templates) > 5
    for template in templates:
        text = template.read_text(encoding="utf-8")
        assert "autoescape" not in text
        assert not re.search(r"\|\s*safe", text)


@given(st.text())
def test_a_cell_is_one_line_without_markup(text: str) -> None:
    for words in (cell(text), code(text)):
        assert len(words.splitlines()) <= 1
        assert "|" not in words.replace("\\|", "")
    assert "<" not in cell(text)
    assert "<" not in breakable(text).replace("<wbr>", "")


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="'report' is undefined"):
        render("verify.md.j2")
