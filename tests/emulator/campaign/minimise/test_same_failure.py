"""What is made small still fails by the same mistake: the same invariant, with the same message, and not cut short."""

import pytest
from tests.emulator.judge.mistakes import last_comes_first
from tests.emulator.judge.test_invariants import calls_a_link, counts_too_seldom, sends_nothing_again

from ringhil.emulator.campaign.minimise import fails_in, failures_in, shrink, shrink_each
from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.scenario import loads

CARD = "server: {cards: {a: {gpus: 6, host_links: [0, 1]}, b: {gpus: 3}}}\n"


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


@pytest.fixture
def two_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    last_comes_first(monkeypatch)
    calls_a_link("noisy", 1)(monkeypatch)


@pytest.mark.rest
@pytest.mark.usefixtures("two_mistakes")
def test_each_of_several_failures_is_made_small_for_itself(library: Library) -> None:
    scenario = loads(CARD + "timeline: [{at: 20000, fault: dead, gpu: a.3}, {at: 45000, clear: dead, gpu: a.3}]\n")
    found = failures_in(library)(scenario)
    assert {failure.split(":")[0] for failure in found} == {
        "best_holder",
        "bounded_recovery",
        "no_early_return",
        "rightly_named",
    }
    assert fails_in(library)(scenario) == found[0]
    small = shrink_each(scenario, library, budget=60)
    assert [one.failure for one in small] == list(found)
    for one in small:
        assert one.failure in failures_in(library)(one.scenario)
        assert one.scenario.timeline == ()
        assert len(one.scenario.server.cards) == 1
    by = {one.failure.split(":")[0]: one.scenario.server.cards[0] for one in small}
    assert len(by["best_holder"].host_links) == 2, "it needs two members"
    assert len(by["rightly_named"].host_links) == 1


def test_one_message_of_an_invariant_does_not_become_another(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead GPU is found too late, and at the end a card isn't as it must be: two messages of one invariant."""
    counts_too_seldom(monkeypatch)
    last_comes_first(monkeypatch)
    scenario = loads(CARD + "timeline: [{at: 10300, fault: dead, gpu: a.3}, {at: 30000, clear: dead, gpu: a.3}]\n")
    found = [f for f in failures_in(library)(scenario) if f.startswith("bounded_recovery: ")]
    late = next(f for f in found if "dead of GPU at N: not recovered within" in f)
    entry = next(f for f in found if "entry GPU N, not []" in f)
    events = {
        wanted: shrink(scenario, fails_in(library, wanted), budget=40).scenario.timeline for wanted in (late, entry)
    }
    assert len(events[late]) >= 1
    assert events[entry] == ()


@pytest.mark.rest
def test_a_run_is_not_cut_short(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that a run leaves undone because it ends too early is no sign of a mistake."""
    text = (
        CARD.replace("gpus: 3}}", "gpus: 3}}")
        + "workload: {units: 400, size: 256}\n"
        + ("timeline: [{at: 2000, fault: dead, gpu: a.3}]\n")
    )
    early = fails_in(library)(loads(text + "until: 3000\n"))
    assert early is not None
    assert early.endswith(" cut short")
    sends_nothing_again(monkeypatch)
    scenario = loads(text + "until: 400000\n")
    lost = next(f for f in failures_in(library)(scenario) if f.startswith("work_once"))
    assert not lost.endswith(" cut short")
    small = shrink(scenario, fails_in(library, lost), budget=40).scenario
    assert small.until is None or lost in failures_in(library)(small)
    assert small.timeline, "the lost units are the dead GPU's"
