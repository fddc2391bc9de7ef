"""The space of cases: complete, lazy, always the same."""

import re
from itertools import islice
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emulator.campaign.explore.servers import TWO

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.plan import KINDS, PARTS, Plan
from ringhil.emulator.campaign.explore.space import Round, Space
from ringhil.emulator.scenario import FAULTS, dumps, loads

SERVER = loads(TWO).server
ROUNDS = MappingProxyType({"a": Round(1000, 1047), "b": Round(1010, 1050)})


def space(**plan: object) -> Space:
    return Space(SERVER, ROUNDS, Plan(**plan))  # type: ignore[arg-type]


PLANS = st.builds(
    Plan,
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True).map(tuple),
    depth=st.integers(1, 3),
    phases=st.one_of(st.none(), st.integers(1, 50)),
    pair_phases=st.integers(1, 2),
    lasts=st.sampled_from([(None,), (700,), (None, 700)]),
    pairs=st.sampled_from(["together", "apart", "both"]),
    random=st.integers(0, 30),
    parts=st.lists(st.sampled_from(PARTS), unique=True).map(tuple),
    seed=st.integers(0, 2**32 - 1),
    window=st.one_of(st.none(), st.integers(1, 2000)),
).filter(lambda plan: plan.depth <= max(2, len(plan.spots(SERVER))))


@pytest.mark.rest
@settings(max_examples=40, deadline=None)
@given(PLANS)
def test_its_size_is_known_before_it_is_made_and_no_key_comes_twice(plan: Plan) -> None:
    made = list(Space(SERVER, ROUNDS, plan))
    assert len(made) == len(Space(SERVER, ROUNDS, plan))
    assert len({case.key for case in made}) == len(made)
    assert made == list(Space(SERVER, ROUNDS, plan))


@settings(max_examples=25, deadline=None)
@given(PLANS, st.integers(0, 10_000))
def test_every_case_can_be_written_to_a_file_that_means_the_same(plan: Plan, number: int) -> None:
    chosen = Space(SERVER, ROUNDS, plan)
    case = next(islice(chosen, number % len(chosen), None))
    text = f"{TWO}timeline: {case.schedule.to_json()}\n"
    scenario = loads(text)
    assert scenario.timeline == case.schedule.events
    assert loads(dumps(scenario)).timeline == case.schedule.events


def test_in_a_window_they_strike_in_all_of_it_from_the_beginning_of_a_round_on() -> None:
    cases = list(space(kinds=("dead",), phases=5, lasts=(None,), window=4000))[1:]
    for card, begins in (("a", 1000), ("b", 1010)):
        at = {case.schedule.events[0].at for case in cases if case.place.startswith(f"{card}.")}
        assert at == {begins + phase for phase in (0, 1000, 2000, 3000, 4000)}


@pytest.mark.parametrize("window", [0, 10**9 + 1])
def test_a_window_has_its_limits(window: int) -> None:
    with pytest.raises(ExploreError, match=f"--window: {window}; 1 .. 1000000000 is allowed"):
        Plan(window=window)


def test_single_faults_strike_everywhere_in_every_cycle_of_a_round() -> None:
    cases = list(space(phases=None, lasts=(None,)))[1:]
    struck = {(c.cls, c.place, c.schedule.start) for c in cases}
    for kind in ("dead", "corrupt", "flap"):
        for card, size, start, end in (("a", 5, 1000, 1047), ("b", 4, 1010, 1050)):
            for gpu in range(size):
                for cycle in range(start, end + 1):
                    assert (kind, f"{card}.{gpu}", cycle) in struck
    assert {c.cls for c in cases} == set(FAULTS)
    links = {place for kind, place, _ in struck if kind == "link_one_way"}
    assert {"a.4-a.0", "a.0-a.4", "a.3-b.2", "b.2-a.3"} <= links
    assert len(links) == 2 * (5 + 4 + 2)
    assert {place for kind, place, _ in struck if kind == "boundary_link_cut"} == {"a.3-b.2", "a.2-b.3"}
    assert {place for kind, place, _ in struck if kind == "host_link_cut"} == {"a.0", "a.1", "b.0", "b.1"}
    assert {place for kind, place, _ in struck if kind == "keepalive_loss"} == {
        f"{c}.{g}" for c in "ab" for g in range(4)
    }


def test_a_fault_is_left_and_cleared_and_a_counted_one_ends_by_itself() -> None:
    cases = [c for c in space(phases=1, lasts=(None, 700)) if c.place == "a.1"]
    for kind in ("dead", "slow"):
        left, cleared = (c.schedule.events for c in cases if c.cls == kind)
        assert [e.action for e in left] == ["fault"]
        assert [(e.action, e.at - cleared[0].at) for e in cleared] == [("fault", 0), ("clear", 700)]
    counts = [c.schedule.events[0].count for c in cases if c.cls == "keepalive_loss"]
    assert counts == [None, None, 2, 3]  # one less than the multiplier changes nothing, as many move a role


