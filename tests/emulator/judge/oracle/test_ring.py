"""The reference model against a walk with a torch: who can be reached from the entry GPU, step by step."""

from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.judge.oracle import RingTruth, View

RINGS = st.integers(2, 12).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.frozensets(st.integers(0, size - 1)),
        st.frozensets(st.integers(0, size - 1)),
        st.integers(0, size - 1),
    )
)


def reached(size: int, cuts: frozenset[int], entry: int) -> set[int]:
    """Everybody joined to the entry GPU by whole links, by spreading until nothing is new."""
    joined = {entry}
    while True:
        onwards = {(gpu + 1) % size for gpu in joined if gpu not in cuts}
        back = {(gpu - 1) % size for gpu in joined if (gpu - 1) % size not in cuts}
        if onwards | back <= joined:
            return joined
        joined |= onwards | back


@given(RINGS)
def test_the_members_are_the_working_ones_that_are_reached(
    ring: tuple[int, frozenset[int], frozenset[int], int],
) -> None:
    size, failed, cuts, entry = ring
    view = RingTruth(size, failed, cuts).seen_from(entry)
    wanted = set() if entry in failed else reached(size, cuts, entry) - failed
    assert view.members == wanted
    assert view.count == len(wanted)


@given(RINGS)
def test_the_cuts_that_are_seen_are_next_to_somebody_reached(
    ring: tuple[int, frozenset[int], frozenset[int], int],
) -> None:
    size, failed, cuts, entry = ring
    view = RingTruth(size, failed, cuts).seen_from(entry)
    if entry in failed:
        assert view.cuts == frozenset()
        return
    there = reached(size, cuts, entry)
    assert view.cuts == {link for link in cuts if link in there or (link + 1) % size in there}
    assert len(view.cuts) <= 2


def test_one_cut_hides_nobody() -> None:
    assert RingTruth(4, cuts=frozenset({1})).seen_from(0) == View(frozenset(range(4)), frozenset({1}))


def test_two_cuts_hide_what_is_between_them() -> None:
    assert RingTruth(6, cuts=frozenset({1, 3})).seen_from(0) == View(frozenset({0, 1, 4, 5}), frozenset({1, 3}))


def test_the_two_links_of_a_ring_of_two_are_told_apart() -> None:
    assert RingTruth(2, cuts=frozenset({0})).seen_from(0).members == {0, 1}
    assert RingTruth(2, cuts=frozenset({0, 1})).seen_from(0).members == {0}
