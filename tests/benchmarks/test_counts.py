"""No case of a campaign has become dearer unseen: counts of this commit beside the table's last row, and row by row."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from benchmarks import counts
from benchmarks.counts import NOT_MEASURED, Row

SOME = Row("1", "3.11", "1000", "30.0", "2000", "9000", "8000")


def test_a_case_costs_what_the_last_row_of_the_table_says() -> None:
    now, table = counts.counted(), counts.rows()
    assert not counts.grown(table[-1], now), "python -m benchmarks.counts --append [--why TEXT] where it is meant"
    for before, after in pairwise(table):
        assert not counts.grown(before, after)


def test_growth_is_seen_where_it_can_be_compared() -> None:
    allowed = int(2000 * (1 + counts.SHARE))
    assert not counts.grown(SOME, replace(SOME, calls=str(allowed)))
    (text,) = counts.grown(SOME, replace(SOME, commit="2", calls=str(allowed + 1)))
    assert text == f"calls: {allowed + 1:,} a case at 2, 2,000 at 1"
    for other in (
        replace(SOME, calls="9999", why="contexts"),
        replace(SOME, calls="9999", python="3.12"),
        replace(SOME, rest=NOT_MEASURED),
    ):
        assert not counts.grown(SOME, other)


def test_a_commit_has_one_row(tmp_path: Path) -> None:
    table = tmp_path / "counts.csv"
    for row in (SOME, replace(SOME, commit="2"), replace(SOME, commit="2", calls="1999")):
        counts.append(row, table)
    assert counts.rows(table) == [SOME, replace(SOME, commit="2", calls="1999")]


@pytest.mark.slow(part="benches")
def test_instructions_are_counted_and_noted() -> None:
    last, row = counts.rows()[-1], counts.measured()
    counts.append(row)
    assert not counts.grown(last, row)
