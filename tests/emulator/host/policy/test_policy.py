"""Policies: no unit is forgotten or given twice, whatever they prefer; and what each of them prefers."""

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emulator.host.desk import SIZE, A, Desk

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.policy import POLICIES, Policy, Proportional, RoundRobin
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.scenario.file.policies import WorkPolicyName
from ringhil.firmware.grantor import Grantor
from ringhil.protocol.wire import Role

WINDOW = 4


def card(name: str, number: int, members: int, degraded: tuple[int, ...] = ()) -> CardView:
    view = CardView(name, number, 8, (0,), (8 * number,), Grantor(Role.ENTRY, 1000, 100))
    counted(view, members, degraded)
    return view


def counted(view: CardView, members: int, degraded: tuple[int, ...] = ()) -> None:
    view.members, view.degraded = tuple(range(members)), frozenset(degraded)
    view.weight = sum(1 if gpu in degraded else 4 for gpu in view.members)


def round_of(policy: Policy, barred: frozenset[tuple[str, int]] = frozenset()) -> list[tuple[str, int, int]]:
    """All that a CPU hands out at once: card, GPU and unit, in order."""
    given_out = []
    for view, gpu in policy.turns(WINDOW):
        unit = None if (view.name, gpu) in barred else policy.take(view, gpu)
        if unit is not None:
            view.load[gpu] = view.load.get(gpu, 0) + 1
            given_out.append((view.name, gpu, unit))
    return given_out


def rest_of(policy: Policy) -> list[tuple[str, int, int]]:
    """All that is left, with every result at once."""
    found = []
    while True:
        for view in policy.cards:
            view.load.clear()
        more = round_of(policy)
        if not more:
            return found
        found += more


def test_a_scenario_may_name_every_policy_and_no_other() -> None:
    assert list(POLICIES) == list(WorkPolicyName)


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_each_unit_is_given_out_once(name: str, data: st.DataObject) -> None:
    """While members come and go; GPUs with a full window or without membership get none."""
    cards = [card("a", 0, data.draw(st.integers(0, 8))), card("b", 1, data.draw(st.integers(0, 8)))]
    policy, units = POLICIES[name](cards), data.draw(st.integers(0, 80))
    policy.begin(units)
    assert sum(view.share for view in cards) == (units if any(view.members for view in cards) else 0)
    seen: list[int] = []
    for _ in range(data.draw(st.integers(0, 10))):
        counted(view := data.draw(st.sampled_from(cards)), data.draw(st.integers(0, 8)))
        policy.recount()
        for place, gpu, unit in round_of(policy):
            of = next(each for each in cards if each.name == place)
            assert gpu in of.members
            assert of.load[gpu] <= WINDOW
            seen.append(unit)
        view.load.clear()
    counted(cards[0], 8)
    policy.recount()
    seen += [unit for *_, unit in rest_of(policy)]
    assert sorted(seen) == list(range(units))


# ---------------------------------------------------------------------------------------------------- proportional


def test_shares_follow_the_weights() -> None:
    cards = [card("a", 0, 8), card("b", 1, 6)]
    Proportional(cards).begin(1000)
    assert [view.share for view in cards] == [571, 429]
    cards = [card("a", 0, 8, degraded=(7,)), card("b", 1, 6)]
    Proportional(cards).begin(530)
    assert [view.share for view in cards] == [290, 240]


def test_every_gpu_of_a_card_gets_its_first_unit_before_one_gets_a_second() -> None:
    policy = Proportional([card("a", 0, 3, degraded=(1,))])
    policy.begin(100)
    assert [gpu for _, gpu, _ in round_of(policy)] == [0, 1, 2, 0, 2, 0, 2, 0, 2]


def test_what_nobody_has_begun_is_split_anew_when_a_weight_changes() -> None:
    a, b = card("a", 0, 2), card("b", 1, 2)
    policy = Proportional([a, b])
    policy.begin(56)
    assert len(round_of(policy)) == 16
    counted(b, 6)
    policy.recount()
    assert Counter(name for name, *_ in rest_of(policy)) == {"a": 10, "b": 30}
    assert (a.share, b.share) == (28, 28)


