"""A failing scenario becomes as small as its failure allows; properties over random scenarios and failures."""

import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.emulator.scenario.samples import documents

from ringhil.emulator.campaign.minimise import Fails, shrink
from ringhil.emulator.campaign.minimise.size import size
from ringhil.emulator.scenario import GpuRef, LinkRef, Scenario, TimelineEvent, dumps, loads

ENOUGH = 5_000  # tries
unhurried = settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any scenario, in which among other things a GPU dies, and a ring link is cut later."""
    scenario = loads(json.dumps(draw(documents())))
    card = draw(st.sampled_from(scenario.server.cards))
    gpu = GpuRef(card.name, draw(st.integers(0, card.gpus - 1)))
    link = LinkRef(card.name, draw(st.integers(0, card.gpus - 1)), card.gpus)
    died, later = draw(st.integers(0, 10**5)), draw(st.integers(1, 10**5))
    assume(all(event.target not in (gpu, link) for event in scenario.timeline))
    added = [
        TimelineEvent(died, "fault", "dead", gpu, None, 0),
        TimelineEvent(died + later, "fault", "link_cut", link, None, 0),
    ]
    timeline = sorted([*scenario.timeline, *added], key=lambda event: event.at)
    until = None if scenario.until is None else max(scenario.until, timeline[-1].at + 1)
    return replace(scenario, timeline=tuple(timeline), until=until)


def dies_then_cut(scenario: Scenario) -> str | None:
    """Fails when a GPU has died and a link is cut later."""
    died = [e.at for e in scenario.timeline if (e.action, e.kind) == ("fault", "dead")]
    cut = [e.at for e in scenario.timeline if (e.action, e.kind) == ("fault", "link_cut")]
    return "late" if died and cut and min(died) < max(cut) else None


def by_chance(salt: int, share: int) -> Fails:
    """Fails or not as the text of the scenario says: one of `share` fails."""
    return lambda scenario: "bad" if zlib.crc32(f"{salt}{dumps(scenario)}".encode()) % share == 0 else None


def seen_by(fails: Fails, seen: list[Scenario]) -> Fails:
    def asked(scenario: Scenario) -> str | None:
        seen.append(scenario)
        return fails(scenario)

    return asked


@pytest.mark.rest
@unhurried
@given(scenarios())
def test_exactly_the_faults_that_matter_are_left(scenario: Scenario) -> None:
    shrunk = shrink(scenario, dies_then_cut, budget=ENOUGH)
    left = shrunk.scenario
    assert [(e.action, e.kind) for e in left.timeline] == [("fault", "dead"), ("fault", "link_cut")]
    assert [card.gpus for card in left.server.cards if card.name in {e.target.card for e in left.timeline}] in (
        [2],
        [3],
        [2, 2],
    )
    assert left.server.boundary_links == ()
    assert (left.workload, left.until, left.expect, left.seed) == (None, None, (), 1)
    assert left.timeline[0].at == 0
    assert 1 <= left.timeline[1].at <= 10
    assert shrunk.failure == "late"


@pytest.mark.slow(part="bugs")
@unhurried
@given(scenarios(), st.integers(0, 99), st.integers(1, 4))
def test_whatever_fails_shrinking_keeps_its_promises(scenario: Scenario, salt: int, share: int) -> None:
    fails = by_chance(salt, share)
    scenario = replace(scenario, lines=())  # they are left out first of all
    assume(fails(scenario) is not None)
    seen: list[Scenario] = []
    shrunk = shrink(scenario, seen_by(fails, seen), budget=ENOUGH)
    # Valid, every time.
    assert all(loads(dumps(candidate), candidate.name) == candidate for candidate in seen)
    # It fails, and is never larger; only what is smaller is looked at.
    assert fails(shrunk.scenario) == shrunk.failure == "bad"
    assert size(shrunk.scenario) <= size(scenario)
    assert all(size(candidate) <= size(scenario) for candidate in seen)
    # The same again, and nothing more to be gained.
    assert shrink(scenario, fails, budget=ENOUGH) == shrunk
    again = shrink(shrunk.scenario, fails, budget=ENOUGH)
    assert (again.scenario, again.steps) == (shrunk.scenario, 0)
    assert shrunk.tries == len(seen)


@pytest.mark.rest
@unhurried
@given(scenarios(), st.integers(1, 40))
def test_no_more_is_played_than_allowed(scenario: Scenario, budget: int) -> None:
    seen: list[Scenario] = []
    told: list[tuple[int, int]] = []
    shrunk = shrink(
        scenario, seen_by(dies_then_cut, seen), budget=budget, progress=lambda done, most: told.append((done, most))
    )
    assert shrunk.tries == len(seen) <= budget
    assert told == [(n, budget) for n in range(2, len(seen) + 1)]
    assert dies_then_cut(shrunk.scenario) == "late"


@pytest.mark.rest
@unhurried
@given(scenarios())
def test_another_failure_is_not_taken_for_this_one(scenario: Scenario) -> None:
    def fails(candidate: Scenario) -> str | None:
        return dies_then_cut(candidate) or "something else"

    assert dies_then_cut(shrink(scenario, fails, budget=ENOUGH).scenario) == "late"


def test_what_does_not_fail_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^quiet: doesn't fail"):
        shrink(loads("server: {cards: {a: {gpus: 4}}}", "quiet"), lambda scenario: None)


LARGE = """
server:
  cards:
    a: {gpus: 64, host_links: [0, 1], types: {default: H200}, weights: {3: 7}}
    b: {gpus: 12, host_links: [2, 3]}
    c: {gpus: 5}
  boundary_links:
    - {from: [a.40, a.41, a.42], to: [b.8, b.7, b.6]}
    - {from: b.0, to: c.3}
  settings: {census_period: 700, keepalive_multiplier: 4, keepalive_jitter: 10, window: 2}
