"""Bounds allow for what docs/reliability.md says, and for no more."""

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.bounds import bounds_of
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import EventAction, loads
from ringhil.firmware import timing


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
