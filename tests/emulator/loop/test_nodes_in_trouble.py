"""Nodes outside that are pulled out, hang, answer late, twice or nonsense at random moments.

What a line can get over changes nothing at all. What it can't leaves a dead GPU: the frames and the result are those of
a run in which the GPU dies in that very cycle. One that is lost when a register is read dies in that cycle, too, but
after all that firmware does in it.
"""

import random
from dataclasses import replace
from functools import lru_cache

import pytest

from ringhil.emulator.events.server import NodeLost
from ringhil.emulator.judge.run import Run
from ringhil.protocol.line.node_loop import NodeMessage

from .trouble.cases import PATIENCES, PTYS, SAMPLE, SLICES
from .trouble.lines import LOSING
from .trouble.nodes import TRIES, at_a_pty, outside
from .trouble.servers import (
    PER_SERVER,
    UNTIL,
    Place,
    Played,
    assert_done,
    fail_last,
    failing,
    made,
    place,
    played,
    troubles,
    without,
)


@lru_cache(2)
def untroubled(number: int) -> tuple[Place, Played, list[int]]:
    """A server, its run with a GPU outside, as it is with all of it here, and what that GPU is asked: types of
    requests."""
    where = place(number)
    with outside(where.gpu, (), random.Random(0)) as (nodes, line):
        found = played(made(where.scenario, nodes=nodes))
    assert found == played(made(where.scenario))
    return where, found, [request[0] for request in line.asked]


def lost(number: int, *, pty: bool = False) -> bool:
    """Checks a case; whether its board is lost."""
    dice = random.Random(f"node {number} {pty}")
    where, same, asked = untroubled(number // PER_SERVER)
    drawn = troubles(dice, asked, (NodeMessage.LOOK.code,), PATIENCES if pty else TRIES)
    with (at_a_pty if pty else outside)(where.gpu, drawn, dice) as (nodes, _):
        run = made(where.scenario, nodes=nodes)
        seen = list[tuple[int, bool]]()
        engine = run.engine
        run.observations.listen(
            NodeLost, lambda told: seen.append((told.cycle, engine.outside()[0].lost_at == told.cycle))
        )
        found = played(run)
    if not seen:
        assert found[1]["verdict"] == "pass", found[1]["failures"]
        assert found == same
        return False
    assert any(each.kind in LOSING for each in drawn)
    ((at, looked),) = seen

    def dying(until: int) -> Run:
        scenario = replace(where.scenario, until=until)
        if not looked:
            return made(failing(scenario, where.gpu, "dead", at))
        run = made(without(scenario, where.gpu, "dead", at))
        fail_last(run, where.gpu, "dead", at)
        return run

    assert found == played(dying(UNTIL))
    assert_done(dying, found)
    return True


@pytest.mark.slow(part="outside")
def test_some_nodes_in_trouble() -> None:
    assert {lost(number) for number in SAMPLE} == {False, True}


@pytest.mark.parametrize("cases", SLICES, ids=str)
@pytest.mark.slow(part="outside")
def test_ten_thousand_nodes_in_trouble(cases: range) -> None:
    for number in cases:
        lost(number)


@pytest.mark.parametrize("cases", PTYS, ids=str)
@pytest.mark.slow(part="outside")
def test_hundreds_of_nodes_in_trouble_at_ptys(cases: range) -> None:
    for number in cases:
        lost(number, pty=True)