workload: {units: 900, size: 3000, across: 30}
timeline:
  - {at: 3127, fault: link_cut, link: a.20-a.21}
  - {at: 3127, fault: flap, gpu: b.3, period: 77}
  - {at: 3150, fault: dead, gpu: a.21}
  - {at: 4000, fault: boundary_link_cut, link: a.41-b.7}
  - {at: 5011, clear: dead, gpu: a.21}
  - {at: 5020, fault: keepalive_loss, gpu: a.1, count: 3}
  - {at: 6000, clear: link_cut, link: a.20-a.21}
until: 90000
expect:
  - {by: 9000, count: {a: 63, b: 12}}
  - {end: true, work: {completed: 900}, entry: {a: a.0, b: b.2}}
"""


def has(test: Callable[[Scenario], bool]) -> Fails:
    return lambda scenario: "it" if test(scenario) else None


def small(test: Callable[[Scenario], bool]) -> Scenario:
    """What is left of LARGE when it fails as long as `test` says so."""
    assert test(loads(LARGE, "large"))
    left = shrink(loads(LARGE, "large"), has(test), budget=ENOUGH).scenario
    assert test(left)
    return left


def events(scenario: Scenario, kind: str) -> list[TimelineEvent]:
    return [event for event in scenario.timeline if event.kind == kind]


def test_neighbours_stay_neighbours_on_a_smaller_ring() -> None:
    def dies_behind_the_cut(scenario: Scenario) -> bool:
        pairs = ((c.target, d.target) for c in events(scenario, "link_cut") for d in events(scenario, "dead"))
        return any(
            isinstance(cut, LinkRef) and cut.after == gpu and cut.gpus >= 4 and gpu.index > 1 for cut, gpu in pairs
        )

    left = small(dies_behind_the_cut)
    (card,) = left.server.cards
    assert (card.gpus, card.host_links, card.types, card.weights) == (4, (0,), ("generic",) * 4, (1,) * 4)
    assert len(left.timeline) == 2


def test_a_clear_stays_when_it_matters() -> None:
    left = small(lambda s: any(e.action == "clear" and e.kind == "dead" for e in s.timeline))
    assert [(e.at, e.action, str(e.target)) for e in left.timeline] == [(0, "fault", "a.1"), (0, "clear", "a.1")]
    assert left.server.card("a").gpus == 2


def test_links_between_cards_and_their_members_stay_wired() -> None:
    left = small(lambda s: bool(events(s, "boundary_link_cut")) and len(s.server.boundary_links[0].pairs) >= 2)
    (link,) = left.server.boundary_links
    assert [card.name for card in left.server.cards] == ["a", "b"]
    assert [card.gpus for card in left.server.cards] == [3, 3]
    assert left.timeline[0].target in link.refs
    assert len(link.pairs) == 2


def test_the_distance_between_two_faults_is_kept_and_rounded() -> None:
    def close(scenario: Scenario) -> bool:
        at = [[e.at for e in events(scenario, kind) if e.action == "fault"] for kind in ("link_cut", "dead")]
        return all(at) and 18 <= at[1][0] - at[0][0] <= 28 and at[0][0] >= 1500

    assert [e.at for e in small(close).timeline] == [2000, 2020]


def test_distances_become_equal() -> None:
    def apart(scenario: Scenario) -> bool:
        at = [e.at for e in scenario.timeline]
        return len(at) >= 4 and all(b - a >= 15 for a, b in pairwise(at))

    scenario = loads(LARGE, "large")
    spread = tuple(replace(event, at=3000 + 37 * n**2) for n, event in enumerate(scenario.timeline[2:]))
    scenario = replace(scenario, timeline=(scenario.timeline[0], *spread), expect=(), until=None)
    left = shrink(scenario, has(apart), budget=ENOUGH).scenario
    assert [e.at for e in left.timeline] == [0, 20, 40, 60]


def test_work_becomes_less() -> None:
    left = small(lambda s: s.workload is not None and (s.workload.units or 0) * s.workload.size > 30_000)
    assert left.workload is not None
    assert (left.workload.units, left.workload.size, left.workload.across) == (20, 3000, 0)
    assert left.timeline == ()


def test_settings_and_parameters_that_matter_stay() -> None:
    left = small(lambda s: s.server.settings.census_period < 1000 and any(e.count == 3 for e in s.timeline))
    assert left.server.settings == replace(loads("server: {cards: {a: {gpus: 2}}}").server.settings, census_period=700)
    assert [(e.kind, e.count) for e in left.timeline] == [("keepalive_loss", 3)]


def test_an_expectation_that_matters_stays_and_speaks_of_the_smaller_server() -> None:
    left = small(lambda s: any(" completed" in str(c) for e in s.expect for c in e.checks) and s.workload is not None)
    assert [list(map(str, e.checks)) for e in left.expect] == [["work units: 1 completed"]]
    assert left.workload is not None
    assert left.workload.units == 1


def test_events_of_management_lines_are_left_out_first_of_all() -> None:
    events = "[{at: 5, fault: line_drop, card: a}, {at: 7, fault: dead, gpu: a.1}]"
    text = f"server: {{cards: {{a: {{gpus: 3}}}}}}\ntimeline: {events}\n"
    seen: list[Scenario] = []
    shrink(loads(text), seen_by(lambda candidate: "bad" if candidate.timeline else None, seen), budget=ENOUGH)
    assert seen
    assert all(candidate.lines == () for candidate in seen)


def test_only_the_application_that_matters_is_left_on_its_gpu() -> None:
    text = """
