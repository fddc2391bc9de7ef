"""A judge is given any part of its stimulus, at other times too: whatever is left, it judges and doesn't fail."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import pytest

from ringhil.emulator.conformance.rule import all_rules, cases_of
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Action, Peek, Poke
from ringhil.protocol import registers

RESET = {r.name: r.reset for r in registers.REGISTERS}


def _seen(actions: Sequence[Action]) -> Observed:
    """What a node does that does nothing at all."""
    read = [(a.at, a.register, RESET.get(str(a.register), 0)) for a in actions if isinstance(a, Peek)]
    return Observed(done=[(a.at, a) for a in actions], peeks=read, registers=dict(RESET))


@pytest.mark.parametrize("name", all_rules())
def test_a_judge_takes_any_part_of_its_stimulus(name: str) -> None:
    for case in islice(cases_of(all_rules()[name], 1, 1), 3):
        actions = case.stimulus.actions
        at_once = [replace(action, at=0) for action in actions]
        early = [replace(a, at=i) for i, a in enumerate(a for a in actions if not isinstance(a, Poke))]
        for left in ([], early, at_once, at_once[: len(actions) // 2], at_once[1::2], actions[::3]):
            for breach in case.judge(case.stimulus.with_actions(left), _seen(left)):
                assert breach.what
