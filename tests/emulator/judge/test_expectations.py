"""`always` and `truth`: what has to hold at every cycle, and what follows from the faults alone."""

import re
from pathlib import Path

import pytest

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.judge.outcome import Expected, Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import load, loads

DEAD = "{at: 20000, fault: dead, gpu: a.3}"
CUT = "{at: 20000, fault: host_link_cut, gpu: a.0}"


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


def play(library: Library, *expect: str, timeline: tuple[str, ...] = (DEAD,), until: int = 40000) -> Outcome:
    text = "server: {cards: {a: {gpus: 8}, b: {gpus: 4}}}\nworkload: {units: 20, size: 1000}\n"
    text += "".join(
        f"{key}:\n" + "".join(f"  - {item}\n" for item in items) for key, items in (("timeline", timeline),)
    )
    text += "expect:\n" + "".join(f"  - {{{item}}}\n" for item in expect) + f"until: {until}\n"
    server = Run(loads(text if timeline else text.replace("timeline:\n", "")), library)
    outcome = server.run()
    server.engine.close()
    return outcome


def results(library: Library, *expect: str, **how: object) -> list[bool]:
    return [item.ok for item in play(library, *expect, **how).expect]  # type: ignore[arg-type]


def first(item: Expected) -> int:
    """The cycle at which it is reported not to have held."""
    found = re.fullmatch(r".* at cycle ([0-9]+)", item.found)
    assert not item.ok
    assert found is not None, item.found
    return int(found[1])


def test_what_holds_all_the_time_passes_though_nothing_was_known_at_power_up(library: Library) -> None:
    outcome = play(library, "always: true, count: {a: 8, b: 4}, reachable: {a: true}, entry: {b: b.0}", timeline=())
    assert outcome.failures == ()
    assert outcome.expect[0].text.startswith("always: count of card a is 8; count of card b is 4; ")


def test_each_check_holds_when_it_is_so_and_not_otherwise(library: Library) -> None:
    timeline = ("{at: 20000, fault: link_cut, link: a.2-a.3}", "{at: 20000, fault: dead, gpu: b.1}")
    checks = {
        "count: {b: %s}": ("3", "4"),
        "members: {b: %s}": ("[0, 2, 3]", "[0, 1, 2, 3]"),
        "entry: {b: %s}": ("b.0", "null"),
        "epoch: {a: %s}": ("1", "2"),
        "break: {a: %s}": ("a.2-a.3", "null"),
        "break: {a: %s, b: null}": ("a.2-a.3", "a.3-a.4"),
        "break: {b: %s}": ("null", "b.0-b.1"),
        "stranded: {a: %s}": ("[]", "[3]"),
        "isolated: {b: %s}": ("[]", "[1]"),
        "reachable: {a: %s}": ("true", "false"),
        "work: {completed: %s}": ("20", "19"),
        "work: {lost: %s}": ("0", "1"),
        "work: {duplicated: %s}": ("0", "1"),
    }
    wanted = [(check % value, value == right) for check, (right, wrong) in checks.items() for value in (right, wrong)]
    found = results(library, *(f"at: 39000, {text}" for text, _ in wanted), timeline=timeline)
    assert dict(zip((text for text, _ in wanted), found, strict=True)) == dict(wanted)


def test_only_a_gpu_that_is_well_is_isolated(library: Library) -> None:
    stuck = "{at: 20000, fault: switch_stuck_bypass, gpu: a.3}"
    looks = ("at: 39000, isolated: {a: [3]}", "at: 39000, isolated: {a: []}")
    assert results(library, *looks, timeline=(stuck,)) == [True, False]
    assert results(library, *looks, timeline=(stuck, DEAD)) == [False, True]


def test_what_fails_names_its_card_the_events_around_it_and_when_it_came_true(library: Library) -> None:
    """Asked too early: it says so. Looked at then, it is so."""
    checks = [
        "count: {a: 7}",
        "members: {a: [0, 1, 2, 4, 5, 6, 7]}",
        "count: {a: 7}, reachable: {b: true}",
        "truth: [a]",
    ]
    outcome = play(library, *(f"at: 20100, {check}" for check in checks), "at: 20100, reachable: {b: false}")
    *early, never = outcome.expect
    assert [(item.ok, item.lasts) for item in outcome.expect] == [(False, False)] * 4 + [(False, True)]
    assert all(item.found.startswith("card a: ") for item in early)
    assert never.found == "card b: reachable true"
    (dead,) = outcome.recoveries
    for item in early:
        assert item.later is not None
        came, before = outcome.around(item)
        assert came == f"it was so at cycle {item.later}, {item.later - 20100} cycles later"
        assert before.startswith("before: fault dead of a.3 at 20000 was over at ")
        assert before.endswith(f"its bound is cycle {20000 + dead.bound}, and cycle 20100 was before that")
    assert outcome.around(never)[0] == "it was not so up to the end of the run at cycle 40000"
    looks = [f"at: {(item.later or 0) + 1}, {check}" for item, check in zip(early, checks, strict=True)]
    assert results(library, *looks) == [True] * 4


