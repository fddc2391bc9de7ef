"""Counterexamples get small in actions, time and numbers, as long as the breach stays the same and our node passes."""

import asyncio
import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from ringhil.emulator.conformance.frames import statistics
from ringhil.emulator.conformance.minimise import AFTER, Budget, Minimiser
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.stimulus import Poke, Send, Stimulus
from ringhil.protocol import codec

MUCH = Budget(10_000, 10_000_000)


def long() -> Stimulus:
    """40 frames and a few writes from a late time on."""
    rng = random.Random(1)
    given = {"card": 5, "origin": 2, "size": 64}
    frames = [Send(20 + 35 * i, "p1", RingFrame.of(statistics(rng, **given))) for i in range(40)]
    pokes = [Poke(2, "weight", 77), Poke(4, "control", 7)]
    return Stimulus.of([*pokes, *frames], card=5, node=9, size=64, start=1 << 40)


def third_frame(stimulus: Stimulus) -> list[Breach]:
    """A node that loses the third frame, four cycles after it came, while bit 1 of `control` is set."""
    frames = [a for a in stimulus.actions if isinstance(a, Send)]
    on = any(isinstance(a, Poke) and a.register == "control" and a.value & 2 for a in stimulus.actions)
    if len(frames) < 3 or not on:
        return []
    return [Breach("r", frames[2].at + 4, "p2: a frame was lost")]


def found(
    judge: Callable[[Stimulus], list[Breach]], passes: Callable[[Stimulus], bool] | None, budget: Budget = MUCH
) -> Minimiser:
    async def play(stimulus: Stimulus) -> list[Breach]:
        return judge(stimulus)

    small = Minimiser(long(), judge(long())[0], play, Budget(budget.plays, budget.cycles), passes)
    asyncio.run(small.run())
    return small


def test_small_in_actions_time_and_numbers() -> None:
    small = found(third_frame, lambda stimulus: True)
    best = small.best
    assert [type(a) for a in best.actions] == [Poke, Send, Send, Send]
    assert best.actions[0] == Poke(2, "control", 2)
    assert [a.at for a in best.actions] == [2, 3, 4, 5]
    assert (best.start, best.card, best.node) == (0, 0, 0)
    assert best.size < 8
    assert small.breach == Breach("r", 9, "p2: a frame was lost")
    assert best.cycles == 9 + AFTER
    messages = [codec.decode(a.frame.data) for a in best.actions if isinstance(a, Send)]
    assert [m.sequence for m in messages] == [0, 1, 2]  # type: ignore[union-attr]


def test_what_our_node_would_break_is_not_tried_further() -> None:
    """Frames must not come closer than 10 cycles, and time not be below 2**40."""

    def allowed(stimulus: Stimulus) -> bool:
        sends = [a.at for a in stimulus.actions if isinstance(a, Send)]
        return stimulus.start >= 1 << 40 and all(b - a >= 10 for a, b in pairwise(sends))

    best = found(third_frame, allowed).best
    assert best.start == 1 << 40
    times = [a.at for a in best.actions if isinstance(a, Send)]
    assert [b - a for a, b in pairwise(times)] == [10, 10]


def test_another_breach_is_not_the_same() -> None:
    """Without the frame that came first something else is wrong, by the same rule: the frame stays."""
    first = long().actions[2].frame  # type: ignore[union-attr]

    def judge(stimulus: Stimulus) -> list[Breach]:
        has = any(isinstance(a, Send) and a.frame == first for a in stimulus.actions)
        return [Breach("r", 100, f"p2: a frame was {'lost' if has else 'doubled'}")]

    best = found(judge, lambda stimulus: True).best
    assert [a.frame for a in best.actions if isinstance(a, Send)] == [first]


def test_a_breach_beyond_the_end_of_the_play_does_not_count() -> None:
    def judge(stimulus: Stimulus) -> list[Breach]:
        return [Breach("r", 300, "p2: a frame was lost")] if third_frame(stimulus) else []

    assert found(judge, lambda stimulus: True).best.cycles >= 300


def test_without_our_node_actions_are_left_out_and_none_is_changed() -> None:
    best = found(third_frame, None).best
    assert len(best.actions) == 4
    assert set(best.actions) <= set(long().actions)
    assert best.start == 1 << 40


def test_something_that_never_comes_is_waited_for() -> None:
    """Our node needs 50 cycles after the last frame; it is waited for longer, but not for all 200."""

    def judge(stimulus: Stimulus) -> list[Breach]:
        return [Breach("r", stimulus.cycles, "p2: a frame never left")]

    best = found(judge, lambda stimulus: stimulus.cycles > 50 + max([0, *(a.at for a in stimulus.actions)])).best
    assert 70 < best.cycles - max([0, *(a.at for a in best.actions)]) < 85


@pytest.mark.parametrize("budget", [Budget(30, 10_000_000), Budget(1000, 900)])
def test_the_budget_is_kept_and_the_result_is_the_same_each_time(budget: Budget) -> None:
    plays = []

    def judge(stimulus: Stimulus) -> list[Breach]:
        plays.append(stimulus.cycles)
        return third_frame(stimulus)

    first = found(judge, lambda stimulus: True, budget)
    spent = plays[1:]  # the first play gave the breach
    assert len(spent) <= budget.plays
    assert sum(spent) <= budget.cycles
    assert found(third_frame, lambda stimulus: True, budget).best == first.best
    assert first.best.cycles < long().cycles
