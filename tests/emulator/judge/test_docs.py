"""docs/reliability.md and docs/ci.md tell of the invariants that there are: their number, and each of them."""

import re
from pathlib import Path

import pytest

from ringhil.emulator.judge.invariants import ALL

DOCS = Path(__file__).resolve().parents[3] / "docs"
NUMBERS = {12: "Twelve", 13: "Thirteen", 14: "Fourteen", 15: "Fifteen", 16: "Sixteen", 17: "Seventeen"}


def test_their_number_is_right() -> None:
    said = re.findall(r"^(\w+) invariants hold in every run", (DOCS / "reliability.md").read_text(), re.MULTILINE)
    assert said == [NUMBERS[len(ALL)]]


@pytest.mark.parametrize(("page", "head"), [("reliability.md", "| invariant | holds"), ("ci.md", "| invariant | is")])
def test_each_has_its_row(page: str, head: str) -> None:
    table = (DOCS / page).read_text().split(head)[1].split("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(ALL)
