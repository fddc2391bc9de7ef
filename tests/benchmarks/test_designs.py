"""The design mistakes still fit our RTL, and each stands in the table of its set; one is played."""

from pathlib import Path

import pytest
from benchmarks.designs.__main__ import BARE, HERE, SETS, patched, played

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.engine.library import RTL

PATCHES = [patch for name in SETS for patch in sorted((HERE / name).glob("*.patch"))]


def test_there_are_thirty_a_set_and_a_row_for_each() -> None:
    for name in SETS:
        rows = (HERE / name / "README.md").read_text().splitlines()
        numbered = [row.split("|")[1].strip() for row in rows if row.startswith("| ") and row[2:4].isdigit()]
        assert (
            numbered
            == [f"{number:02}" for number in range(1, 31)]
            == [p.stem for p in PATCHES if p.parent.name == name]
        )


@pytest.mark.rest
def test_each_changes_our_rtl_as_it_is(tmp_path: Path) -> None:
    for patch in PATCHES:
        rtl = patched(patch, tmp_path / patch.parent.name / patch.stem)
        assert any((rtl / file.name).read_text() != BARE + file.read_text() for file in RTL.glob("*.sv"))


def test_one_that_does_not_fit_is_named(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.patch"
    wrong.write_text(PATCHES[0].read_text().replace("rtl/", "other/"))
    with pytest.raises(BuildError, match=r"wrong\.patch: "):
        patched(wrong, tmp_path / "there")


@pytest.mark.slow(part="mutants")
def test_one_is_found_by_the_rules_that_it_breaks() -> None:
    found = played(HERE / "first" / "21.patch")
    assert "data.held" in found.broken
