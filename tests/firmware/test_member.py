"""A member of an election, fed by hand: claims, leases, and when it steps down."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.firmware.actions import Action
from ringhil.firmware.commands import Tell
from ringhil.firmware.election import (
    CLAIM,
    FOLLOWER,
    GRANT,
    GRANTING,
    HOLDER,
    NO_HOLDER,
    REFUSE,
    RELEASE,
    RELUCTANT,
    UPLINK,
)
from ringhil.firmware.observations import Deposed, Elected, PeerDown, PeerUp
from ringhil.protocol import wire
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.wire import Port, Role

from .member_bench import CONFIG, DETECTION, GUARD, INTERVAL, LEASE, SKEW, SLACK, Bench
from .timed import only, told

# ------------------------------------------------------------------------------------------------ configuration


@pytest.mark.parametrize(
    "changes",
    [
        {"rank": 1},
        {"rank": -3},
        {"rank": 3},
        {"members": (4, 4)},
        {"jitter": INTERVAL},
        {"slack": INTERVAL},
        {"slack": 0, "lease": LEASE - SLACK - 1},
        {"lease": LEASE - 1},
        {"guard": -1},
        {"members": tuple(range(4, 69)), "ring_size": 100},
    ],
)
def test_a_configuration_that_cannot_work_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        replace(CONFIG, **changes)


def test_jitter_may_be_a_quarter_of_the_interval() -> None:
    assert replace(CONFIG, multiplier=1, jitter=INTERVAL // 4).jitter == INTERVAL // 4
    with pytest.raises(ValueError, match="jitter must be 0 to a quarter of the interval: 26"):
        replace(CONFIG, multiplier=1, jitter=INTERVAL // 4 + 1)


def test_a_group_may_have_sixty_four_members() -> None:
    assert len(replace(CONFIG, members=tuple(range(4, 68)), ring_size=100).members) == 64


@given(st.integers(1, 8), st.integers(1, 500), st.integers(0, 125), st.integers(0, 500))
def test_detection_notices_all_losses_and_stands_all_but_one(m: int, interval: int, jitter: int, slack: int) -> None:
    times: dict[str, Any] = {"multiplier": m, "interval": interval, "jitter": jitter, "slack": slack, "lease": 10**6}
    try:
        config = replace(CONFIG, **times)
    except ValueError:
        return
    steps = [config.next_tick(sequence) for sequence in range(20)]
    assert all(interval - jitter <= step <= interval for step in steps)
    for first in range(20 - m - 1):
        assert sum(steps[first : first + m]) <= config.detection - slack
        assert sum(steps[first : first + m + 1]) > config.detection


@given(st.integers(1, 64), st.integers(0, 1000))
def test_epochs_of_different_members_never_coincide(count: int, highest: int) -> None:
    members = tuple(range(count))
    epochs = [replace(CONFIG, members=members, me=rank, rank=rank).next_epoch(highest) for rank in members]
    assert sorted(epochs) == list(range(highest + 1, highest + count + 1))
    assert all((epoch - 1) % count == rank for rank, epoch in enumerate(epochs))


@given(st.integers(1, 64), st.integers(0, 200))
def test_epochs_have_32_bits_whatever_was_heard_of(count: int, below: int) -> None:
    highest, members = 2**32 - 1 - below, tuple(range(count))
    for rank in members:
        epoch = replace(CONFIG, members=members, me=rank, rank=rank).next_epoch(highest)
        assert 0 <= epoch < 2**32
        assert epoch > highest or epoch < count


# ------------------------------------------------------------------------------------------------ keepalives


@pytest.mark.parametrize("boots", [1, 0x7FFF, 0x8000, 0x9000, 0xFFFF])
def test_the_first_keepalive_of_a_peer_is_news_however_often_it_has_booted(boots: int) -> None:
    bench = Bench(rank=1)
    assert PeerUp(Role.ENTRY, 4) in bench.peer(0, HOLDER | UPLINK, 1, boots=boots)


def test_each_tick_tells_everybody_by_both_ways_and_the_grantor() -> None:
    bench = Bench()
    out = [a for a in bench.actions if isinstance(a, Tell) and isinstance(a.message, Keepalive)]
    assert [(a.port, a.message.destination, a.message.flags) for a in out] == [
        ("cw", 7, 0),
        ("ccw", 7, wire.Flag.CCW),
        ("cw", 9, 0),
        ("ccw", 9, wire.Flag.CCW),
        ("cpu", 4, wire.Flag.TO_HOST),
    ]
    message = out[0].message
    assert isinstance(message, Keepalive)
    assert (message.my_discriminator, message.ttl, message.sequence, message.members) == (4 << 16 | 1, 11, 1, 1)
    later = told(bench.wait(INTERVAL), Keepalive, "cpu")
    assert [m.sequence for m in later] == [2]
    assert {a.message.echo for a in out if isinstance(a.message, Keepalive)} == {0}  # it answers nothing


def test_jitter_only_shortens_and_is_the_same_every_time() -> None:
    ticks = [Bench(jitter=12, seed=3).timers["entry.tick"] - 1000 for _ in range(2)]
    assert ticks[0] == ticks[1]
    assert INTERVAL - 12 <= ticks[0] <= INTERVAL


def test_the_uplink_flag_follows_the_grantors_answers() -> None:
    bench = Bench()
    bench.answer(holder=1, epoch=2, state=GRANTING)
    assert told(bench.wait(INTERVAL), Keepalive)[-1].state == FOLLOWER | UPLINK
    bench.wait(DETECTION)
    assert told(bench.wait(INTERVAL), Keepalive)[-1].state & UPLINK == 0


def test_peers_that_fall_silent_are_down() -> None:
    bench = Bench(rank=1)
    assert PeerUp(Role.ENTRY, 4) in bench.peer(0, HOLDER | UPLINK, 1)
    assert PeerDown(Role.ENTRY, 4) not in bench.wait(DETECTION)
    assert PeerDown(Role.ENTRY, 4) in bench.wait(1)


def test_old_keepalives_and_strangers_change_nothing() -> None:
    bench = Bench(rank=1)
    bench.peer(0, FOLLOWER | UPLINK, sequence=5, boots=2)
    before = bench.member.peers[0].sequence, bench.member.peers[0].state
    bench.peer(0, HOLDER | UPLINK, sequence=5, boots=2)  # the other way's copy
    bench.peer(0, HOLDER | UPLINK, sequence=4, boots=2)
    bench.peer(0, HOLDER | UPLINK, sequence=9, boots=1)  # an earlier life's
    bench.peer(1, HOLDER | UPLINK, epoch=9)  # its own
    assert (bench.member.peers[0].sequence, bench.member.peers[0].state) == before
    assert bench.member.epoch == 0


# ------------------------------------------------------------------------------------------------ elections


def test_at_power_up_the_first_claims_at_once_and_the_others_later() -> None:
    for rank in range(3):
        bench = Bench(rank=rank)
        bench.wait(rank * SKEW - 1)
        assert len(bench.claims()) == (1 if rank == 0 else 0)
        bench.wait(1)
        assert [c.epoch for c in bench.claims()] == [rank + 1]
        assert bench.member.state == "candidate"


def test_in_a_boundary_group_it_waits_three_skews_at_power_up_and_one_more_from_its_announcement() -> None:
    bench = Bench(role=Role.BOUNDARY, uplink=Port.BOUNDARY)
    begin = bench.now
    while not bench.claims():
        bench.wait(1)
        announced = bench.now - begin >= 3 * SKEW
        assert bench.member.state == ("candidate" if announced else "follower")
    assert bench.now - begin == 4 * SKEW


def test_after_a_later_boot_it_listens_first() -> None:
    bench = Bench(boots=2)
    bench.wait(INTERVAL - 1)
    assert not bench.claims()
    bench.wait(1)
    assert len(bench.claims()) == 1


def test_after_a_later_boot_it_lets_the_others_go_first() -> None:
    """For wait_to_restore, or a detection time from when it found the role vacant: then it is needed after all."""
    for wait, first in ((200, 200), (500, INTERVAL + DETECTION)):
        bench = Bench(boots=2, wait_to_restore=wait)
        begin = bench.now
        while not bench.claims():
            if (bench.now - begin) % 50 == 0:
                bench.peer(1, FOLLOWER | UPLINK)
                bench.answer()
            bench.wait(1)
        assert bench.now - begin == first


def test_a_grant_makes_it_the_holder_and_is_told_at_once() -> None:
    bench = Bench()
    bench.now += 7
    actions = bench.reply(GRANT, 1, LEASE)
    assert Elected(Role.ENTRY, 1) in actions
    assert [m.state & 0xF for m in told(actions, Keepalive)] == [HOLDER] * 4
    assert (bench.member.state, bench.member.held_epoch, bench.member.epoch) == ("holder", 1, 1)
    assert bench.member.lease_until == 1000 + LEASE  # from when it asked


def test_answers_to_anything_but_the_current_claim_elect_nobody() -> None:
    for changes in ({"sequence": 0}, {"sequence": 2 << 16 | 1}, {"epoch": 4}, {"role": 2}):
        bench = Bench()
        answer = replace(bench.claims()[0], operation=GRANT, **changes)
        bench.member.on_election(answer, "cpu", bench.now)
        assert bench.member.state != "holder"
    bench = Bench()
    bench.member.on_election(replace(bench.claims()[0], operation=GRANT), "cw", bench.now)
    assert bench.member.state != "holder"


def test_a_grant_that_comes_after_its_lease_is_of_no_use() -> None:
    bench = Bench()
    first = bench.claims()[0]
    bench.now += LEASE
    assert not only(bench.step(bench.member.on_election(replace(first, operation=GRANT), "cpu", bench.now)), Elected)


def test_a_grant_of_an_epoch_below_one_that_is_known_elects_nobody() -> None:
    bench = Bench()
    first = bench.claims()[0]
    bench.peer(1, FOLLOWER, 5)
    answer = replace(first, operation=GRANT)
    assert not only(bench.step(bench.member.on_election(answer, Port.CPU, bench.now)), Elected)


def test_without_an_answer_it_asks_again_at_the_next_tick() -> None:
    bench = Bench()
    bench.wait(INTERVAL)
    assert [c.epoch for c in bench.claims()] == [1, 1]
    assert len({c.sequence for c in bench.claims()}) == 2
    bench.elect()
    assert bench.member.lease_until == 1000 + INTERVAL + LEASE


def test_a_refusal_teaches_the_epoch() -> None:
    bench = Bench()
    bench.reply(REFUSE, 5)
    bench.wait(INTERVAL)
    assert [c.epoch for c in bench.claims()] == [1, 7]


def test_a_refusal_says_when_to_try_again() -> None:
    bench = Bench()
    bench.reply(REFUSE, 5, lease=30)
    bench.wait(30 + GUARD - 1)
    assert len(bench.claims()) == 1
    bench.wait(1)
    assert len(bench.claims()) == 2


def test_it_leaves_a_live_holder_alone() -> None:
    """Not preemptive: whatever its rank."""
    bench = Bench(boots=2)
    for _ in range(10):
        bench.peer(1, HOLDER | UPLINK, 2)
        bench.answer(holder=1, epoch=2, state=GRANTING)
        bench.wait(INTERVAL)
    assert not bench.claims()


def test_it_leaves_a_holder_alone_that_hears_no_answers_as_long_as_the_grantor_names_it() -> None:
    bench = Bench(boots=2)
    for _ in range(10):
        bench.answer(holder=1, epoch=2, state=GRANTING)
        bench.peer(1, HOLDER, 2)
        bench.wait(INTERVAL)
    assert not bench.claims()


def test_it_asks_although_a_better_one_that_could_does_not() -> None:
    """In a boundary group too: it waits for those that have announced themselves, not for those that let others go."""
    bench = Bench(rank=1, role=Role.BOUNDARY, uplink=Port.BOUNDARY, boots=2)
    for _ in range(20):
        bench.peer(0, FOLLOWER | UPLINK)
        bench.answer()
        bench.wait(INTERVAL)
    assert bench.claims()


def test_the_grantors_word_is_enough_when_the_ring_is_silent() -> None:
    bench = Bench(boots=2)
    for _ in range(10):
        bench.answer(holder=1, epoch=2, state=GRANTING)
        bench.wait(INTERVAL)
    assert not bench.claims()


def test_when_the_holder_falls_silent_the_next_asks_in_turn() -> None:
    begun = []
    for rank in (1, 2):
        bench = Bench(rank=rank, boots=2)
        bench.answer(holder=0, epoch=1, state=GRANTING)
        bench.peer(0, HOLDER | UPLINK, 1)
        while not bench.claims():
            bench.wait(1)
            if bench.now % INTERVAL == 0:
                bench.answer(epoch=1)
                bench.peer(3 - rank, FOLLOWER | UPLINK, 1)
            assert bench.now < 100 * INTERVAL
        assert bench.claims()[0].epoch == 1 + rank
        begun.append(bench.now)
    assert begun[0] < begun[1]


def test_without_an_uplink_it_does_not_ask() -> None:
    bench = Bench(boots=2)
    bench.answer(holder=1, epoch=2, state=GRANTING)
    bench.wait(DETECTION + INTERVAL)
    begin = len(bench.claims())
    bench.wait(10 * INTERVAL)
    assert len(bench.claims()) == begin


def test_a_turn_is_two_guards_and_a_skew_for_each_member_and_one_more() -> None:
    assert CONFIG.turn == 2 * GUARD + 4 * SKEW


def test_it_is_a_candidate_from_its_next_claim_on_not_from_its_last() -> None:
    """Claims for a lease that it has had say nothing any more."""
    bench = Bench(rank=1)
    bench.wait(2 * SKEW)
    bench.elect()
    bench.peer(0, HOLDER | UPLINK, 9)
    bench.wait(1)
    bench.peer(0, FOLLOWER | UPLINK, 9)
    assert bench.member.state == "follower"
    bench.wait(INTERVAL)
    assert (bench.member.state, len(bench.claims())) == ("candidate", 2)


# ------------------------------------------------------------------------------------------------ leases


def renew(bench: Bench) -> None:
    bench.wait(INTERVAL)
    bench.answer(holder=bench.config.rank, epoch=bench.member.held_epoch or 0, state=GRANTING)


def test_answers_renew_the_lease_from_when_their_question_was_asked() -> None:
    bench = Bench()
    epoch = bench.elect()
    bench.wait(INTERVAL + 30)
    bench.answer(holder=0, epoch=epoch, state=GRANTING)
    assert bench.member.lease_until == 1000 + INTERVAL + LEASE


def test_an_answer_to_what_it_said_as_a_candidate_renews_nothing() -> None:
    """The grantor has not renewed it either: found by the exhaustive exploration."""
    bench = Bench()
    bench.wait(INTERVAL)
    first = bench.claims()[0]
    bench.step(bench.member.on_election(replace(first, operation=GRANT), "cpu", bench.now))
    assert bench.member.lease_until == 1000 + LEASE
    bench.answer(holder=0, epoch=1, state=GRANTING)
    assert bench.member.lease_until == 1000 + LEASE


@pytest.mark.parametrize(("lost", "stays"), [(2, True), (3, False)])
def test_it_stands_all_lost_keepalives_in_a_row_but_one(lost: int, stays: bool) -> None:
    bench = Bench()
    bench.elect()
    renew(bench)
    bench.wait(lost * INTERVAL)
    bench.wait(INTERVAL + SLACK - 1)
    bench.answer(holder=0, epoch=1, state=GRANTING)
    assert (bench.member.held_epoch == 1) is stays


def test_without_renewal_it_steps_down_in_time() -> None:
    bench = Bench()
    bench.elect()
    assert not only(bench.wait(LEASE - 1), Deposed)
    actions = bench.wait(1)
    assert Deposed(Role.ENTRY, 1, LeaseEnd.LEASE) in actions
    assert FOLLOWER in {m.state & 0xF for m in told(actions, Keepalive, "cw")}
    assert bench.member.held_epoch is None


def test_foreign_and_older_answers_renew_nothing() -> None:
    for changes in ({"your_discriminator": 4 << 16}, {"echo": 99}, {"holder": NO_HOLDER}, {"role": 2}):
        bench = Bench()
        bench.elect()
        bench.wait(INTERVAL)
        bench.answer(**{"holder": 0, "epoch": 1, **changes})
        assert bench.member.lease_until == 1000 + LEASE


def test_a_higher_epoch_fences_it_whoever_tells() -> None:
    ways: list[Callable[[Bench], list[Action]]] = [
        lambda b: b.peer(1, FOLLOWER, 2),
        lambda b: b.answer(epoch=2),
        lambda b: b.answer(epoch=2, echo=0),  # unasked: a warden that has revoked its lease
        lambda b: b.reply(REFUSE, 2),
    ]
    for tell in ways:
        bench = Bench()
        bench.elect()
        assert Deposed(Role.ENTRY, 1, LeaseEnd.FENCED) in tell(bench)
        assert bench.member.epoch == 2


def test_a_lease_it_knows_nothing_of_is_given_back() -> None:
    """It has been restarted, or the grant was lost: nobody else need wait for that lease."""
    bench = Bench(boots=2)
    released = told(bench.answer(holder=0, epoch=4, state=GRANTING), Election)
    assert [(m.operation, m.epoch) for m in released] == [(RELEASE, 4)]


# ------------------------------------------------------------------------------------------------ reluctance


def test_a_reluctant_holder_hands_over_to_one_that_is_not() -> None:
    bench = Bench()
    bench.elect()
    bench.answer(holder=0, epoch=1, state=GRANTING)
    bench.peer(1, FOLLOWER | UPLINK, 1)
    actions = bench.step(bench.member.set_reluctant(True, bench.now))
    assert Deposed(Role.ENTRY, 1, LeaseEnd.HANDOVER) in actions
    assert [(m.operation, m.epoch) for m in told(actions, Election)] == [(RELEASE, 1)]
    begin = len(bench.claims())
    for _ in range(10):
        bench.peer(1, FOLLOWER | UPLINK, 1)
        bench.answer(epoch=1)
        bench.wait(INTERVAL)
    assert len(bench.claims()) == begin


@pytest.mark.parametrize("state", [FOLLOWER, FOLLOWER | UPLINK | RELUCTANT])
def test_it_stays_when_nobody_is_better(state: int) -> None:
    bench = Bench()
    bench.elect()
    bench.peer(1, state, 1)
    assert not only(bench.step(bench.member.set_reluctant(True, bench.now)), Deposed)


def test_a_reluctant_grantor_makes_its_member_reluctant() -> None:
    bench = Bench()
    bench.elect()
    bench.peer(1, FOLLOWER | UPLINK, 1)
    assert Deposed(Role.ENTRY, 1, LeaseEnd.HANDOVER) in bench.answer(holder=0, epoch=1, state=GRANTING | RELUCTANT)
    assert told(bench.wait(INTERVAL), Keepalive)[-1].state & RELUCTANT


# ------------------------------------------------------------------------------------------------ anything at all

_EVENTS = st.one_of(
    st.tuples(st.just("wait"), st.integers(1, 250)),
    st.tuples(st.just("peer"), st.integers(1, 2), st.sampled_from([0, 1, 2, 16, 17, 18, 48, 50]), st.integers(0, 9)),
    st.tuples(st.just("answer"), st.sampled_from([0, 1, 2, NO_HOLDER, 63]), st.integers(0, 9)),
    st.tuples(st.just("reply"), st.sampled_from([GRANT, REFUSE, CLAIM]), st.integers(0, 9), st.integers(0, 300)),
    st.tuples(st.just("reluctant"), st.booleans()),
)


@given(st.lists(_EVENTS, max_size=50), st.integers(1, 2), st.sampled_from(Role))
def test_whatever_it_hears_it_holds_only_what_it_was_granted(events: list[Any], boots: int, role: Role) -> None:
    bench = Bench(boots=boots, role=role, uplink=Port.CPU if role is Role.ENTRY else Port.BOUNDARY)
    for kind, *values in events:
        if kind == "wait":
            bench.wait(*values)
        elif kind == "peer":
            bench.peer(*values)
        elif kind == "answer":
            bench.answer(*values)
        elif kind == "reply" and bench.claims():
            bench.reply(*values)
        elif kind == "reluctant":
            bench.step(bench.member.set_reluctant(values[0], bench.now))
        member = bench.member
        if member.held_epoch is not None:
            assert bench.now < member.lease_until <= bench.now + LEASE
            assert member.held_epoch == member.epoch
            assert member.held_epoch % 3 == 1
        news = only(bench.actions, Elected, Deposed)
        assert all(isinstance(n, Elected if i % 2 == 0 else Deposed) for i, n in enumerate(news))
        assert len(news) % 2 == (member.held_epoch is not None)
