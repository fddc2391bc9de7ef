"""What of a run can't be told is said, with the reason; it makes no run pass or fail."""

import pytest

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.scenario import loads

from .playing import play

RING = "server: {cards: {a: {gpus: 6, host_links: [0, 1]}, b: {gpus: 3}}}\n"


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


def test_a_run_that_has_had_its_time_leaves_nothing_open(library: Library) -> None:
    outcome = play(loads(RING), library)
    assert (outcome.verdict, outcome.not_judged) == ("pass", ())


def test_an_early_end_is_named_with_the_cycle_by_which_it_could_be_judged(library: Library) -> None:
    outcome = play(loads(RING + "until: 100\n"), library)
    assert outcome.verdict == "pass"
    first, second = outcome.to_json()["not_judged"]
    assert first.startswith("card a at the end: cycle 100 is too early; by cycle ")
    assert second.startswith("card b at the end: cycle 100 is too early; by cycle ")
    by = int(first.split("by cycle ")[1].split()[0])
    assert play(loads(RING + f"until: {by + 1}\n"), library).not_judged == ()
    assert len(play(loads(RING + f"until: {by - 1}\n"), library).not_judged) >= 1


def test_a_card_with_a_liar_is_not_judged_and_the_other_one_is(library: Library) -> None:
    outcome = play(loads(RING + "timeline: [{at: 9000, fault: skip_count, gpu: a.3}]\n"), library)
    assert outcome.not_judged == ("card a at the end: a GPU lies or flaps, or a link is noisy",)


def test_work_that_nobody_is_there_to_do_is_not_judged_but_work_that_is_left_is(library: Library) -> None:
    work = "server: {cards: {a: {gpus: 4}}}\nworkload: {units: 9, size: 64}\n"
    liar = play(loads(work + "timeline: [{at: 0, fault: corrupt, gpu: a.2}]\n"), library)
    assert (liar.verdict, liar.work["lost"]) == ("pass", 9)
    assert "work: no card can be counted" in liar.not_judged
    ended = play(loads(work + "until: 100\n"), library)
    assert [v.promise for v in ended.violations] == ["work_once"]
    assert "work: no card can be counted" not in ended.not_judged


@pytest.mark.rest(but_one_in=4, start=2)
@pytest.mark.parametrize("other", ["dead", "corrupt", "duplicate_id", "flap"])
def test_work_that_nobody_does_rightly_is_not_judged(library: Library, other: str) -> None:
    work = (
        "server: {cards: {a: {gpus: 2}}}\nworkload: {units: 400}\ntimeline:\n- {at: 20000, fault: corrupt, gpu: a.0}\n"
    )
    outcome = play(loads(work + f"- {{at: 20000, fault: {other}, gpu: a.1}}\n"), library)
    assert (outcome.verdict, outcome.work["lost"] > 0) == ("pass", True)
    assert "work: no GPU that is known gives right results" in outcome.not_judged
    alone = play(loads(work), library)
    assert (alone.verdict, alone.work["lost"]) == ("pass", 0)


def test_an_application_on_a_card_that_nobody_can_count_is_not_judged(library: Library) -> None:
    """Its entry GPU is the only one with a host link."""
    text = """
server: {cards: {a: {gpus: 2, host_links: [0]}, b: {gpus: 2}}}
sharing:
  applications:
    u: {gpu: a.1, steps: 2, host: 50, compute: 90, memory: 100}
    v: {gpu: b.1, steps: 2, host: 50, compute: 90, memory: 100}
timeline: [{at: 0, fault: dead, gpu: a.0}]
"""
    outcome = play(loads(text), library)
    assert outcome.failures == ()
    assert "application u: card a can't be counted" in outcome.not_judged
    assert not any("application v" in said for said in outcome.not_judged)
    assert {name: each.failed for name, each in outcome.applications.items()} == {"u": True, "v": False}


def test_work_for_which_no_gpu_is_named_is_not_judged(library: Library) -> None:
    """Without records the GPUs of a card are known while all are counted, not after a take-over by one less."""
    server = "server: {cards: {a: {gpus: 6, host_links: [0, 5]}}, settings: {records: %s}}\n"
    work = "workload: {units: 400, size: 486}\ntimeline: [{at: 3453, fault: dead, gpu: a.0}]\n"
    never = play(loads(server % "never" + work), library)
    assert never.verdict == "pass"
    assert never.work["lost"] > 0
    assert never.not_judged == ("work: no GPU is named: records are never carried, and a GPU is missing",)
    always = play(loads(server % "always" + work), library)
    assert (always.verdict, always.work["lost"], always.not_judged) == ("pass", 0, ())
