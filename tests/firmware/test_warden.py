"""A warden: it grants its own leader's lease, and minds the other wardens'."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ringhil.firmware.actions import Action
from ringhil.firmware.commands import Remember
from ringhil.firmware.election import (
    CLAIM,
    GRANT,
    GRANTING,
    HOLDER,
    NO_HOLDER,
    REFUSE,
    RELEASE,
    RELUCTANT,
    UPLINK,
    GroupConfig,
)
from ringhil.firmware.observations import Granted, Lapsed, PeerDown, PeerUp
from ringhil.firmware.warden import Warden
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.wire import Port, Role

from .timed import Timed, only, told

INTERVAL, SLACK, SKEW, GUARD = 100, 40, 20, 10
DETECTION = LEASE = 3 * INTERVAL + SLACK
LEADER = 5
CONFIG = GroupConfig(
    role=Role.BOUNDARY,
    card=1,
    me=30,
    rank=0,
    members=(30, 31),
    ring_size=40,
    uplink=Port.BOUNDARY,
    uplink_card=0,
    uplink_home=LEADER,
    interval=INTERVAL,
    multiplier=3,
    jitter=0,
    slack=SLACK,
    lease=LEASE,
    skew=SKEW,
    guard=GUARD,
    wait_to_restore=500,
    boots=1,
    seed=0,
)


class Bench(Timed):
    """A warden and the time, past its first settling unless told otherwise."""

    def __init__(self, remembered: int = 0, settled: bool = True, **changes: Any) -> None:
        self.config = replace(CONFIG, **changes)
        self.warden = Warden(self.config, remembered)
        self.sequence = 0
        super().__init__(self.warden)
        if settled:
            self.wait(LEASE + GUARD)

    def elect(self, operation: int, epoch: int, candidate: int = LEADER, port: str = "boundary") -> list[Action]:
        message = Election(1, 0, 9, 30, epoch, 1 << 16 | 1, candidate, operation, Role.BOUNDARY.code, LEASE, 1)
        return self.step(self.warden.on_election(message, port, self.now))

    def claim(self, epoch: int) -> Election:
        (answer,) = told(self.elect(CLAIM, epoch), Election, "boundary")
        assert isinstance(answer, Election)
        return answer

    def keepalive(self, sender: int, state: int, epoch: int, port: str, boots: int = 1) -> list[Action]:
        self.sequence += 1
        who, role = sender << 16 | boots, Role.BOUNDARY.code
        times = {"multiplier": 3, "interval": INTERVAL, "members": 0, "echo": 0, "holder": NO_HOLDER}
        head = {"card": 1, "flags": 0, "ttl": 9, "destination": 30, "priority": 0, "your_discriminator": 0}
        message = Keepalive(
            epoch=epoch, sequence=self.sequence, my_discriminator=who, role=role, state=state, **head, **times
        )
        return self.step(self.warden.on_keepalive(message, port, self.now))

    def leader(self, state: int = 0, epoch: int = 0) -> list[Action]:
        return self.keepalive(LEADER, state, epoch, "boundary")

    def gossip(self, state: int = 0, epoch: int = 0, boots: int = 1) -> list[Action]:
        return self.keepalive(31, state, epoch, "cw", boots)


def test_it_grants_to_its_leader_and_spreads_the_news() -> None:
    bench = Bench()
    actions = bench.elect(CLAIM, 1)
    assert [type(a) for a in actions[:2]] == [Remember, Granted]
    assert actions[1] == Granted(Role.BOUNDARY, 1, 0, bench.now + LEASE)
    for port in ("cw", "ccw"):
        (news,) = told(actions, Keepalive, port)
        assert (news.destination, news.epoch, news.holder, news.state & GRANTING) == (31, 1, 0, GRANTING)
    (answer,) = told(actions, Election, "boundary")
    assert (answer.operation, answer.card, answer.destination, answer.epoch) == (GRANT, 0, LEADER, 1)
    assert (bench.warden.held_epoch, bench.warden.epoch, bench.warden.state) == (1, 1, "holder")


def test_it_looks_at_a_lease_in_the_cycle_in_which_it_runs_out() -> None:
    """Not only when it is time for the next keepalives."""
    bench = Bench()
    granted = bench.now
    bench.elect(CLAIM, 1)
    assert bench.timers["boundary.wake"] <= granted + LEASE
    bench.wait(LEASE - 1)
    assert bench.warden.held_epoch == 1
    assert only(bench.wait(1), Lapsed) == [Lapsed(Role.BOUNDARY, 1, 0, LeaseEnd.LEASE)]


def test_it_answers_keepalives_of_its_leader() -> None:
    bench = Bench()
    bench.elect(CLAIM, 1)
    bench.now += 50
    (answer,) = told(bench.leader(HOLDER, 1), Keepalive, "boundary")
    assert (answer.card, answer.destination, answer.echo, answer.epoch) == (0, LEADER, bench.sequence, 1)
    assert (answer.holder, answer.state) == (0, GRANTING | UPLINK)
    assert answer.your_discriminator == LEADER << 16 | 1
    assert bench.warden.grantor.until == bench.now + LEASE


def test_it_hears_only_its_own_leader_and_only_over_the_link() -> None:
    bench = Bench()
    assert bench.elect(CLAIM, 1, candidate=6) == []
    assert bench.elect(CLAIM, 1, port="cw") == []
    assert bench.keepalive(6, HOLDER, 1, "boundary") == []
    assert bench.keepalive(99, GRANTING, 9, "cw") == []
    assert bench.warden.epoch == 0


def test_its_leader_up_and_down_is_told() -> None:
    bench = Bench()
    assert PeerUp(Role.BOUNDARY, LEADER) in bench.leader()
    assert PeerDown(Role.BOUNDARY, LEADER) not in bench.wait(DETECTION)
    assert PeerDown(Role.BOUNDARY, LEADER) in bench.wait(1)


def test_the_lease_of_a_silent_leader_lapses() -> None:
    bench = Bench()
    bench.elect(CLAIM, 1)
    actions = bench.wait(LEASE)
    assert Lapsed(Role.BOUNDARY, 1, 0, LeaseEnd.LEASE) in actions
    assert told(actions, Keepalive, "cw")[-1].state & GRANTING == 0


def test_a_release_is_spread_at_once() -> None:
    bench = Bench()
    bench.elect(CLAIM, 1)
    actions = bench.elect(RELEASE, 1)
    assert Lapsed(Role.BOUNDARY, 1, 0, LeaseEnd.RELEASE) in actions
    assert [m.state & GRANTING for m in told(actions, Keepalive, "cw")] == [0]


def test_while_another_warden_grants_it_refuses() -> None:
    bench = Bench()
    bench.gossip(GRANTING, 2)
    answer = bench.claim(3)
    assert (answer.operation, answer.epoch, answer.lease) == (REFUSE, 2, DETECTION + INTERVAL)
    (told_leader,) = told(bench.leader(), Keepalive, "boundary")
    assert (told_leader.holder, told_leader.state & GRANTING, told_leader.epoch) == (1, 0, 2)
    bench.gossip(0, 2)
    assert bench.claim(3).operation == GRANT


def test_the_lease_of_a_warden_that_has_booted_anew_still_runs() -> None:
    """It has forgotten it; its leader has not."""
    bench = Bench()
    bench.gossip(GRANTING, 2)
    bench.wait(100)
    bench.gossip(0, 2, boots=2)
    assert bench.claim(3).lease == DETECTION + INTERVAL - 100
    bench.wait(DETECTION + INTERVAL - 100)
    assert bench.claim(3).operation == GRANT


def test_a_warden_that_has_fallen_silent_is_no_longer_minded() -> None:
    bench = Bench()
    bench.gossip(GRANTING, 2)
    bench.wait(DETECTION + INTERVAL - 1)  # its leader may have renewed the lease after it was last heard
    assert bench.claim(3).lease == 1
    bench.wait(1)
    assert bench.claim(3).operation == GRANT


def test_of_two_leases_the_higher_epoch_stands() -> None:
    bench = Bench()
    bench.elect(CLAIM, 3)
    assert not only(bench.gossip(GRANTING, 2), Lapsed)
    actions = bench.gossip(GRANTING, 4)
    assert Lapsed(Role.BOUNDARY, 3, 0, LeaseEnd.FENCED) in actions
    (unasked,) = told(actions, Keepalive, "boundary")  # the leader need not wait for its next answer
    assert (unasked.epoch, unasked.echo, unasked.holder) == (4, 0, NO_HOLDER)
    assert bench.claim(5).operation == REFUSE


def test_after_power_up_it_waits_two_skews_and_after_a_later_boot_a_lease() -> None:
    for boots, quiet in ((1, 2 * SKEW), (2, LEASE + GUARD)):
        bench = Bench(settled=False, boots=boots)
        answer = bench.claim(1)
        assert (answer.operation, answer.lease) == (REFUSE, quiet)
        bench.wait(quiet)
        assert bench.claim(1).operation == GRANT


def test_alone_it_need_not_wait_for_anybody() -> None:
    assert Bench(settled=False, boots=2, members=(30,)).claim(1).operation == GRANT


def test_what_it_granted_before_a_crash_is_not_granted_again() -> None:
    bench = Bench(remembered=5, boots=2)
    answer = bench.claim(5)
    assert (answer.operation, answer.epoch) == (REFUSE, 5)
    assert bench.claim(7).operation == GRANT


def test_its_reluctance_is_told_to_the_leader_only() -> None:
    bench = Bench()
    bench.step(bench.warden.set_reluctant(True, bench.now))
    (answer,) = told(bench.leader(), Keepalive, "boundary")
    assert answer.state & RELUCTANT
    assert not any(m.state & RELUCTANT for m in told(bench.wait(INTERVAL), Keepalive, "cw"))


_EVENTS = st.one_of(
    st.tuples(st.just("wait"), st.integers(1, 400)),
    st.tuples(st.just("claim"), st.integers(0, 12)),
    st.tuples(st.just("release"), st.integers(0, 12)),
    st.tuples(st.just("leader"), st.sampled_from([0, 1, 2, 16, 18]), st.integers(0, 12)),
    st.tuples(st.just("gossip"), st.sampled_from([0, UPLINK, GRANTING]), st.integers(0, 12)),
)


@given(st.lists(_EVENTS, max_size=50), st.integers(1, 2), st.integers(0, 5))
def test_whatever_it_hears_its_grants_rise_and_respect_the_others(events: list[Any], boots: int, kept: int) -> None:
    bench = Bench(remembered=kept, boots=boots, settled=False)
    last, others = kept, 0  # until when another's lease is known to run
    for kind, *values in events:
        if kind == "wait":
            bench.wait(*values)
        elif kind == "claim":
            if bench.claim(*values).operation == GRANT:
                assert values[0] > last
                assert bench.now >= max(others, 1000 + (2 * SKEW if boots == 1 else LEASE + GUARD))
                last = values[0]
        elif kind == "release":
            bench.elect(RELEASE, *values)
        elif kind == "leader":
            bench.leader(*values)
        else:
            bench.gossip(*values)
            others = bench.now + DETECTION + INTERVAL if values[0] == GRANTING else 0
            assert bench.warden.held_epoch is None or bench.warden.held_epoch >= values[1]
        assert bench.warden.held_epoch in (None, bench.warden.epoch)


def test_a_keepalive_of_its_leader_in_the_cycle_in_which_the_lease_runs_out_ends_it_and_tells_the_others() -> None:
    """Whichever of the two comes first in that cycle, the keepalive or the timer."""
    bench = Bench()
    bench.elect(CLAIM, 1)
    bench.now += LEASE
    actions = bench.leader(HOLDER, 1)
    assert only(actions, Lapsed) == [Lapsed(Role.BOUNDARY, 1, 0, LeaseEnd.LEASE)]
    for port in ("cw", "ccw"):
        assert [message.state & GRANTING for message in told(actions, Keepalive, port)] == [0]


def test_a_lease_that_has_run_out_is_not_revoked_by_what_comes_in_that_cycle() -> None:
    bench = Bench()
    bench.elect(CLAIM, 1)
    bench.now += LEASE
    assert only(bench.gossip(GRANTING, 2), Lapsed) == [Lapsed(Role.BOUNDARY, 1, 0, LeaseEnd.LEASE)]