def test_pairs_are_all_of_them_together_once_and_apart_in_either_order() -> None:
    pairs = [c for c in space(kinds=("dead",), depth=2, lasts=(None,), phases=1) if c.depth == 2]
    gpus = [f"a.{n}" for n in range(5)] + [f"b.{n}" for n in range(4)]
    together = {frozenset(c.place.split(", ")) for c in pairs if c.schedule.events[1].at == c.schedule.start}
    assert together == {frozenset((x, y)) for x in gpus for y in gpus if x != y}
    apart = [c.place for c in pairs if c.schedule.events[1].at - c.schedule.start == 100]
    assert sorted(apart) == sorted(f"{x}, {y}" for x in gpus for y in gpus if x != y)
    assert len(pairs) == 36 + 72


def test_all_one_and_two_gpu_failures_of_a_ring_of_64_are_2080() -> None:
    server = loads("server: {cards: {a: {gpus: 64}}}").server
    plan = Plan(kinds=("dead",), depth=2, phases=1, lasts=(None,), pairs="together")
    assert Space(server, {"a": Round(0, 400)}, plan).sizes == {"no fault": 1, "single faults": 64, "pairs": 2016}


def test_random_schedules_stay_within_depth_and_follow_from_seed_and_number() -> None:
    drawn = [c for c in space(kinds=("dead", "hang"), depth=5, random=200, phases=1) if "random" in c.cls]
    assert {c.depth for c in drawn} == {2, 3, 4, 5}
    fewer = [c for c in space(kinds=("dead", "hang"), depth=5, random=20, phases=4) if "random" in c.cls]
    assert drawn[:20] == fewer
    others = [c for c in space(kinds=("dead", "hang"), depth=5, random=200, phases=1, seed=2) if "random" in c.cls]
    assert all(a.schedule != b.schedule for a, b in zip(drawn, others, strict=True))


def test_keys_say_what_happens_and_not_when_the_server_was_powered_up() -> None:
    plan = Plan(kinds=("dead", "link_one_way"), depth=3, random=20, phases=2)
    early = Space(SERVER, ROUNDS, plan)
    late = Space(SERVER, {"a": Round(7000, 7047), "b": Round(7010, 7050)}, plan)
    assert [c.key for c in early] == [c.key for c in late]
    assert "47: dead a.3 +0 left" in {c.key for c in early}
    assert "23: dead a.3 +0 for 10000; link_one_way a.2-a.1 +100 for 10000" in {c.key for c in early}


def test_a_space_of_any_size_begins_at_once() -> None:
    huge = space(depth=3, random=10_000_000, phases=None, pair_phases=None)
    assert len(huge) > 10_000_000
    assert next(islice(huge, 500, None)).depth == 1


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"kinds": ("explode",)}, "unknown fault 'explode'; there are dead, hang"),
        ({"places": ("a.9",)}, "'a.9' fits no place of these faults; there are a.0"),
        ({"depth": 0}, "--depth: 0; 1 .. 32"),
        ({"depth": 20, "kinds": ("host_link_cut",)}, "there are 4 faults to choose from"),
        ({"random": -1}, "--random: -1"),
        ({"lasts": ()}, "--lasts"),
        ({"parts": ("all",)}, "unknown part 'all'; there are singles, pairs, random"),
    ],
)
def test_what_makes_no_space_is_refused(plan: dict[str, object], words: str) -> None:
    with pytest.raises(ExploreError, match=words.replace("(", r"\(")):
        space(**plan)


@pytest.mark.parametrize(
    ("pattern", "places"),
    [
        ("a.3", {"a.3"}),
        ("b.*", {"b.0", "b.1", "b.2", "b.3", "b.0-b.1", "b.1-b.2", "b.2-b.3", "b.3-b.0", "b.2-a.3", "b.3-a.2"}),
        ("a.4-a.3", {"a.3-a.4"}),
    ],
)
def test_places_are_chosen_by_patterns(pattern: str, places: set[str]) -> None:
    found = {c.place for c in space(kinds=("dead", "link_delay"), places=(pattern,), phases=1) if c.depth}
    assert {"-".join(sorted(p.split("-"))) for p in found} == {"-".join(sorted(p.split("-"))) for p in places}


@pytest.mark.parametrize(
    ("pattern", "places"),
    [
        ("b-1.3", {"b-1.3"}),
        ("b-1.2-b-1.1", {"b-1.1-b-1.2"}),
        ("b-1.2-a-1.3", {"a-1.3-b-1.2"}),
        ("1.3-b", None),
    ],
)
def test_a_dash_in_the_name_of_a_card_is_no_end_of_a_link(pattern: str, places: set[str] | None) -> None:
    server = loads(re.sub(r"\b([ab])\b(?=[.:])", r"\1-1", TWO)).server
    plan = Plan(kinds=("dead", "link_delay"), places=(pattern,))
    if places is None:
        with pytest.raises(ExploreError, match="fits no place"):
            plan.spots(server)
    else:
        assert {spot.where for spot in plan.spots(server)} == places
