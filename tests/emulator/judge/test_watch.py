"""The judge: strict once things have settled, while they settle no laxer than it must, and fair about who is judged."""

from types import SimpleNamespace
from typing import Literal, cast

import pytest

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.host.tasks.applications import Applications
from ringhil.emulator.judge.census.names import Names
from ringhil.emulator.judge.census.orphans import Orphans
from ringhil.emulator.judge.conduct import Conduct
from ringhil.emulator.judge.evidence import RunEvidence
from ringhil.emulator.judge.invariants import violations
from ringhil.emulator.judge.oracle import BLOCKED, CUT, OK, OUT
from ringhil.emulator.judge.recovery.bounds import Bounds, bounds_of
from ringhil.emulator.judge.recovery.truth import CardTruth
from ringhil.emulator.judge.recovery.watch import Watch
from ringhil.emulator.judge.work.acceptance import Acceptance
from ringhil.emulator.scenario import CrossRef, GpuRef, LinkRef, TimelineEvent, Trait, having, loads
from ringhil.emulator.server.times import Times
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.grantor import Grantor
from ringhil.firmware.observations import Counted, Rejected, Suspected
from ringhil.protocol.wire import CensusVerdict, Role

SERVER = loads("""
server:
  cards: {a: {gpus: 5, host_links: [0, 1]}, b: {gpus: 4}}
  boundary_links: [{from: [a.3, a.2], to: [b.2, b.3]}]
""").server
SIZE = 5
BOUNDS = Bounds(Times(SIZE, SERVER.settings, True))
EVERYBODY = (0, 1, 2, 3, 4)

Action = Literal["fault", "clear"]


# ---------------------------------------------------------------------------------------------- what may be found


class Truth:
    """A ring of five, seen from GPU 0 unless said otherwise."""

    def __init__(self) -> None:
        self.truth = CardTruth(SIZE, BOUNDS)

    def event(self, at: int, action: Action, kind: str, place: int) -> None:
        part = "link" if kind in ("link_cut", "link_one_way") else "gpu"
        self.truth.change((part, place), kind, action == "fault", kind, at)

    def wrong(
        self, at: int, members: tuple[int, ...] | None, count: int | None = None, sent: int = 0, entry: int = 0
    ) -> bool:
        """Whether this count, accepted at a cycle, is held to be wrong."""
        count = len(members or ()) if count is None else count
        return not self.truth.fits(Counted(count, members, CensusVerdict.RING, None, None, 1, sent or at - 50), entry)


def test_on_a_healthy_ring_only_everybody_is_right() -> None:
    truth = Truth()
    assert not truth.wrong(100, EVERYBODY)
    assert not truth.wrong(100, None, 5)
    assert not truth.wrong(100, EVERYBODY, entry=3)
    assert truth.wrong(100, (0, 1, 2, 3))
    assert truth.wrong(100, EVERYBODY, 6)
    assert truth.wrong(100, EVERYBODY, 4)
    assert truth.wrong(100, None, 4)


@pytest.mark.parametrize("kind", ["dead", "hang", "babble", "switch_stuck_bypass"])
def test_a_failed_gpu_may_be_found_until_things_have_settled(kind: str) -> None:
    truth = Truth()
    truth.event(1000, "fault", kind, 3)
    settled = 1000 + BOUNDS.settling(kind)
    assert not truth.wrong(1040, EVERYBODY)
    assert not truth.wrong(1040, (0, 1, 2, 4))
    assert truth.wrong(1040, (0, 1, 2, 3))
    assert not truth.wrong(settled + 60, EVERYBODY, sent=settled)
    assert truth.wrong(settled + 60, EVERYBODY, sent=settled + 1)
    assert truth.wrong(settled + 60, None, 5, sent=settled + 1)
    assert not truth.wrong(settled + 60, (0, 1, 2, 4), sent=settled + 1)


@pytest.mark.parametrize("kind", ["dead", "hang", "babble", "switch_stuck_bypass"])
def test_a_gpu_that_is_well_again_may_be_missing_until_things_have_settled(kind: str) -> None:
    truth = Truth()
    truth.event(1000, "fault", kind, 3)
    assert truth.wrong(8999, EVERYBODY)
    truth.event(9000, "clear", kind, 3)
    settled = 9000 + BOUNDS.settling(kind)
    assert not truth.wrong(9040, EVERYBODY)
    assert not truth.wrong(settled + 60, (0, 1, 2, 4), sent=settled)
    assert truth.wrong(settled + 60, (0, 1, 2, 4), sent=settled + 1)
    assert not truth.wrong(settled + 60, EVERYBODY, sent=settled + 1)


