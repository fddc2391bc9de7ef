"""docs/explanation/reliability.md names each invariant, and says how many there are."""

import re
from pathlib import Path

from ringhil.emulator.judge.invariants import ALL

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explanation" / "reliability.md"
NUMBERS = {12: "Twelve", 13: "Thirteen", 14: "Fourteen", 15: "Fifteen", 16: "Sixteen", 17: "Seventeen", 18: "Eighteen"}


def test_their_number_is_right() -> None:
    said = re.findall(r"^(\w+) invariants hold in every run", PAGE.read_text(), re.MULTILINE)
    assert said == [NUMBERS[len(ALL)]]


def test_each_has_its_row() -> None:
    table = PAGE.read_text().split("| invariant | is")[1].split("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(ALL)
