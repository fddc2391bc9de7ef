"""Maps of what was covered show every hole and no other; spreads say what the recoveries were."""

import random
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emulator.campaign.explore.reported import PASSED, campaign, space
from tests.emulator.campaign.explore.servers import RING, TWO

from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.report_figures import Figures, gathered
from ringhil.emulator.campaign.explore.report_maps import (
    LEFT,
    binned,
    by_kinds,
    by_phase,
    by_place,
    combinations,
    of_several,
)
from ringhil.emulator.campaign.explore.report_spread import Spread, quantile, recoveries
from ringhil.emulator.campaign.explore.report_terrain import Terrain, terrain
from ringhil.emulator.campaign.explore.rows import Row, StoredCampaign
from ringhil.emulator.campaign.explore.space import Case

KINDS = ("dead", "keepalive_loss", "link_cut", "boundary_link_cut", "link_one_way")
SINGLES = Plan(KINDS, phases=3, lasts=(None,))


def found(kept: StoredCampaign, cases: list[Case]) -> tuple[Figures, Terrain]:
    """Figures of cases that all passed."""
    rows = [Row(n, c.key, c.cls, c.place, c.phase, c.depth, c.schedule.to_json(), PASSED) for n, c in enumerate(cases)]
    figures = gathered(rows)
    return figures, terrain(kept, figures)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([RING, TWO]), st.data())
def test_a_hole_is_where_a_fault_can_be_and_no_case_is(text: str, data: st.DataObject) -> None:
    every = [case for case in space(SINGLES, text) if case.depth == 1]
    cases = data.draw(st.lists(st.sampled_from(every), unique_by=lambda case: case.key))
    figures, ground = found(campaign(SINGLES, text), cases)
    possible = {(case.cls, case.place) for case in every}
    shown = set()
    for places in by_place(figures.singles, ground, "x", phased=True):
        for place, cells in places.rows:
            for kind, cell in zip(places.across, cells, strict=True):
                here = [case for case in cases if (case.cls, case.place) == (kind, place)]
                at = {case.phase for case in here}
                assert cell.cases == len(here)
                assert (cell.state == "none") == ((kind, place) not in possible)
                assert (cell.state == "hole") == ((kind, place) in possible and not here)
                assert (cell.state == "full") == (len(at) == 3)
                shown.add((kind, place))
    assert possible <= shown
    played, wanted = combinations(by_place(figures.singles, ground, "x", phased=True))
    assert (played, wanted) == (len({(c.cls, c.place, c.phase) for c in cases}), 3 * len(possible))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([RING, TWO]), st.data())
def test_phases_have_what_was_played_at_them_and_what_is_left(text: str, data: st.DataObject) -> None:
    rounds = {"a": 40, "b": 31}
    every = [case for case in space(SINGLES, text, **rounds) if case.depth == 1]
    cases = data.draw(st.lists(st.sampled_from(every), min_size=1, unique_by=lambda case: case.key))
    figures, ground = found(campaign(SINGLES, text, **rounds), cases)
    phases = by_phase(figures.singles, ground, "x")
    assert phases is not None
    for kind, cells in phases.rows:
        wanted = {(case.place, case.phase) for case in every if case.cls == kind}
        assert sum(cell.wanted for cell in cells) == len(wanted)
        for phase, cell in zip(phases.across, cells, strict=True):
            here = [case for case in cases if case.cls == kind and str(case.phase) == phase]
            assert cell.cases == (0 if phase == LEFT else len(here))
    assert (LEFT in phases.across) == (struck_at(cases) < struck_at(every))


def struck_at(cases: list[Case]) -> set[tuple[str, int]]:
    """The phases by card."""
    return {(case.schedule.events[0].target.card, case.phase) for case in cases}


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("pairs", ["together", "apart", "both"])
@pytest.mark.parametrize("text", [RING, TWO])
def test_pairs_that_are_all_played_leave_no_hole_and_one_that_is_not_is_seen(pairs: str, text: str) -> None:
    plan = Plan(("dead", "host_link_cut", "link_one_way"), depth=2, lasts=(None,), pairs=pairs)  # type: ignore[arg-type]
    every = [case for case in space(plan, text) if case.depth == 2]
    whole = by_kinds(*found(campaign(plan, text), every))
    assert whole is not None
    assert {cell.state for cell in whole.cells} <= {"full", "none"}
    assert all((cell.state == "none") == (cell.cases == 0) for cell in whole.cells)
    for gone in {case.cls for case in every}:
        rest = by_kinds(*found(campaign(plan, text), [case for case in every if case.cls != gone]))
        assert rest is not None
        (hole,) = (
            (row, column)
            for row, cells in rest.rows
            for column, cell in zip(rest.across, cells, strict=True)
            if cell.state == "hole"
        )
        assert " ".join(hole) == gone


