"""The fence: what it grants, to whom, and never twice."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ringhil.firmware.commands import Remember
from ringhil.firmware.election import CLAIM, GRANT, GRANTING, HOLDER, NO_HOLDER, REFUSE, RELEASE
from ringhil.firmware.grantor import Grantor
from ringhil.firmware.observations import Granted, Lapsed
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.wire import Role

LEASE, GUARD = 100, 10


def election(epoch: int, operation: int = CLAIM, rank: int = 0) -> Election:
    return Election(0, 0, 9, 0, epoch, 1 << 16 | 5, rank, operation, Role.ENTRY.code, LEASE, 0)


def keepalive(epoch: int, state: int = HOLDER, rank: int = 0) -> Keepalive:
    sender = (20 + rank) << 16 | 1
    return Keepalive(0, 2, 9, 0, epoch, 77, sender, 0, Role.ENTRY.code, rank, 3, state, 30, 0, 0, NO_HOLDER)


def grantor(highest: int = 0, quiet_until: int = 0) -> Grantor:
    return Grantor(Role.ENTRY, LEASE, GUARD, highest=highest, quiet_until=quiet_until)


def claim(g: Grantor, rank: int, epoch: int, now: int) -> Election:
    answer, _ = g.on_election(rank, election(epoch, rank=rank), now)
    assert answer is not None
    return answer


def test_the_first_lease_may_begin_at_power_up() -> None:
    answer, _ = Grantor(Role.ENTRY, LEASE, GUARD).on_election(0, election(1), 0)
    assert answer is not None
    assert answer.operation == GRANT


def test_a_grant_is_remembered_before_it_is_told() -> None:
    g = grantor()
    answer, actions = g.on_election(1, election(2), 50)
    assert answer == replace(election(2), operation=GRANT)
    assert actions == [Remember(2), Granted(Role.ENTRY, 2, 1, 50 + LEASE)]
    assert (g.holder, g.epoch, g.highest, g.next_expiry) == (1, 2, 2, 150)


def test_an_epoch_that_is_too_low_is_refused_and_the_highest_taught() -> None:
    g = grantor(highest=7)
    for epoch in (1, 7):
        answer = claim(g, 0, epoch, 0)
        assert (answer.operation, answer.epoch, answer.lease) == (REFUSE, 7, 0)
    assert claim(g, 0, 8, 0).operation == GRANT


def test_while_anothers_lease_runs_a_refusal_tells_what_is_left() -> None:
    g = grantor()
    claim(g, 0, 1, 0)
    answer = claim(g, 1, 2, 40)
    assert (answer.operation, answer.lease) == (REFUSE, LEASE + GUARD - 40)
    assert claim(g, 1, 2, LEASE + GUARD - 1).lease == 1
    assert claim(g, 1, 2, LEASE + GUARD).operation == GRANT


def test_the_holder_itself_need_not_wait() -> None:
    """Its grant was lost on the way; or it has been restarted."""
    g = grantor()
    claim(g, 0, 1, 0)
    answer, actions = g.on_election(0, election(3), 10)
    assert answer is not None
    assert answer.operation == GRANT
    assert actions[0] == Lapsed(Role.ENTRY, 1, 0, LeaseEnd.RELEASE)


def test_a_copy_of_a_claim_is_not_granted_again() -> None:
    g = grantor()
    claim(g, 0, 1, 0)
    answer = claim(g, 0, 1, 3)
    assert (answer.operation, answer.lease) == (REFUSE, 0)
    assert g.until == LEASE


def test_keepalives_of_the_holder_renew_and_no_others() -> None:
    g = grantor()
    claim(g, 0, 1, 0)
    for rank, message in ((1, keepalive(1)), (0, keepalive(1, state=0)), (0, keepalive(0)), (0, keepalive(2))):
        g.on_keepalive(rank, message, 50)
        assert g.until == LEASE
    answer, actions = g.on_keepalive(0, keepalive(1), 50)
    assert (g.until, actions) == (50 + LEASE, [])
    assert (answer.echo, answer.epoch, answer.holder, answer.state, answer.flags) == (77, 1, 0, GRANTING, 0)
    assert (answer.destination, answer.your_discriminator) == (20, 20 << 16 | 1)


def test_without_a_lease_the_answer_names_nobody() -> None:
    answer, _ = grantor().on_keepalive(0, keepalive(0, state=0), 50)
    assert (answer.holder, answer.state, answer.epoch) == (NO_HOLDER, 0, 0)


def test_a_lease_runs_out() -> None:
    g = grantor()
    claim(g, 0, 1, 0)
    assert g.on_expire(LEASE - 1) == []
    assert g.on_expire(LEASE) == [Lapsed(Role.ENTRY, 1, 0, LeaseEnd.LEASE)]
    assert g.next_expiry is None
    answer, _ = g.on_keepalive(0, keepalive(1), LEASE + 1)  # too late to renew
    assert answer.holder == NO_HOLDER


def test_a_release_frees_it_at_once_but_only_that_lease() -> None:
    g = grantor()
    claim(g, 0, 1, 0)
    for rank, epoch in ((1, 1), (0, 2)):
        assert g.on_election(rank, election(epoch, RELEASE), 5) == (None, [])
    assert g.on_election(0, election(1, RELEASE), 5) == (None, [Lapsed(Role.ENTRY, 1, 0, LeaseEnd.RELEASE)])
    assert claim(g, 1, 2, 5).operation == GRANT


def test_nothing_is_granted_before_it_has_settled() -> None:
    g = grantor(quiet_until=30)
    answer = claim(g, 0, 1, 20)
    assert (answer.operation, answer.lease) == (REFUSE, 10)
    assert claim(g, 0, 1, 30).operation == GRANT


def test_a_higher_epoch_elsewhere_fences_its_own_lease() -> None:
    g = grantor()
    claim(g, 0, 1, 0)
    assert g.heard_elsewhere(1, 80, 1) == []
    assert g.heard_elsewhere(2, 80, 1) == [Lapsed(Role.ENTRY, 1, 0, LeaseEnd.FENCED)]
    answer = claim(g, 0, 3, 20)
    assert (answer.operation, answer.epoch, answer.lease) == (REFUSE, 2, 60)
    g.heard_elsewhere(2, 0, 1)  # that one is over
    assert claim(g, 0, 3, 20).operation == GRANT


def test_operations_that_are_not_for_it_are_ignored() -> None:
    assert grantor().on_election(0, election(1, GRANT), 0) == (None, [])


_EVENTS = st.tuples(
    st.sampled_from(["claim", "release", "keepalive", "expire", "elsewhere"]),
    st.integers(0, 2),
    st.integers(0, 12),
    st.integers(0, 60),
)


@given(st.lists(_EVENTS, max_size=60))
def test_whatever_comes_epochs_rise_and_leases_do_not_overlap(events: list[tuple[str, int, int, int]]) -> None:
    g = grantor()
    now = last = 0
    until: dict[int, int] = {}  # by rank: to when its holder could believe in a lease, at most
    for kind, rank, epoch, later in events:
        now += later
        if kind == "claim":
            if claim(g, rank, epoch, now).operation == GRANT:
                assert epoch > last
                assert all(end + GUARD <= now for other, end in until.items() if other != rank)
                last, until = epoch, {rank: now + LEASE}
        elif kind == "release":
            _, actions = g.on_election(rank, election(epoch, RELEASE), now)
            if actions and isinstance(actions[-1], Lapsed) and actions[-1].why == "release":
                until = {}
        elif kind == "keepalive":
            answer, _ = g.on_keepalive(rank, keepalive(epoch), now)
            if answer.holder == rank and epoch == g.epoch:
                until = {rank: now + LEASE}
        elif kind == "expire":
            g.on_expire(now)
        elif g.holder is None:
            g.heard_elsewhere(epoch, now + later, rank)
        assert g.highest >= last


def test_a_lease_elsewhere_is_named_until_the_cycle_in_which_it_runs_out() -> None:
    g = grantor()
    g.heard_elsewhere(3, 100, 1)
    named = [g.on_keepalive(0, keepalive(1), now)[0].holder for now in (99, 100)]
    assert named == [1, NO_HOLDER]


def test_only_leases_of_others_are_waited_for() -> None:
    g = grantor()
    g.heard_elsewhere(3, 100, 1)
    assert (claim(g, 0, 4, 60).operation, claim(g, 0, 4, 60).lease) == (REFUSE, 40)
    assert claim(g, 1, 5, 60).operation == GRANT
