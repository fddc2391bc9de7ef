"""What came of a run, in the words of the file."""

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Gap, GpuRef, LinkRef, loads

DASHES = """
server:
  cards:
    left-hand: {gpus: 4}
timeline:
  - {at: 6000, fault: link_cut, link: left-hand.1-left-hand.2}
until: 16000
expect:
  - {at: 16000, break: {left-hand: left-hand.1-left-hand.2}}
"""


def test_a_break_is_named_by_the_gpus_at_its_ends_when_the_card_has_dashes_in_its_name() -> None:
    run = Run(loads(DASHES), cells_library())
    outcome = run.run()
    run.engine.close()
    assert outcome.failures == ()
    assert outcome.cards["left-hand"].break_ == "left-hand.1-left-hand.2"
    assert outcome.cards["left-hand"].cuts == ("left-hand.1-left-hand.2",)


SPANNED = """
server: {cards: {a: {gpus: 6}}, settings: {census_period: 600}}
timeline:
  - {at: 6000, fault: dead, gpu: a.3}
  - {at: 6000, fault: link_cut, link: a.2-a.3}
  - {at: 6000, fault: link_cut, link: a.3-a.4}
until: 16000
expect:
"""


@pytest.mark.parametrize(
    ("between", "holds"),
    [
        ("a.2-a.4", True),
        ("a.2-a.3", False),
        ("a.3-a.4", False),
        ("a.4-a.2", False),
        ("a.1-a.4", False),
        ("a.0-a.1", False),
        ("null", False),
    ],
)
def test_a_break_is_expected_as_it_is_reported(between: str, holds: bool) -> None:
    run = Run(loads(f"{SPANNED}  - {{at: 15000, break: {{a: {between}}}}}\n"), cells_library())
    outcome = run.run()
    run.close()
    assert outcome.cards["a"].break_ == "a.2-a.4"
    assert [item.ok for item in outcome.expect] == [holds]
    assert holds or any("found break a.2-a.4" in failure for failure in outcome.failures)


def test_the_gpus_of_one_link_may_stand_in_either_order_and_those_of_a_longer_break_not() -> None:
    ring = [LinkRef("a", link, 4) for link in range(4)]
    around, against = (Gap(GpuRef("a", after), GpuRef("a", 1 - after), 4) for after in (1, 0))
    assert (around.is_of((ring[0],)), against.is_of((ring[0],))) == (True, True)
    assert (around.is_of((*ring[1:],)), against.is_of((*ring[1:],))) == (True, False)
    pair = [LinkRef("a", link, 2) for link in range(2)]
    assert [Gap(GpuRef("a", 0), GpuRef("a", 1), 2).is_of((link,)) for link in pair] == [True, False]