@pytest.mark.parametrize("phases", [None, 1, 7, 1000])
def test_the_number_of_phases_follows_from_what_the_store_has(phases: int | None) -> None:
    plan = replace(SINGLES, phases=phases)
    _, ground = found(campaign(plan, RING, a=26), [])
    assert ground.phases == {"a": len({case.phase for case in space(plan, RING, a=26) if case.depth})}
    _, two = found(campaign(plan, TWO, a=26, b=20), [])
    assert two.phases == (dict.fromkeys("ab", phases) if phases in (1, 7) else None)


def test_cards_whose_rounds_differ_are_not_taken_for_alike() -> None:
    once = space(replace(SINGLES, phases=1), TWO).sizes["single faults"]
    plan = replace(SINGLES, phases=None)
    kept = campaign(plan, TWO, a=20 + once, b=20)
    assert kept.space["single faults"] % once == 0
    assert found(kept, [])[1].phases is None


def test_faults_of_schedules_with_several_are_all_counted() -> None:
    plan = Plan(("dead", "link_cut"), depth=4, phases=1, random=200, parts=("random",))
    cases = list(space(plan))
    figures, ground = found(campaign(plan), cases)
    places = by_place(figures.several, ground, "x", phased=False)
    assert sum(cell.cases for m in places for cell in m.cells) == sum(case.depth for case in cases)
    sorts = of_several(figures)
    assert sorts is not None
    assert {name: sum(cell.cases for cell in cells) for name, cells in sorts.rows} == {
        f"{n} at random": sum(case.depth == n for case in cases) for n in (2, 3, 4)
    }


def test_a_scenario_that_cannot_be_read_has_no_holes_to_show() -> None:
    kept = replace(campaign(SINGLES), scenario="server: {cards: 3}\n")
    figures, ground = found(kept, list(islice(space(SINGLES), 30)))
    assert not ground.known
    maps = by_place(figures.singles, ground, "x", phased=True)
    assert sum(cell.cases for m in maps for cell in m.cells) == 29
    assert not [cell for m in maps for cell in m.cells if cell.state == "hole"]


def test_a_large_ring_has_its_places_together() -> None:
    text = "server: {cards: {a: {gpus: 1024}}}\n"
    cases = [case for case in space(SINGLES, text) if case.place != "a.700"]
    figures, ground = found(campaign(SINGLES, text), cases)
    places, _ = by_place(figures.singles, ground, "x", phased=True)
    assert len(places.rows) == 128
    states = {name: cells[0].state for name, cells in places.rows}
    assert {name for name, state in states.items() if state != "full"} == {"a.696 … a.703"}


@given(st.lists(st.integers(), max_size=300), st.integers(1, 30))
def test_bins_hold_everything_once_in_order(items: list[int], most: int) -> None:
    bins = binned(items, most)
    assert [item for found in bins for item in found] == items
    assert len(bins) <= most
    assert all(bins)


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 2000)), min_size=1, max_size=400), st.integers(0, 50))
def test_a_spread_has_all_recoveries_in_its_quantiles_and_its_curve(times: list[tuple[int, int]], lost: int) -> None:
    """The curve says up to each share how many had recovered, and never reaches all where some did not."""
    spread = Spread(missing=lost)
    for recovery, bound in times:
        spread.add(replace(PASSED, recovery=recovery, bound=bound))
    for percent in (50, 99, 100):
        value = quantile(spread.cycles, percent)
        assert value in spread.cycles
        assert sum(c <= value for c in spread.cycles) * 100 >= percent * len(times)
        assert sum(c < value for c in spread.cycles) * 100 < percent * len(times)
    curve = spread.curve("c")
    assert list(curve.xs) == sorted(curve.xs)
    shares = [round(share, 6) for share in spread.shares]
    seen = dict(zip(curve.xs, curve.ys, strict=True))
    for x, y in seen.items():
        assert y == pytest.approx(sum(share <= x for share in shares) / (len(times) + lost), abs=2e-6)
    within = sum(share <= 1 for share in spread.shares)
    last = max((x for x in seen if x <= 1), default=0.0)
    assert seen[last] == pytest.approx(within / (len(times) + lost), abs=2e-6)
    assert curve.ys[-1] == pytest.approx(len(times) / (len(times) + lost), abs=2e-6)


def test_cases_without_a_recovery_are_in_no_spread() -> None:
    spread = Spread()
    spread.add(replace(PASSED, recovery=None))
    spread.add(replace(PASSED, bound=None))
    assert (spread.shares, quantile(spread.cycles, 50)) == ([], None)
    assert recoveries("r", [("c", "-", spread)]) is None


def test_the_figures_do_not_hang_on_the_order_of_results() -> None:
    cases = list(space(SINGLES, TWO))
    mixed = random.Random(1).sample(cases, len(cases))
    one, _ = found(campaign(SINGLES, TWO), cases)
    two, _ = found(campaign(SINGLES, TWO), mixed)
    assert one.singles == two.singles
    assert one.parts == two.parts
