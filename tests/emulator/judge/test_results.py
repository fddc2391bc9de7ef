"""What came of a run, in the words of the file."""

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

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