def test_each_gpu_settles_in_its_own_time() -> None:
    """One is still muted while another, which failed before it, is already back."""
    truth = Truth()
    truth.event(1000, "fault", "hang", 1)
    truth.event(3000, "fault", "babble", 2)
    truth.event(6000, "clear", "babble", 2)
    truth.event(6500, "clear", "hang", 1)
    assert not truth.wrong(7000, (0, 1, 3, 4))
    assert not truth.wrong(7000, EVERYBODY)
    assert truth.wrong(7000, (0, 3, 4))
    assert truth.wrong(7000, (0, 1, 2, 4))
    assert truth.wrong(9999, (0, 1, 3, 4))


def test_who_was_dead_when_it_began_to_babble_is_heard_babbling_when_it_is_back() -> None:
    truth = Truth()
    truth.event(1000, "fault", "dead", 3)
    truth.event(2000, "fault", "babble", 3)
    assert truth.wrong(7000, EVERYBODY)
    truth.event(8000, "clear", "dead", 3)
    settled = 8000 + BOUNDS.settling("babble")
    assert not truth.wrong(8500, EVERYBODY)
    assert not truth.wrong(8500, (0, 1, 2, 4))
    assert truth.wrong(settled + 60, EVERYBODY, sent=settled + 1)


@pytest.mark.parametrize("kind", [*sorted(having(Trait.LIES)), "slow"])
def test_a_liar_changes_nothing_about_the_truth(kind: str) -> None:
    truth = Truth()
    truth.event(1000, "fault", kind, 3)
    assert not truth.wrong(1100, EVERYBODY)
    assert truth.wrong(1100, (0, 1, 2, 4))
    assert truth.wrong(1100, None, 6)


@pytest.mark.parametrize("kind", ["link_cut", "link_one_way"])
def test_behind_two_cuts_nobody_may_be_found(kind: str) -> None:
    truth = Truth()
    truth.event(1000, "fault", kind, 1)
    truth.event(1000, "fault", kind, 3)
    assert not truth.wrong(1050, EVERYBODY)
    assert not truth.wrong(5000, (0, 1, 4))
    assert truth.wrong(5000, EVERYBODY)
    assert truth.wrong(5000, (0, 1))
    assert not truth.wrong(5000, (2, 3), entry=2)
    assert truth.wrong(5000, (0, 1, 4), entry=2)


def test_while_a_second_cut_settles_either_side_of_it_goes_together() -> None:
    """Nobody is found alone out of a stretch that is cut off as a whole."""
    truth = Truth()
    truth.event(1000, "fault", "link_cut", 1)
    truth.event(5000, "fault", "link_cut", 4)
    assert not truth.wrong(5050, EVERYBODY)
    assert not truth.wrong(5050, (0, 1))
    assert truth.wrong(5050, (0, 1, 4))
    assert truth.wrong(5050, (0, 1, 3, 4))
    assert truth.wrong(9000, EVERYBODY)


def test_a_failed_gpu_whose_switch_is_stuck_in_through_lets_nothing_past() -> None:
    truth = Truth()
    truth.event(1000, "fault", "switch_stuck_through", 2)
    assert truth.truth.state(("gpu", 2)) == OK
    assert not truth.wrong(5000, EVERYBODY)
    truth.event(6000, "fault", "dead", 2)
    assert truth.truth.state(("gpu", 2)) == BLOCKED
    assert truth.wrong(9000, EVERYBODY)
    assert not truth.wrong(9000, (0, 1, 3, 4))
    truth.event(10_000, "fault", "link_cut", 4)
    assert not truth.wrong(14_000, (0, 1))
    assert truth.wrong(14_000, (0, 1, 3, 4))
    truth.event(15_000, "clear", "switch_stuck_through", 2)
    assert truth.truth.state(("gpu", 2)) == OUT
    assert not truth.wrong(19_000, (0, 1, 3, 4))
    assert truth.wrong(19_000, (0, 1))


