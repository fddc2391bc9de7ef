"""Figures of several seeds: Student's intervals, beside the tables of books."""

import pytest

from ringhil.emulator.cluster.figures import RUN, SeedMean, student

TABLE = {1: 12.706, 2: 4.303, 5: 2.571, 9: 2.262, 10: 2.228, 15: 2.131, 30: 2.042, 60: 2.000, 120: 1.980}


def test_intervals_are_students() -> None:
    assert {degrees: pytest.approx(student(degrees), abs=0.0006) for degrees in TABLE} == TABLE
    found = SeedMean.of([1.0, 2.0, None, 3.0])
    assert (found.mean, found.half) == (2.0, pytest.approx(4.303 / 3**0.5))


@pytest.mark.parametrize("values", [[5.0], [5.0, 5.0, 5.0], [None, 5.0]])
def test_equal_values_have_no_interval(values: list[float | None]) -> None:
    """Not one of 0: that would say that the next seed gives the same."""
    assert SeedMean.of(values) == SeedMean(5.0, None)
    assert SeedMean.of([None]) == SeedMean(None, None)


def test_figures_are_shown_in_their_unit() -> None:
    energy, wakes = RUN[0], next(figure for figure in RUN if figure.key == "wake_ups")
    assert energy.text(3_600_000) == "1.000 kWh"
    assert energy.text(3_600_000, 360_000) == "1.000 ± 0.100 kWh"
    assert (wakes.text(1234.0), wakes.text(1.25), wakes.text(2.0, 0.5), wakes.text(None)) == (
        "1,234",
        "1.2",
        "2.0 ± 0.5",
        "-",
    )