def test_from_the_first_cycle_on_it_does_not(library: Library) -> None:
    (item,) = play(library, "always: true, from: 1, count: {a: 8}", timeline=()).expect
    assert (item.ok, item.found) == (False, "card a: count 0 at cycle 1")
    assert item.text == "always from 1: count of card a is 8"


@pytest.mark.parametrize(
    ("check", "timeline", "then"),
    [
        ("count: {a: 8}", DEAD, "count: {a: 7}"),
        ("members: {a: [0, 1, 2, 3, 4, 5, 6, 7]}", DEAD, "members: {a: [0, 1, 2, 4, 5, 6, 7]}"),
        ("reachable: {a: true}", CUT, "reachable: {a: false}"),
        ("entry: {a: a.0}", CUT, "entry: {a: null}"),
    ],
)
def test_the_first_cycle_at_which_it_does_not_hold_is_reported(
    library: Library, check: str, timeline: str, then: str
) -> None:
    """What is looked at `at` a cycle is as it was before anything came in that cycle."""
    (item,) = play(library, f"always: true, {check}", timeline=(timeline,)).expect
    n = first(item)
    assert 20000 < n < 30000
    spans = [f"until: {n - 1}, {check}", f"until: {n}, {check}", f"from: {n}, {then}", f"from: {n + 1}, {then}"]
    looks = [f"at: {n}, {check}", f"at: {n + 1}, {then}", f"from: 10000, until: 19999, always: true, {check}"]
    expect = [*(f"always: true, {span}" for span in spans), *looks]
    assert results(library, *expect, timeline=(timeline,)) == [True, False, False, True, True, True, True]


@pytest.mark.rest
def test_one_cycle_of_always_is_no_less_than_a_look_at_it(library: Library) -> None:
    checks = ["count: {a: 8}", "count: {a: 7}", "work: {completed: 20}", "count: {a: 8}, work: {completed: 3}"]
    cycles = [*range(500, 6000, 37), *range(20000, 26000, 37)]
    pairs = [(f"at: {n}, {c}", f"always: true, from: {n}, until: {n}, {c}") for n in cycles for c in checks]
    found = results(library, *(item for pair in pairs for item in pair))
    at, always = found[::2], found[1::2]
    assert all(look for look, span in zip(at, always, strict=True) if span)
    assert len({(look, span) for look, span in zip(at, always, strict=True)}) >= 2
    # What differs changed in that very cycle.
    assert sum(at) - sum(always) < 10


def test_a_card_that_is_never_counted_holds_nothing(library: Library) -> None:
    outcome = play(
        library,
        "always: true, reachable: {a: false}",
        "always: true, reachable: {b: true}",
        "always: true, work: {duplicated: 0}",
        timeline=("{at: 0, fault: host_link_cut, gpu: a.0}",),
    )
    assert [item.ok for item in outcome.expect] == [False, True, False]
    assert [item.found for item in outcome.expect[::2]] == ["no accepted count of card a"] * 2


@pytest.mark.parametrize("when", ["always: true, from: 9000", "at: 9000", "by: 9000"])
def test_what_lies_after_the_end_of_a_run_is_not_met(library: Library, when: str) -> None:
    """A file can't say that; a run may be ended before its time."""
    text = (
        f"server: {{cards: {{a: {{gpus: 8}}}}}}\nexpect: [{{{when}, epoch: {{a: 7}}}}, {{{when}, epoch: {{a: 1}}}}]\n"
    )
    server = Run(loads(text), library)
    server.end_at(8000)
    found = [(item.ok, item.found) for item in server.run().expect]
    server.close()
    too_early = (False, "the end of the run at cycle 8000")
    assert found == ([(False, "card a: epoch 1"), (True, "as expected")] if "by" in when else [too_early] * 2)