def test_a_cut_that_heals_joins_the_ring_again() -> None:
    truth = Truth()
    for link in (1, 3):
        truth.event(1000, "fault", "link_cut", link)
    truth.event(5000, "clear", "link_cut", 1)
    assert truth.truth.state(("link", 3)) == CUT
    settled = 5000 + BOUNDS.settling("link_cut")
    assert not truth.wrong(settled + 60, (0, 1, 4), sent=settled)
    assert truth.wrong(settled + 60, (0, 1, 4), sent=settled + 1)
    assert not truth.wrong(settled + 60, EVERYBODY, sent=settled + 1)


# ------------------------------------------------------------------------------------------------- who is judged


def place(name: str) -> GpuRef | LinkRef | CrossRef:
    """`a.3`, `a.1-a.2` or `a.3-b.2`."""
    gpus = [GpuRef.parse(gpu) for gpu in name.split("-")]
    if len(gpus) == 1:
        return gpus[0]
    if gpus[0].card != gpus[1].card:
        return CrossRef(gpus[0], gpus[1])
    return LinkRef(gpus[0].card, gpus[0].index, SERVER.card(gpus[0].card).gpus)


class Bench:
    """Two cards; a.0 and b.0 are the entry GPUs, and a.3 holds the link between the cards. All of that is played."""

    def __init__(self) -> None:
        self.bounds = bounds_of(SERVER)
        self.wiring = wiring = Wiring(SERVER)
        self.views = [
            CardView(
                card.name,
                number,
                card.gpus,
                card.host_links,
                tuple(wiring.cell(number, gpu) for gpu in card.host_links),
                Grantor(Role.ENTRY, b.times.election.lease, b.times.election.guard),
            )
            for number, (card, b) in enumerate(zip(SERVER.cards, self.bounds, strict=True))
        ]
        self.watch = Watch(wiring, self.bounds, self.views)
        for card in (0, 1):
            self.grant(card, 0, 10)
            self.count(card, 0, tuple(range(SERVER.cards[card].gpus)), 100)
        self.watch.links[0].elected(3, 1, 20)
        self.watch.roles_changed(20)

    def event(self, at: int, action: Action, kind: str, where: str, count: int | None = None) -> None:
        self.watch.event(TimelineEvent(at, action, kind, place(where), count=count, line=1), at)

    def grant(self, card: int, rank: int, at: int) -> None:
        view = self.views[card]
        view.granted(rank, view.epoch + 1)
        self.watch.cards[card].role.elected(view.host[rank], view.epoch, at)
        self.watch.roles_changed(at)

    def lapse(self, card: int, at: int) -> None:
        view = self.views[card]
        self.watch.cards[card].role.gone(view.entry or 0, at)
        self.watch.noticed([card], at)
        view.rank = None
        view.lost()
        self.watch.roles_changed(at)

    def boundary(self, gpu: int | None, at: int, epoch: int = 2) -> None:
        role = self.watch.links[0]
        role.holders.clear()
        if gpu is not None:
            role.elected(gpu, epoch, at)
        self.watch.roles_changed(at)

    def count(
        self,
        card: int,
        gpu: int,
        members: tuple[int, ...],
        at: int,
        verdict: CensusVerdict = CensusVerdict.RING,
        slow: tuple[int, ...] = (),
    ) -> None:
        """A right count, and the CPU takes it in."""
        view = self.views[card]
        view.members, view.count, view.known, view.reachable = members, len(members), True, True
        view.degraded = frozenset(slow)
        view.weight = sum(1 if member in slow else 4 for member in members)
        self.watch.counted(card, gpu, Counted(len(members), members, verdict, None, None, 1, at - 50, slow), at)
        self.watch.reported(card, at)

    def verdicts(self, now: int = 10**9) -> list[tuple[str, bool, bool]]:
        """Of every event its kind, whether it counts as recovered in time or not to be judged, and the latter."""
        return [(r.fault, r.ok, r.superseded) for r in self.watch.recoveries(now)]

    def unsettled(self, now: int = 10**9) -> tuple[str, ...]:
        ends = {3: 2, 2: 3}  # a.3 is wired to b.2, a.2 to b.3
        holders = {gpu for gpu in [self.watch.links[0].holder] if gpu is not None}
        counted = {0: holders, 1: {ends[gpu] for gpu in holders}}
        for card, view in enumerate(self.views):
            view.boundaries = tuple(counted[card]) if view.entry is not None else ()
        return self.broken(now)

    def broken(self, now: int = 10**9) -> tuple[str, ...]:
        """What isn't as it should be at the end, with the boundary GPUs that the CPU's views have."""
        cpu = cast(Cpu, SimpleNamespace(cards=self.views))  # it is asked for no more than that
        names = Names(self.watch, self.views, self.bounds)
        unasked = cast(Orphans, None), cast(Acceptance, None), names, cast(Conduct, None), cast(Applications, None)
        evidence = RunEvidence(now, self.wiring, cpu, self.watch, *unasked)
        found = map(str, violations(evidence, frozenset({"bounded_recovery", "one_grant"})))
        return tuple(text.removeprefix("at the end: ") for text in found if text.startswith("at the end: "))


