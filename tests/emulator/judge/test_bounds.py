"""Bounds allow for what docs/explanation/reliability.md says, and for no more."""

import re
from pathlib import Path

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.recovery.bounds import bounds_of
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import EventAction, loads
from ringhil.firmware import timing

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explanation" / "reliability.md"


def test_they_are_those_of_the_page() -> None:
    """For the default settings, to the cycle: a judge with wider bounds would be lenient without a word."""
    (bounds,) = bounds_of(loads("server: {cards: {a: {gpus: 8}}}").server)
    table = PAGE.read_text().split("| event | bound |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (.+?) \| .+ \| ([0-9,]+)(?: \+ .*)? \|$", table, re.MULTILINE)
    shown = {words: int(number.replace(",", "")) for words, number in rows}
    kinds = {kind: number for words, number in shown.items() for kind in re.findall(r"`(\w+)`", words)}
    assert len(kinds) == 13
    assert kinds == {kind: bounds.recovery(EventAction.FAULT, kind) for kind in kinds}
    assert [number for words, number in shown.items() if "role" in words] == [
        bounds.election_bound(2),
        bounds.election_bound(2, across=True),
        bounds.return_bound(2),
    ]


def test_what_is_cleared_has_the_time_that_the_page_adds() -> None:
    (bounds,) = bounds_of(loads("server: {cards: {a: {gpus: 8}}}").server)
    base = 5470 + 64  # C and G of the page
    cleared = {kind: bounds.recovery(EventAction.CLEAR, kind) for kind in ("dead", "corrupt", "link_cut")}
    assert cleared == {"dead": base + 3, "corrupt": base, "link_cut": 5911 + 64 + 2 * 136}


def test_what_is_left_of_a_round_and_of_a_state_before_ends_in_time() -> None:
    (bounds,) = bounds_of(loads("server: {cards: {a: {gpus: 8}}}").server)
    assert bounds.orphan == 2 * 388
    kinds = ("dead", "link_cut", "babble", "switch_stuck_through")
    assert [bounds.settling(kind) for kind in kinds] == [208, 414, 2176, 528]


def test_each_further_fault_is_allowed_one_watchdog() -> None:
    server = loads("server: {cards: {a: {gpus: 8}}, settings: {watchdog: 100}}").server
    (bounds,) = bounds_of(server)
    for kind in ("dead", "hang", "link_cut", "babble", "slow"):
        alone = bounds.recovery(EventAction.FAULT, kind)
        for others in (1, 3):
            more = bounds.recovery(EventAction.FAULT, kind, others) - alone
            assert more == others * (100 + timing.SWITCH_OVER + timing.BYPASS_HOP)


def test_a_second_slow_link_need_not_be_told_from_the_first() -> None:
    scenario = loads("""
server: {cards: {a: {gpus: 8}}}
timeline:
  - {at: 6000, fault: link_delay, link: a.2-a.3, delay: 9}
  - {at: 60000, fault: link_delay, link: a.5-a.6, delay: 9}
""")
    outcome = Run(scenario, cells_library()).run()
    assert outcome.verdict == "pass", outcome.failures
    assert [recovery.superseded for recovery in outcome.recoveries] == [False, True]
