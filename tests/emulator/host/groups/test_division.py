"""What a group may have is divided evenly, as far as each may and must have it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.host.groups.group import MemoryClaim, divided


@pytest.mark.parametrize(
    ("budget", "claims", "shares"),
    [
        (90, [(0, None), (0, None), (0, None)], [30, 30, 30]),
        (100, [(0, None), (0, None), (0, None)], [34, 33, 33]),
        (90, [(0, 10), (0, None), (0, None)], [10, 40, 40]),
        (90, [(70, None), (0, None), (0, None)], [70, 10, 10]),
        (90, [(70, 20), (30, None), (0, None)], [70, 30, 0]),
        (90, [(0, 10), (0, 20)], [10, 20]),
        (0, [(0, None)], [0]),
        (5, [], []),
    ],
)
def test_shares_are_even(budget: int, claims: list[tuple[int, int | None]], shares: list[int]) -> None:
    assert divided(budget, [MemoryClaim(*claim) for claim in claims]) == shares


@given(
    st.integers(0, 1000),
    st.lists(st.builds(MemoryClaim, st.integers(0, 300), st.none() | st.integers(0, 300)), min_size=1, max_size=6),
)
def test_nothing_is_wasted_and_nothing_given_twice(budget: int, claims: list[MemoryClaim]) -> None:
    shares = divided(budget, claims)
    held = sum(claim.held for claim in claims)
    assert sum(shares) <= max(budget, held)
    for share, claim in zip(shares, claims, strict=True):
        assert share >= claim.held
        assert claim.most is None or share <= max(claim.most, claim.held)
    wanting = [n for n, claim in enumerate(claims) if claim.most is None or shares[n] < claim.most]
    if wanting and sum(shares) != budget:
        assert held > budget
    free = [shares[n] for n, claim in enumerate(claims) if shares[n] > claim.held and n in wanting]
    assert not free or max(free) - min(free) <= 1