# ----------------------------------------------------------------------------------------------------- round robin


def test_gpus_of_all_cards_take_turns() -> None:
    policy = RoundRobin([card("a", 0, 2), card("b", 1, 1)])
    policy.begin(7)
    assert round_of(policy) == [(*place, n) for n, place in enumerate([("a", 0), ("a", 1), ("b", 0)] * 2 + [("a", 0)])]


def test_shares_follow_the_counts_whatever_a_gpu_weighs() -> None:
    cards = [card("a", 0, 3, degraded=(0, 1, 2)), card("b", 1, 1)]
    RoundRobin(cards).begin(10)
    assert [view.share for view in cards] == [8, 2]


def test_a_full_window_is_waited_for() -> None:
    a, b = card("a", 0, 2, degraded=(1,)), card("b", 1, 1)
    policy = RoundRobin([a, b])
    policy.begin(100)
    assert round_of(policy) == [("a", 0, 0), ("a", 1, 1), ("b", 0, 2), ("a", 0, 3)]
    a.load[0] = b.load[0] = 0
    assert round_of(policy) == []
    a.load[1] = 0
    assert round_of(policy) == [("a", 1, 4), ("b", 0, 5), ("a", 0, 6)]
    alone = RoundRobin([card("a", 0, 3)])
    alone.begin(100)
    others = frozenset({("a", 1), ("a", 2)})
    assert round_of(alone, others) == [("a", 0, n) for n in range(WINDOW)]


def test_a_gpu_that_takes_no_unit_is_passed_over() -> None:
    policy = RoundRobin([card("a", 0, 2), card("b", 1, 1)])
    policy.begin(5)
    assert [place for *place, _ in round_of(policy, frozenset({("a", 1)}))] == [["a", 0], ["b", 0]] * 2 + [["a", 0]]


def test_a_lost_gpu_does_not_hold_the_turn() -> None:
    a, b = card("a", 0, 2, degraded=(1,)), card("b", 1, 1)
    policy = RoundRobin([a, b])
    policy.begin(100)
    round_of(policy)
    assert round_of(policy) == []
    counted(a, 1)
    assert round_of(policy)[0] == ("b", 0, 4)


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk(policy="round_robin")
    yield made
    made.close()


def test_the_cpu_hands_out_by_the_policy_that_it_is_told(desk: Desk) -> None:
    desk.claim(A, 0, 1)
    desk.report(A, 0, 1, degraded=(2,))
    desk.claim(1, 0, 1)
    desk.report(1, 0, 1)
    turns = [SIZE * work.card + work.destination for work in desk.work()]
    assert turns == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]


# --------------------------------------------------------------------------------------------------- what R5 gains

SERVER = """
server: {{cards: {{a: {{gpus: 8}}, b: {{gpus: 6}}}}, settings: {{compute_setup: 2000, policy: {policy}}}}}
workload: {{units: 280, size: 256}}
timeline: [{faults}]
"""
DEGRADED = "{at: 0, fault: slow, gpu: a.3}"


def cycles(policy: str, faults: str) -> int:
    """Cycles from power-up to the last result, in a run that the judge has nothing against."""
    ended: list[int] = []
    played = Run(loads(SERVER.format(policy=policy, faults=faults)), cells_library())
    played.cpu.on_progress = lambda done, units: ended.append(played.kernel.now)
    try:
        outcome = played.run()
    finally:
        played.close()
    assert outcome.failures == ()
    assert outcome.work["completed"] == len(ended) == 280
    return ended[-1]


@pytest.mark.rest
def test_shares_by_weight_are_faster_than_turns_when_a_gpu_is_degraded() -> None:
    """The figures of docs/reference/host.md."""
    found = {(policy, bool(faults)): cycles(policy, faults) for policy in POLICIES for faults in ("", DEGRADED)}
    assert found["round_robin", False] == found["proportional", False]
    assert 3.5 < found["round_robin", True] / found["proportional", True] < 3.8
