"""Every fault of the catalogue at random cycles, alone and together with every other one (see campaign.py).

All of it runs in `make soak`: 500 cycles for each fault, 50 for each ordered pair. By default a sample.
"""

from itertools import product

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.outcome import Outcome

from .campaign import KINDS, case

SINGLE, PAIR = 500, 50  # runs
SINGLE_SAMPLE = 3
PAIRS = [*product(KINDS, KINDS)]
SAMPLE = 7  # every so many-th pair, once


def check(outcome: Outcome, what: str) -> None:
    """Nothing wrong, nothing late, nothing lost; and something was judged at all."""
    assert outcome.failures == (), what
    assert outcome.verdict == "pass", what
    assert outcome.work["completed"] == outcome.work["units"] > 0, what
    assert all(card.accepted > 5 for card in outcome.cards.values()), what


def play(library: Library, kinds: tuple[str, ...], seeds: range) -> int:
    """Run the cases; events that were judged against their bounds."""
    judged = 0
    for seed in seeds:
        chosen = case(kinds, seed)
        outcome = chosen.run(library)
        check(outcome, f"{kinds} {seed}\n{chosen.text}")
        judged += sum(not recovery.superseded for recovery in outcome.recoveries)
    return judged


def test_messages_that_waited_for_keepalives_make_no_link_slow(library: Library) -> None:
    """Four rounds in a row, and as long in two of them, as a campaign has found: link 3 was called slow."""
    play(library, ("dead", "corrupt"), range(1, 2))


# Nothing has to happen, or it is a matter of luck when.
UNJUDGED = {"switch_stuck_through", "link_bit_errors"}


@pytest.mark.rest(but_one_in=6)
@pytest.mark.parametrize("kind", KINDS)
def test_one_fault_at_random_cycles(library: Library, kind: str) -> None:
    judged = play(library, (kind,), range(SINGLE_SAMPLE))
    assert (judged == 0) == (kind in UNJUDGED)


# Cases of the long campaigns that have failed once.
FAILED_ONCE = [
    (("babble",), 200),
    (("babble",), 212),
    (("flap",), 479),
    (("duplicate_id", "hang"), 13),
    (("double_count", "flap"), 4),
    (("switch_stuck_through", "dead"), 27),
    (("dead", "keepalive_loss"), 17),
    (("hang", "dead"), 27),
    (("link_delay", "link_one_way"), 20),
    (("link_delay", "link_one_way"), 37),
    (("switch_stuck_bypass", "duplicate_id"), 22),
    (("switch_stuck_bypass", "duplicate_id"), 39),
    (("duplicate_id", "hang"), 2),
]


@pytest.mark.rest(but_one_in=7)
@pytest.mark.parametrize(("kinds", "seed"), FAILED_ONCE)
def test_what_has_failed_once(library: Library, kinds: tuple[str, ...], seed: int) -> None:
    play(library, kinds, range(seed, seed + 1))


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("eighth", sampled(range(8), "pairs", 4))
def test_a_sample_of_pairs(library: Library, eighth: int) -> None:
    chosen = PAIRS[::SAMPLE]
    for number in range(eighth, len(chosen), 8):
        play(library, chosen[number], range(number, number + 1))


@pytest.mark.slow(part="singles")
@pytest.mark.parametrize("kind", KINDS)
def test_one_fault_at_500_cycles(library: Library, kind: str) -> None:
    judged = play(library, (kind,), range(SINGLE))
    assert (judged == 0) == (kind in UNJUDGED)


@pytest.mark.slow(part="pairs")
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_faults_at_50_cycles(library: Library, first: str, second: str) -> None:
    play(library, (first, second), range(PAIR))