LATE, IN_TIME, NOT_JUDGED = (False, False), (True, False), (True, True)


def verdict(bench: Bench, now: int = 10**9) -> tuple[bool, bool]:
    """Of the last event."""
    return bench.verdicts(now)[-1][1:]


def test_a_wrong_count_is_kept_with_its_card_and_cycle() -> None:
    bench = Bench()
    bench.count(0, 0, EVERYBODY, 1000)
    assert bench.watch.cards[0].wrong_counts == []
    bench.count(0, 0, (0, 1, 2), 1234)
    (wrong,) = bench.watch.cards[0].wrong_counts
    assert (str(wrong), wrong.at) == ("wrong count accepted: card a at cycle 1234: 3 [0, 1, 2]", 1234)
    assert bench.watch.cards[1].wrong_counts == []


@pytest.mark.parametrize("kind", ["dead", "hang", "babble"])
def test_a_failed_gpu_must_be_missing_in_a_count_within_the_bound(kind: str) -> None:
    bench, bound = Bench(), BOUNDS.recovery("fault", kind)
    bench.event(5000, "fault", kind, "a.4")
    assert verdict(bench, 5000 + bound) == NOT_JUDGED  # there is time left
    assert verdict(bench, 5001 + bound) == LATE
    bench.count(0, 0, EVERYBODY, 5060)
    assert verdict(bench) == LATE
    bench.count(0, 0, (0, 1, 2, 3), 5000 + bound)
    assert verdict(bench) == IN_TIME
    (recovery,) = bench.watch.recoveries(10**9)
    assert (recovery.detected, recovery.recounted, recovery.bound) == (5000 + bound, 5000 + bound, bound)


def test_a_count_that_comes_too_late_is_late() -> None:
    bench, bound = Bench(), BOUNDS.recovery("fault", "dead")
    bench.event(5000, "fault", "dead", "a.4")
    bench.count(0, 0, (0, 1, 2, 3), 5001 + bound)
    assert verdict(bench) == LATE


def test_a_cut_must_be_seen_as_one() -> None:
    bench = Bench()
    bench.event(5000, "fault", "link_cut", "a.1-a.2")
    bench.count(0, 0, EVERYBODY, 5200)
    assert verdict(bench) == LATE
    bench.count(0, 0, EVERYBODY, 5400, CensusVerdict.ARMS)
    assert verdict(bench) == IN_TIME


def test_who_cannot_be_heard_lying_need_not_be_named() -> None:
    bench = Bench()
    bench.event(1000, "fault", "dead", "a.4")
    bench.event(5000, "fault", "corrupt", "a.4")
    assert all(ok for _, ok, _ in bench.verdicts())


@pytest.mark.parametrize("kind", sorted(having(Trait.LIES)))
def test_who_is_heard_lying_must_be_named(kind: str) -> None:
    bench = Bench()
    bench.event(5000, "fault", kind, "a.4")
    assert bench.watch.recoveries(10**9)[0].recounted is None
    bench.watch.suspected(0, Suspected((2, 3)), 5100)
    assert bench.watch.recoveries(10**9)[0].recounted is None
    bench.watch.suspected(0, Suspected((4,)), 5200)
    assert bench.watch.recoveries(10**9)[0].recounted == 5200


@pytest.mark.parametrize("kind", sorted(having(Trait.LIES)))
def test_a_liar_that_nobody_names_is_a_failure(kind: str) -> None:
    bench = Bench()
    bench.event(5000, "fault", kind, "a.4")
    assert verdict(bench) == LATE


def test_a_liar_that_was_not_named_in_time_is_a_failure_whatever_happens_later() -> None:
    bench = Bench()
    bench.event(5000, "fault", "corrupt", "a.4")
    bench.event(5001 + BOUNDS.recovery("fault", "corrupt"), "fault", "dead", "a.2")
    assert bench.verdicts()[0][1:] == LATE


