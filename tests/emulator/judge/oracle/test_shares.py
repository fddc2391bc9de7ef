"""Shares by the definition: every split of the units is tried, and the fairest one must be the oracle's."""

from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.host.policy import proportional as host
from ringhil.emulator.judge.oracle import shares, weight

WEIGHTS = st.lists(st.integers(0, 40), min_size=1, max_size=4)


@given(st.integers(0, 12), WEIGHTS)
def test_no_other_split_is_nearer_to_the_quotas(units: int, weights: list[int]) -> None:
    """The largest remainder gives the least sum of squared differences; of equal ones the first listed get more."""
    found = shares(units, weights)
    if not sum(weights):
        assert found == (0,) * len(weights)
        return
    quotas = [Fraction(units * w, sum(weights)) for w in weights]
    splits = [split for split in product(range(units + 1), repeat=len(weights)) if sum(split) == units]

    def error(split: tuple[int, ...]) -> Fraction:
        return sum(((quota - got) ** 2 for quota, got in zip(quotas, split, strict=True)), Fraction(0))

    best = min(map(error, splits))
    assert found == max(split for split in splits if error(split) == best)


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10**6), min_size=1, max_size=16))
def test_the_cpu_shares_in_the_same_way(units: int, weights: list[int]) -> None:
    names = {str(number): w for number, w in enumerate(weights)}
    assert tuple(host.shares(units, names).values()) == shares(units, weights)


def test_a_slow_gpu_weighs_a_quarter() -> None:
    assert weight([0, 1, 3], [1, 2, 100, 3], frozenset({1, 2})) == 4 * 1 + 2 + 4 * 3