server: {cards: {a: {gpus: 6}, b: {gpus: 4}}}
sharing:
  applications:
    x: {gpu: a.4, steps: 3, compute: 900}
    y: {gpu: a.1, steps: 9, compute: 900}
    z: {gpu: b.1, steps: 9, compute: 900}
expect: [{end: true, applications: {x: {steps: 4}, y: {steps: 9}}}]
"""

    def fails(scenario: Scenario) -> str | None:
        there = scenario.sharing.applications if scenario.sharing else ()
        return "bad" if any(a.name == "x" and a.steps == 3 for a in there) else None

    small = shrink(loads(text), fails, budget=ENOUGH).scenario
    assert small.sharing is not None
    (left,) = small.sharing.applications
    assert (left.name, str(left.gpu)) == ("x", "a.1")
    assert [card.gpus for card in small.server.cards] == [2]
    assert loads(dumps(small)) == small


def test_only_the_request_that_matters_is_left_on_its_gpus() -> None:
    text = """
server: {cards: {a: {gpus: 6}, b: {gpus: 4}}}
switching:
  gpu: [a.4, a.5]
  tasks:
    x: {layers: [{name: l, weights: 1, operations: 1}]}
    y: {layers: [{name: l, weights: 2, operations: 2}]}
  requests: [{task: x}, {task: y}, {task: x}]
"""

    def fails(scenario: Scenario) -> str | None:
        requests = scenario.switching.requests if scenario.switching else ()
        return "bad" if any(request.task == "y" for request in requests) else None

    small = shrink(loads(text), fails, budget=ENOUGH).scenario
    assert small.switching is not None
    assert [request.task for request in small.switching.requests] == ["y"]
    assert [task.name for task in small.switching.tasks] == ["y"]
    assert list(map(str, small.switching.gpus)) == ["a.1", "a.2"]
    assert [card.gpus for card in small.server.cards] == [3]
    assert loads(dumps(small)) == small