def test_of_a_gpu_with_another_ones_number_it_is_enough_not_to_believe_it() -> None:
    bench = Bench()
    bench.event(5000, "fault", "duplicate_id", "a.4")
    bench.watch.rejected(0, Rejected("order", 2), 5100)
    assert verdict(bench) == IN_TIME
    assert bench.watch.cards[0].rejected == {"order": 1}


def test_when_a_liar_is_well_again_there_must_be_a_count() -> None:
    bench = Bench()
    bench.event(5000, "fault", "corrupt", "a.4")
    bench.watch.suspected(0, Suspected((4,)), 5200)
    bench.event(9000, "clear", "corrupt", "a.4")
    assert verdict(bench) == LATE
    bench.count(0, 0, EVERYBODY, 9100)
    assert verdict(bench) == IN_TIME


def test_nobody_is_judged_while_another_fault_of_the_same_gpu_lies() -> None:
    bench = Bench()
    bench.event(1000, "fault", "dead", "a.4")
    bench.event(1100, "fault", "corrupt", "a.4")
    bench.event(5000, "clear", "dead", "a.4")
    assert verdict(bench) == NOT_JUDGED


def test_of_two_liars_the_second_need_not_be_named() -> None:
    bench = Bench()
    bench.event(1000, "fault", "corrupt", "a.2")
    bench.watch.suspected(0, Suspected((2,)), 1200)
    bench.event(9000, "fault", "corrupt", "a.4")
    assert verdict(bench) == NOT_JUDGED


def test_an_event_whose_time_was_up_is_late_whatever_happens_later() -> None:
    late, overtaken = Bench(), Bench()
    bound = BOUNDS.recovery("fault", "dead")
    for bench, next_event in ((late, 1000 + bound + 1), (overtaken, 1000 + bound)):
        bench.event(1000, "fault", "dead", "a.4")
        bench.event(next_event, "fault", "dead", "a.2")
    assert not late.watch.recoveries(10**9)[0].ok
    assert overtaken.watch.recoveries(10**9)[0].ok


def test_what_happens_to_another_card_is_no_excuse() -> None:
    bench = Bench()
    bench.event(1000, "fault", "dead", "a.4")
    bench.event(1100, "fault", "dead", "b.1")
    assert bench.verdicts()[0][1:] == LATE


def test_a_further_event_gets_the_time_that_the_one_before_needs_to_settle() -> None:
    bench, bound = Bench(), BOUNDS.recovery("fault", "dead", 1)
    bench.event(5000, "fault", "babble", "a.4")
    bench.event(5100, "fault", "dead", "a.2")
    waiting = BOUNDS.settling("babble") - 100
    assert bench.watch.recoveries(10**9)[-1].bound >= bound + waiting


def test_when_the_entry_gpu_fails_the_role_must_move_and_the_new_one_count() -> None:
    bench = Bench()
    bench.event(5000, "fault", "dead", "a.0")
    bound = bench.watch.recoveries(10**9)[0].bound
    assert bound >= BOUNDS.recovery("fault", "dead") + BOUNDS.election_bound(2)
    assert verdict(bench, 5001 + bound) == LATE
    bench.lapse(0, 8000)
    assert bench.watch.recoveries(10**9)[0].detected == 8000
    assert verdict(bench) == LATE
    bench.grant(0, 1, 8500)
    assert verdict(bench) == LATE  # nobody has counted yet
    bench.count(0, 1, (1, 2, 3, 4), 9000)
    assert verdict(bench) == IN_TIME
    assert bench.unsettled() == ()


@pytest.mark.parametrize("kind", ["host_link_cut", "keepalive_loss", "hang", "switch_stuck_bypass"])
def test_a_gpu_that_the_cpu_cannot_hear_cannot_be_its_entry(kind: str) -> None:
    bench = Bench()
    bench.event(5000, "fault", kind, "a.0")
    assert [bench.watch.cards[0].truth.can_be_entry(gpu) for gpu in (0, 1)] == [False, True]
    assert verdict(bench) == LATE
    bench.event(50_000, "clear", kind, "a.0")
    assert bench.watch.cards[0].truth.can_be_entry(0)


