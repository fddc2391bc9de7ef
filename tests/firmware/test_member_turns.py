"""Whose turn it is: what a member leaves to others, and for how long."""

from dataclasses import replace

import pytest

from ringhil.firmware.election import CANDIDATE, FOLLOWER, GRANT, GRANTING, HOLDER, RELEASE, RELUCTANT, UPLINK
from ringhil.firmware.observations import Deposed
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.wire import Port, Role

from .member_bench import CONFIG, DETECTION, INTERVAL, LEASE, SKEW, Bench
from .timed import only, told

WAIT = CONFIG.wait_to_restore


def lose_lease(bench: Bench, held_for: int = LEASE) -> int:
    """Claim, be granted, and lose the lease as nothing is answered any more; returns the cycle of the loss."""
    count = len(bench.claims())
    while len(bench.claims()) == count:
        bench.wait(1)
        if bench.now % 50 == 0:
            bench.answer(epoch=bench.member.epoch)
    bench.elect()
    began = bench.now
    while bench.now - began < held_for - LEASE:
        bench.wait(INTERVAL)
        bench.answer(holder=0, epoch=bench.member.held_epoch or 0, state=GRANTING)
    while not (lost := only(bench.wait(1), Deposed)):
        pass
    assert lost == [Deposed(Role.ENTRY, bench.member.epoch, LeaseEnd.LEASE)]
    return bench.now


def waits_after(bench: Bench) -> int:
    """Cycles from now to its next claim, with an uplink that answers and nobody beside it in the ring."""
    begin, count = bench.now, len(bench.claims())
    while len(bench.claims()) == count:
        bench.wait(1)
        if bench.now % 50 == 0:
            bench.answer(epoch=bench.member.epoch)
    return bench.now - begin


def test_each_lease_lost_soon_doubles_the_wait_up_to_64_times() -> None:
    bench = Bench()
    found = []
    for _ in range(9):
        lost = lose_lease(bench)
        found.append(bench.member._hold_off_until - lost)
    assert found == [WAIT << n for n in (0, 1, 2, 3, 4, 5, 6, 6, 6)]


@pytest.mark.parametrize(("short", "times"), [(1, 2), (0, 1)])
def test_a_lease_held_for_eight_times_the_wait_begins_anew(short: int, times: int) -> None:
    bench = Bench()
    lose_lease(bench)
    bench.member._hold_off_until = 0
    count = len(bench.claims())
    while len(bench.claims()) == count:
        bench.wait(1)
        bench.answer(epoch=bench.member.epoch)
    bench.elect()
    bench.member._held_since = bench.now
    while bench.now + LEASE < bench.member._held_since + 8 * WAIT:
        bench.wait(INTERVAL)
        bench.answer(holder=0, epoch=bench.member.held_epoch or 0, state=GRANTING)
    bench.member.lease_until = bench.member._held_since + 8 * WAIT - short
    while not only(bench.wait(1), Deposed):
        pass
    assert bench.member._hold_off_until - bench.now == WAIT * times


def test_alone_in_the_ring_it_waits_a_turn_after_a_lost_lease() -> None:
    bench = Bench()
    lose_lease(bench)
    assert CONFIG.turn <= waits_after(bench) <= CONFIG.turn + INTERVAL


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("uplink", [0, UPLINK])
def test_after_a_lost_lease_it_waits_for_those_that_it_hears_and_that_can(uplink: int, silent: bool) -> None:
    """Whoever can't, or isn't there any more, isn't left the time that it would need."""
    bench = Bench()
    if silent:
        bench.peer(1, FOLLOWER | uplink)
    lost = lose_lease(bench)
    assert not bench.member.peers[1].liveness.fresh(lost)
    if not silent:
        bench.peer(1, FOLLOWER | uplink)
    assert bench.member._patience(bench.now) == (DETECTION if uplink and not silent else CONFIG.turn)


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("reluctant", [0, RELUCTANT])
@pytest.mark.parametrize("uplink", [0, UPLINK])
def test_a_role_goes_only_to_who_is_there_can_and_wants(uplink: int, reluctant: int, silent: bool) -> None:
    """Others would leave it to nobody."""
    bench = Bench()
    bench.answer()
    bench.wait(INTERVAL)
    epoch = bench.elect()
    bench.peer(1, FOLLOWER | uplink | reluctant)
    while silent and bench.member.peers[1].liveness.up:
        bench.wait(INTERVAL)
        bench.answer(holder=0, epoch=epoch, state=GRANTING)
    handed_over = Deposed(Role.ENTRY, epoch, LeaseEnd.HANDOVER) in bench.member.set_reluctant(True, bench.now)
    assert handed_over == bool(uplink and not reluctant and not silent)


