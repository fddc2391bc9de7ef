"""Verdicts, colours and quantities look alike wherever they are shown."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from ringhil.emulator.campaign.explore.document import INCOMPLETE
from ringhil.emulator.conformance.report import State as RuleWord
from ringhil.emulator.judge.outcome import NOT_JUDGED, VerdictWord
from ringhil.emulator.pages import units
from ringhil.emulator.pages.verdicts import WORDS, RuleState, marked, ok, tone
from ringhil.emulator.proofs.report import State as ClaimWord

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "emulator" / "view" / "page" / "src"
JUDGED = {*VerdictWord, *RuleState, *get_args(RuleWord), *get_args(ClaimWord), NOT_JUDGED, INCOMPLETE}
STYLE = re.compile(r"[\[\"](?:bold )?(?:black|red|green|yellow|blue|magenta|cyan|white)\b[^=]")
COLOUR = re.compile(r"light-dark\(|rgba?\((?!from)|hsla?\(|[:\s\"'`](#[0-9a-fA-F]{3,8})\b(?=[\s;,\"'`)])")
UNIT = re.compile(r"\} (?:ms|us|ns|[KMGT]iB|kJ)\b")
# Whatever judges says it with these marks; the check of RTL has the same ones.
COLOURED = {"pages/verdicts.py"}


def those_with(pattern: re.Pattern[str], files: Iterable[Path], where: Path) -> set[str]:
    return {str(file.relative_to(where)) for file in files if pattern.search(file.read_text(encoding="utf-8"))}


def test_each_word_of_a_verdict_has_a_tone_and_stands_in_the_glossary() -> None:
    glossary = (ROOT / "docs" / "reference" / "glossary.md").read_text()
    for word in JUDGED:
        assert tone(word) in WORDS
        assert str(word) in glossary
        assert Text.from_markup(marked(word)).plain == word


@pytest.mark.parametrize("found", [True, False, None])
def test_marks_are_told_apart_without_colours(found: bool | None) -> None:
    others = {Text.from_markup(ok(other)).plain for other in (True, False, None) if other is not found}
    assert (plain := Text.from_markup(ok(found)).plain) not in others
    assert len(plain) == 4


def test_nothing_else_has_colours_of_its_own() -> None:
    emulator = ROOT / "emulator"
    assert those_with(STYLE, emulator.rglob("*.py"), emulator) == COLOURED
    pages = [file for kind in ("css", "ts", "tsx") for file in PAGES.glob(f"*.{kind}")]
    templates = [*(emulator / "pages" / "templates").iterdir()]
    assert those_with(COLOUR, [*pages, *templates], ROOT / "emulator") == {"view/page/src/base.css"}


def test_commands_leave_units_to_one_module() -> None:
    front = ROOT / "emulator" / "front"
    assert those_with(UNIT, front.rglob("*.py"), front) == set()


@given(st.floats(-9, 7))
def test_a_time_is_shown_in_the_unit_that_fits_it(power: float) -> None:
    value = 10**power
    sizes = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
    number, unit = units.seconds(value).split()
    shown = float(number.replace(",", ""))
    assert shown * sizes[unit] == pytest.approx(value, rel=6e-4)
    assert 1 <= shown < 1000, "no time is shown as thousands of a unit, or as a part of one"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (units.seconds(0), "0 s"),
        (units.seconds(None), "-"),
        (units.seconds(0.99999), "1 s"),
        (units.milliseconds(0.353), "353 us"),
        (units.milliseconds(7255.67), "7.256 s"),
        (units.memory(3 << 29), "1.500 GiB"),
        (units.memory(1000), "1,000 B"),
        (units.joules(12_345), "12.35 kJ"),
    ],
)
def test_quantities(said: str, text: str) -> None:
    assert said == text