def test_an_event_that_needs_nothing_to_happen_is_not_judged() -> None:
    """The other GPU with a link to the CPU loses it; and fewer keepalives are lost than it takes."""
    bench = Bench()
    bench.event(5000, "fault", "host_link_cut", "a.1")
    bench.event(6000, "fault", "keepalive_loss", "a.0", count=SERVER.settings.keepalive_multiplier - 1)
    assert [ok and superseded for _, ok, superseded in bench.verdicts()] == [True, True]
    assert bench.unsettled() == ()
    assert bench.watch.cards[0].truth.can_be_entry(0)


def test_as_many_lost_keepalives_as_it_takes_are_judged_and_end_by_themselves() -> None:
    bench = Bench()
    bench.event(6000, "fault", "keepalive_loss", "a.0", count=SERVER.settings.keepalive_multiplier)
    assert verdict(bench) == LATE
    bench.watch.loss_over(0, 0, 0)
    assert bench.watch.cards[0].truth.can_be_entry(0)


def test_when_nobody_can_be_the_entry_the_card_must_be_given_up_and_no_more() -> None:
    bench = Bench()
    bench.event(5000, "fault", "dead", "b.0")
    assert verdict(bench) == LATE
    assert bench.unsettled() == ("card b: reachable, though none of its GPUs can be the entry",)
    bench.lapse(1, 8500)
    assert verdict(bench) == IN_TIME
    assert bench.unsettled() == ()


def test_when_the_only_one_is_back_it_must_be_elected_and_count() -> None:
    bench = Bench()
    bench.event(5000, "fault", "dead", "b.0")
    bench.lapse(1, 8500)
    bench.event(50_000, "clear", "dead", "b.0")
    bound = bench.watch.recoveries(10**9)[-1].bound
    assert bound >= bench.bounds[1].return_bound(1)
    assert verdict(bench) == LATE
    bench.grant(1, 0, 54_000)
    assert verdict(bench) == LATE
    bench.count(1, 0, (0, 1, 2, 3), 54_500)
    assert verdict(bench) == IN_TIME


# Link a.3-b.2 is held; a.2-b.3 is there in its place.
LOSES_ITS_LINK = [
    ("boundary_link_cut", "a.3-b.2"),
    ("link_one_way", "a.3-b.2"),
    ("dead", "a.3"),
    ("dead", "b.2"),
    ("keepalive_loss", "a.3"),
    ("keepalive_loss", "b.2"),
]


@pytest.mark.parametrize(("kind", "where"), LOSES_ITS_LINK)
def test_a_lost_link_between_cards_must_be_replaced(kind: str, where: str) -> None:
    bench = Bench()
    bench.event(5000, "fault", kind, where)
    if kind == "dead":
        members = (0, 1, 2, 4) if where == "a.3" else (0, 1, 3)
        bench.count(0 if where == "a.3" else 1, 0, members, 5500)
    assert verdict(bench) == LATE
    assert any("boundary of cards a and b: held by 3, can be held by [2]" in text for text in bench.unsettled())
    bench.boundary(2, 8000)
    assert verdict(bench) == IN_TIME
    assert bench.unsettled() == ()


def test_a_link_that_is_not_in_use_may_be_cut() -> None:
    bench = Bench()
    bench.event(5000, "fault", "boundary_link_cut", "a.2-b.3")
    assert verdict(bench) == NOT_JUDGED
    assert bench.unsettled() == ()


def test_with_all_links_cut_nobody_may_hold_the_role() -> None:
    bench = Bench()
    bench.event(5000, "fault", "boundary_link_cut", "a.2-b.3")
    bench.event(50_000, "fault", "boundary_link_cut", "a.3-b.2")
    assert verdict(bench) == LATE
    assert bench.unsettled() == ("boundary of cards a and b: held by 3, can be held by []",)
    bench.boundary(None, 53_000)
    assert verdict(bench) == IN_TIME
    assert bench.unsettled() == ()


def test_a_slow_gpu_must_be_reported_slow_and_later_not() -> None:
    bench = Bench()
    bench.event(5000, "fault", "slow", "a.4")
    bench.count(0, 0, EVERYBODY, 5200)
    assert verdict(bench) == LATE
    bench.count(0, 0, EVERYBODY, 5400, slow=(4,))
    assert verdict(bench) == IN_TIME
    bench.event(50_000, "clear", "slow", "a.4")
    bench.count(0, 0, EVERYBODY, 50_200, slow=(4,))
    assert verdict(bench) == LATE
    bench.count(0, 0, EVERYBODY, 50_400)
    assert verdict(bench) == IN_TIME


