"""When a peer counts as down, and when it is taken back."""

from hypothesis import given
from hypothesis import strategies as st

from ringhil.firmware.liveness import FORGIVEN_AFTER, MOST_DOUBLINGS, Liveness, Went

DETECTION, WAIT, STEP = 100, 200, 50


def heard_for(peer: Liveness, now: int, duration: int) -> int:
    """Hear it every STEP; returns the time of the last message."""
    for at in range(now, now + duration + 1, STEP):
        peer.heard(at)
    return at


def taken_back_after(peer: Liveness, now: int) -> int:
    """Silence until it is down, then messages until it is up: how long did they have to come for?"""
    assert peer.check(now + DETECTION + 1) is Went.DOWN
    begin = now + DETECTION + STEP
    at = begin
    while peer.heard(at) is not Went.UP:
        at += STEP
    return at - begin


def test_the_numbers_are_those_of_the_docs() -> None:
    """docs/explanation/elections.md: eight times the wait, and 64 times at most."""
    assert (FORGIVEN_AFTER, 1 << MOST_DOUBLINGS) == (8, 64)


def test_first_contact_counts_at_once() -> None:
    peer = Liveness(DETECTION, WAIT)
    assert not peer.up
    assert peer.check(1000) is None
    assert peer.heard(1000) is Went.UP
    assert peer.up


def test_down_only_when_silent_for_longer_than_the_detection_time() -> None:
    peer = Liveness(DETECTION, WAIT)
    peer.heard(0)
    assert peer.check(DETECTION) is None
    assert peer.deadline == DETECTION + 1
    assert peer.check(DETECTION + 1) is Went.DOWN
    assert peer.check(DETECTION + 2) is None  # told once


def test_a_loss_that_nobody_looked_for_is_noticed_by_the_next_message() -> None:
    peer = Liveness(DETECTION, WAIT)
    peer.heard(0)
    assert peer.heard(DETECTION + 1) is Went.DOWN
    assert not peer.up


def test_a_gap_while_it_is_being_taken_back_starts_the_wait_anew() -> None:
    peer = Liveness(DETECTION, WAIT)
    peer.heard(0)
    peer.check(DETECTION + 1)
    last = heard_for(peer, 200, WAIT - STEP)
    assert not peer.up
    begin = last + DETECTION + 1
    assert heard_for(peer, begin, WAIT - STEP) < begin + WAIT
    assert not peer.up
    assert peer.heard(begin + WAIT) is Went.UP


def test_the_wait_doubles_with_every_flap_up_to_a_limit() -> None:
    peer = Liveness(DETECTION, WAIT)
    peer.heard(0)
    now, waits = 0, []
    for _ in range(MOST_DOUBLINGS + 3):
        waits.append(taken_back_after(peer, now))
        now = peer.up_at
    assert waits == [WAIT << min(flap, MOST_DOUBLINGS) for flap in range(MOST_DOUBLINGS + 3)]


def test_long_good_behaviour_is_rewarded() -> None:
    peer = Liveness(DETECTION, WAIT)
    peer.heard(0)
    assert [taken_back_after(peer, 0), taken_back_after(peer, peer.up_at)] == [WAIT, 2 * WAIT]
    now = heard_for(peer, peer.up_at, FORGIVEN_AFTER * 2 * WAIT)
    assert taken_back_after(peer, now) == WAIT


def test_the_silence_before_it_is_lost_is_no_good_behaviour() -> None:
    peer = Liveness(DETECTION, WAIT)
    peer.heard(0)
    taken_back_after(peer, 0)
    now = heard_for(peer, peer.up_at, FORGIVEN_AFTER * WAIT - STEP)  # a step short of it when last heard
    assert taken_back_after(peer, now) == 2 * WAIT


@given(st.lists(st.integers(1, 3 * DETECTION), max_size=60))
def test_up_means_heard_lately_and_down_never_returns_early(gaps: list[int]) -> None:
    peer = Liveness(DETECTION, WAIT)
    peer.heard(0)
    now = unbroken = 0
    for gap in gaps:
        was_up = peer.up and gap <= DETECTION
        unbroken = unbroken if gap <= DETECTION else now + gap
        now += gap
        peer.heard(now)
        assert peer.fresh(now)
        assert peer.up == (was_up or now - unbroken >= peer.wait)
        assert peer.wait <= WAIT << MOST_DOUBLINGS


def test_one_that_was_lost_unnoticed_is_down_first_also_where_nothing_is_waited_for() -> None:
    peer = Liveness(DETECTION, 0)
    peer.heard(0)
    assert peer.heard(DETECTION + 1) is Went.DOWN
    assert not peer.up
    assert peer.heard(DETECTION + 2) is Went.UP