@pytest.mark.parametrize(
    ("rank", "other", "state", "waits"),
    [
        (1, 0, CANDIDATE | UPLINK, True),  # a better one that can
        (1, 0, CANDIDATE, False),  # a better one that can't
        (1, 0, FOLLOWER | UPLINK, False),  # a better one that doesn't want to
        (1, 2, CANDIDATE | UPLINK, False),  # a worse one
    ],
)
def test_a_better_candidate_with_an_uplink_goes_first(rank: int, other: int, state: int, waits: bool) -> None:
    bench = Bench(rank=rank, role=Role.BOUNDARY, uplink=Port.BOUNDARY)
    for _ in range(2 * DETECTION):
        if bench.now % 50 == 0:
            bench.peer(other, state)
            bench.answer()
        bench.wait(1)
    assert bool(bench.claims()) is not waits


def test_it_claims_one_skew_after_it_has_said_that_it_is_a_candidate() -> None:
    """Also when there is much to look at meanwhile."""
    bench = Bench(role=Role.BOUNDARY, uplink=Port.BOUNDARY)
    said = 0
    while not bench.claims():
        actions = bench.wait(1)
        if not said and any(k.state & 0xF == CANDIDATE for k in told(actions, Keepalive)):
            said = bench.now
        if bench.now % 7 == 0:
            bench.peer(2, FOLLOWER)
    assert said
    assert bench.now - said == SKEW


def test_a_holder_that_says_it_holds_nothing_is_believed_before_the_grantor() -> None:
    """The grantor named it in an answer that is older."""
    for epoch, believed in ((2, True), (1, False)):
        bench = Bench(rank=1, boots=2)
        for _ in range(3 * DETECTION // INTERVAL):
            bench.answer(holder=0, epoch=2, state=GRANTING)
            bench.peer(0, HOLDER | UPLINK, 2)
            bench.wait(INTERVAL)
        assert not bench.claims()
        bench.answer(holder=0, epoch=2, state=GRANTING)
        bench.peer(0, FOLLOWER, epoch)
        assert (bench.member._told_holder is None) is believed


def test_an_answer_to_a_claim_of_before_the_last_boot_tells_nothing() -> None:
    bench = Bench(boots=3)
    bench.wait(INTERVAL)
    (claim,) = bench.claims()
    old = replace(claim, operation=GRANT, sequence=claim.sequence - (1 << 16), epoch=9)
    bench.step(bench.member.on_election(old, Port.CPU, bench.now))
    assert bench.member.epoch == 0


def test_a_grant_is_taken_for_as_many_claims_as_keepalives_may_be_lost_and_one_more() -> None:
    for age in range(8):
        bench = Bench(lease=10_000)
        while len(bench.claims()) < 8:
            bench.answer()
            bench.wait(INTERVAL)
        claim = bench.claims()[-1 - age]
        bench.step(bench.member.on_election(replace(claim, operation=GRANT, epoch=claim.epoch), Port.CPU, bench.now))
        assert (bench.member.held_epoch is not None) == (age <= CONFIG.multiplier)


def test_a_lease_of_an_epoch_that_it_holds_or_has_claimed_is_not_given_back() -> None:
    bench = Bench()
    bench.answer(holder=0, epoch=bench.claims()[-1].epoch, state=GRANTING)  # granted; the grant is on its way
    assert not [e for e in told(bench.actions, Election) if e.operation == RELEASE]
    bench.elect()
    bench.wait(INTERVAL)
    bench.answer(holder=0, epoch=8, state=GRANTING)
    assert not [e for e in told(bench.actions, Election) if e.operation == RELEASE]


def test_without_guard_skew_and_wait_a_group_is_a_group() -> None:
    for name in ("slack", "skew", "guard", "wait_to_restore"):
        assert getattr(replace(CONFIG, **{name: 0}), name) == 0


def test_the_only_member_of_a_boundary_group_waits_for_nobody() -> None:
    bench = Bench(role=Role.BOUNDARY, members=(4,), uplink=Port.BOUNDARY)
    assert len(bench.claims()) == 1