def test_what_always_holds_was_looked_at_once(library: Library) -> None:
    """The first count of a card is accepted after cycle 100."""
    (item,) = play(library, "always: true, until: 100, epoch: {a: 7}", timeline=()).expect
    assert (item.ok, item.found) == (False, "no accepted count of card a")


@pytest.mark.parametrize(
    "check",
    ["stranded: {a: []}", "suspects: {a: []}", "break: {a: null}", "links: {slow: {a: null}}", "boundary: {a: null}"],
)
def test_nothing_is_known_of_a_card_that_has_not_reported(library: Library, check: str) -> None:
    before, after = play(library, f"at: 50, {check}", f"end: true, {check}", timeline=()).expect
    assert (before.ok, before.found) == (False, "no report of card a yet")
    assert after.ok


def test_a_fault_that_ends_as_it_begins_is_said_to_change_nothing(library: Library) -> None:
    outcome = play(library, "end: true, count: {a: 8}", timeline=(DEAD, DEAD.replace("fault", "clear")))
    assert "dead at a.3 begins and ends in cycle 20000: it changes nothing" in outcome.not_judged


def test_of_no_work_nothing_is_as_expected(library: Library, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    text = "server: {cards: {a: {gpus: 3}}}\nworkload: {data: empty}\nexpect:\n"
    text += "".join(f"  - {{end: true, {check}}}\n" for check in ("work: {lost: 0}", "shares: {a: 0}"))
    (tmp_path / "some.yaml").write_text(text)
    server = Run(load(tmp_path / "some.yaml"), library)
    outcome = server.run()
    server.close()
    assert outcome.expect == ()
    assert [text.rpartition(": ")[2] for text in outcome.not_judged] == ["there was no work"] * 2


def test_work_is_watched_too(library: Library) -> None:
    (lost, duplicated) = play(library, "always: true, work: {lost: 20}", "always: true, work: {duplicated: 0}").expect
    assert lost.found.startswith("lost 19 at cycle ")
    assert duplicated.ok


def test_the_truth_is_known_before_a_fault_and_after_it_has_been_found_and_not_in_between(library: Library) -> None:
    expect = ["at: 19999, truth: [a, b]", "at: 20001, truth: [a]", "at: 20001, truth: [b]", "by: 27000, truth: [a, b]"]
    assert results(library, *expect, "end: true, truth: [b, a]") == [True, False, True, True, True]
    gone = play(library, "at: 20001, truth: [a]").expect[0]
    assert gone.text == "at 20001: what is known of card a is true"
    assert "3" in gone.found
    assert results(library, "always: true, truth: [a, b]", timeline=()) == [True]


@pytest.mark.parametrize(
    "timeline",
    [
        "{at: 20000, fault: dead, gpu: [a.3, a.6]}",
        "{at: 20000, fault: link_cut, link: [a.2-a.3, a.5-a.6]}",
        "{at: 20000, fault: switch_stuck_bypass, gpu: [b.1, a.7]}",
    ],
)
def test_the_truth_follows_from_all_that_is_struck(library: Library, timeline: str) -> None:
    outcome = play(library, "at: 20001, truth: [a]", "end: true, truth: [a, b]", timeline=(timeline,))
    assert [item.ok for item in outcome.expect] == [False, True]
    assert len(outcome.recoveries) == 2


def test_by_counts_from_the_last_event_before_it_on(library: Library) -> None:
    """A GPU dies at 20,000: what was true until then says nothing of what is found after."""
    outcome = play(
        library,
        "by: 20001, truth: [a]",
        "by: 20001, count: {a: 8}",
        "by: 39000, truth: [a]",
        "by: 39000, count: {a: 8}",
        "by: 20000, truth: [a]",
    )
    assert [item.ok for item in outcome.expect] == [False, True, True, True, True]
    assert re.search(r"\(it was so at cycle \d+, before the last event: that is too early\)$", outcome.expect[0].found)


def test_by_may_still_be_true_when_the_event_strikes_but_not_come_true_before_it(library: Library) -> None:
    healed = (DEAD, "{at: 30000, clear: dead, gpu: a.3}")
    outcome = play(
        library, "by: 29999, count: {a: 7}", "by: 39000, count: {a: 7}", "by: 39999, count: {a: 8}", timeline=healed
    )
    assert [item.ok for item in outcome.expect] == [True, True, True]
