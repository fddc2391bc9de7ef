"""A GPU that babbles is muted, however short the file's `allowance_period` is and however large its groups are."""

import pytest
from tests.emulator.judge.playing import play
from tests.sampled import sampled

from ringhil.emulator.engine.library import Library
from ringhil.emulator.scenario import Scenario, loads
from ringhil.emulator.server.times import times_of

# a.7 is in both groups of its card.
SERVER = """
server:
  cards: {a: {gpus: 10, host_links: [0, 9, 8, 7]}, b: {gpus: 6}}
  boundary_links: [{from: [a.8, a.7, a.6], to: [b.1, b.2, b.3]}]
"""


def babbling(period: int, gpu: str) -> Scenario:
    settings = f"  settings: {{allowance_period: {period}}}\n"
    return loads(SERVER + settings + f"timeline: [{{at: 20000, fault: babble, gpu: {gpu}}}]\nuntil: 60000\n")


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize(
    ("gpu", "period"), sampled([(gpu, period) for gpu in ("a.7", "a.1", "b.2") for period in (256, 512)], "singles", 5)
)
def test_whoever_babbles_is_muted(library: Library, period: int, gpu: str) -> None:
    outcome = play(babbling(period, gpu), library)
    assert outcome.failures == ()
    card, index = gpu.split(".")
    assert int(index) not in outcome.cards[card].members


def test_a_period_is_longer_only_where_it_must_be() -> None:
    a, b = times_of(babbling(512, "a.7").server)
    assert (a.allowance_period, b.allowance_period) == (1024, 512)
    assert a.allowance(4, 3) * 6 < a.allowance_period
    assert [t.allowance_period for t in times_of(babbling(1024, "a.7").server)] == [1024, 1024]
    alone = loads("server: {cards: {a: {gpus: 8}}, settings: {allowance_period: 512}}").server
    assert times_of(alone)[0].allowance_period == 512
