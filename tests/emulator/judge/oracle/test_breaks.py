"""Where a break is reported, against two messages that are walked round the ring GPU by GPU."""

from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.judge.oracle import Break, RingTruth, located

RINGS = st.integers(2, 10).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.frozensets(st.integers(0, size - 1)),
        st.frozensets(st.integers(0, size - 1)),
        st.frozensets(st.integers(0, size - 1), max_size=2),
        st.integers(0, size - 1),
    )
)
Ring = tuple[int, frozenset[int], frozenset[int], frozenset[int], int]


def walk(ring: Ring, step: int) -> tuple[bool, int, set[int]]:
    """A message that leaves the entry GPU: whether it comes all the way round, the last working GPU that it meets on
    its way out, and all that it meets."""
    size, failed, cuts, blocked, entry = ring
    position, last, met = entry, entry, {entry}
    for _ in range(size):
        link, ahead = (position, position + 1) if step == 1 else (position - 1, position - 1)
        if link % size in cuts or ahead % size in blocked:
            return False, last, met
        position = ahead % size
        if position == entry:
            return True, last, met
        if position not in failed:
            last = position
            met.add(position)
    raise AssertionError("longer than the ring")


@given(RINGS)
def test_the_break_is_between_the_last_gpus_met(ring: Ring) -> None:
    size, failed, cuts, blocked, entry = ring
    found = located(RingTruth(size, failed, cuts, blocked).seen_from(entry), entry, size)
    if entry in failed | blocked:
        assert found is None
        return
    (round_, after, first), (back, before, second) = walk(ring, 1), walk(ring, -1)
    assert round_ == back
    if round_:
        assert found is None
        return
    between, gpu = set(), (after + 1) % size
    while gpu != before:
        between.add(gpu)
        gpu = (gpu + 1) % size
    assert found == Break(after, before, frozenset(between))
    assert not found.stranded & (first | second)


def test_a_blocked_gpu_is_what_is_between() -> None:
    assert located(RingTruth(6, blocked=frozenset({2})).seen_from(0), 0, 6) == Break(1, 3, frozenset({2}))


def test_alone_between_two_cuts() -> None:
    truth = RingTruth(4, cuts=frozenset({0, 3}))
    assert located(truth.seen_from(0), 0, 4) == Break(0, 0, frozenset({1, 2, 3}))
