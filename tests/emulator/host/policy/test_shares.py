"""Work is shared in proportion to the counts (R5), by largest remainder."""

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.host.policy.proportional import shares

NAMES = st.text("abcdefgh", min_size=1, max_size=3)
WEIGHTS = st.dictionaries(NAMES, st.integers(0, 1024), min_size=1, max_size=16)
UNITS = st.integers(0, 2**32 - 1)


def test_the_cards_of_the_example() -> None:
    assert shares(1000, {"a": 8, "b": 6}) == {"a": 571, "b": 429}
    assert shares(1001, {"a": 8, "b": 6}) == {"a": 572, "b": 429}


def test_equal_remainders_go_to_whoever_is_named_first() -> None:
    assert shares(5, {"b": 1, "a": 1}) == {"b": 3, "a": 2}
    assert shares(2, {"c": 1, "a": 1, "b": 1}) == {"c": 1, "a": 1, "b": 0}


def test_without_any_gpu_nobody_gets_anything() -> None:
    assert shares(10, {"a": 0, "b": 0}) == {"a": 0, "b": 0}
    assert shares(10, {}) == {}


@given(UNITS, WEIGHTS)
def test_all_units_are_given_out_and_no_more(units: int, weights: dict[str, int]) -> None:
    given_out = shares(units, weights)
    assert list(given_out) == list(weights)
    assert sum(given_out.values()) == (units if any(weights.values()) else 0)
    assert all(n >= 0 for n in given_out.values())


@given(UNITS, WEIGHTS)
def test_nobody_is_a_whole_unit_off_the_exact_share(units: int, weights: dict[str, int]) -> None:
    total = sum(weights.values())
    for name, share in shares(units, weights).items():
        exact = Fraction(units * weights[name], total) if total else Fraction(0)
        assert abs(share - exact) < 1


@given(UNITS, WEIGHTS)
def test_who_counts_more_never_gets_less(units: int, weights: dict[str, int]) -> None:
    """R5: positive correlation."""
    result = shares(units, weights)
    by_weight = sorted(weights, key=lambda name: weights[name])
    for less, more in pairwise(by_weight):
        if weights[less] < weights[more]:
            assert result[less] <= result[more]


@given(UNITS, WEIGHTS)
def test_a_card_without_gpus_gets_nothing(units: int, weights: dict[str, int]) -> None:
    assert all(n == 0 for name, n in shares(units, weights).items() if weights[name] == 0)


@given(UNITS, WEIGHTS, st.data())
def test_a_card_that_loses_gpus_never_gains_work(units: int, weights: dict[str, int], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(weights)))
    fewer = weights | {name: data.draw(st.integers(0, weights[name]))}
    assert shares(units, fewer)[name] <= shares(units, weights)[name]