def test_a_slow_link_must_be_reported_to_the_cpu_by_its_name() -> None:
    bench = Bench()
    bench.event(5000, "fault", "link_delay", "a.1-a.2")
    for link, expected in ((None, LATE), (2, LATE), (1, IN_TIME)):
        bench.views[0].slow_link = link
        bench.count(0, 0, EVERYBODY, 5400)
        assert verdict(bench) == expected


def test_a_slow_link_beside_a_gpu_that_counts_for_nothing_is_not_judged() -> None:
    bench = Bench()
    bench.event(5000, "fault", "dead", "a.4")
    bench.count(0, 0, (0, 1, 2, 3), 5500)
    bench.event(50_000, "fault", "link_delay", "a.3-a.4")
    assert verdict(bench) == NOT_JUDGED


@pytest.mark.parametrize(("kind", "where"), [("link_bit_errors", "a.1-a.2"), ("flap", "a.4")])
def test_while_luck_rules_nobody_on_that_card_is_judged_but_the_others_are(kind: str, where: str) -> None:
    bench = Bench()
    bench.event(5000, "fault", kind, where)
    bench.event(50_000, "fault", "dead", "a.2")
    bench.event(90_000, "fault", "dead", "b.1")
    assert [v[1:] for v in bench.verdicts()[-2:]] == [NOT_JUDGED, LATE]
    assert all("card a" not in text for text in bench.unsettled())


def test_a_flapping_gpu_may_be_found_or_not_until_it_has_settled() -> None:
    bench = Bench()
    bench.event(5000, "fault", "flap", "a.4")
    bench.watch.flapped(0, 4, True, 5000)
    bench.watch.flapped(0, 4, False, 5100)
    bench.count(0, 0, EVERYBODY, 5200)
    bench.count(0, 0, (0, 1, 2, 3), 5250)
    assert bench.watch.cards[0].wrong_counts == []
    bench.count(0, 0, (0, 1, 2), 5300)
    assert len(bench.watch.cards[0].wrong_counts) == 1


def test_at_the_end_all_must_be_as_it_should() -> None:
    bench = Bench()
    assert bench.unsettled() == ()
    bench.event(5000, "fault", "dead", "a.4")
    assert bench.unsettled(5000 + BOUNDS.recovery("fault", "dead")) == ()  # there is time left
    assert bench.unsettled() == ("card a: count 5, not 4; members [0, 1, 2, 3, 4], not [0, 1, 2, 3]",)
    bench.count(0, 0, (0, 1, 2, 3), 5500)
    assert bench.unsettled() == ()
    bench.lapse(0, 90_000)
    assert bench.unsettled() == ("card a: no entry GPU of [0, 1], but None",)


def test_what_differs_from_the_oracle_is_said() -> None:
    bench = Bench()
    assert bench.watch.differs(0) is None
    bench.event(5000, "fault", "dead", "a.4")
    assert bench.watch.differs(0) == "count 5, not 4; members [0, 1, 2, 3, 4], not [0, 1, 2, 3]"
    assert bench.watch.differs(1) is None
    bench.count(0, 0, (0, 1, 2, 3), 5500)
    assert bench.watch.differs(0) is None
    bench.event(6000, "fault", "link_cut", "a.1-a.2")
    assert bench.watch.differs(0) == "break None, not (1, 2)"
    bench.event(7000, "fault", "link_cut", "a.2-a.3")
    bench.count(0, 0, (0, 1, 3), 7500, CensusVerdict.ARMS)
    bench.views[0].break_after, bench.views[0].break_before = 1, 3
    assert bench.watch.differs(0) is None
    assert bench.views[0].stranded == (2,)
    bench.views[0].break_before = 0
    assert bench.watch.differs(0) == "break (1, 0), not (1, 3); stranded [2, 4], not [2]"


def test_a_role_may_not_move_without_a_reason() -> None:
    bench = Bench()
    bench.grant(0, 1, 9000)
    bench.count(0, 1, EVERYBODY, 9500)
    assert bench.unsettled() == ("card a: entry GPU 1, not 0",)


def test_both_cards_must_know_the_same_pair() -> None:
    bench = Bench()
    for view in bench.views:
        view.boundaries = (3,)
    assert bench.broken() == ("boundary of cards a and b: boundary GPU of card b is [3], not [2]",)
