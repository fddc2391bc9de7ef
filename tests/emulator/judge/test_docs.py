"""docs/explanation/reliability.md and docs/howto/ci.md name each invariant; the first says how many there are."""

import re
from pathlib import Path

import pytest

from ringhil.emulator.judge.invariants import ALL

DOCS = Path(__file__).resolve().parents[3] / "docs"
NUMBERS = {12: "Twelve", 13: "Thirteen", 14: "Fourteen", 15: "Fifteen", 16: "Sixteen", 17: "Seventeen"}


def test_their_number_is_right() -> None:
    page = (DOCS / "explanation" / "reliability.md").read_text()
    said = re.findall(r"^(\w+) invariants hold in every run", page, re.MULTILINE)
    assert said == [NUMBERS[len(ALL)]]


@pytest.mark.parametrize(
    ("page", "head"), [("explanation/reliability.md", "| invariant | holds"), ("howto/ci.md", "| invariant | is")]
)
def test_each_has_its_row(page: str, head: str) -> None:
    table = (DOCS / page).read_text().split(head)[1].split("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(ALL)
