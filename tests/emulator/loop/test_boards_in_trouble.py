"""Boards that are pulled out, hang, answer late, twice or nonsense at random moments.

What a line can get over changes nothing at all. What it can't leaves a GPU that hangs: the frames and the result are
those of a run in which the GPU's own firmware, ours, says nothing from that event on and hangs in the next cycle.
"""

import random
from dataclasses import replace
from functools import lru_cache

import pytest

from ringhil.emulator.events.server import FirmwareLost
from ringhil.emulator.judge.run import Run
from ringhil.protocol.line.firmware_loop import LoopType

from .trouble.boards import BOOTING, TIMED, FallsSilent, at_a_pty, boarded
from .trouble.cases import PATIENCES, PTYS, SAMPLE, SLICES
from .trouble.lines import LOSING
from .trouble.servers import PER_SERVER, UNTIL, Place, Played, assert_done, failing, made, place, played, troubles


@lru_cache(2)
def untroubled(number: int) -> tuple[Place, Played, list[int]]:
    """A server, its run with a board, as it is with our firmware, and what the board is asked: types of requests."""
    where = place(number)
    with boarded(where.gpu, (), random.Random(0)) as (firmware, line):
        found = played(made(where.scenario, firmware))
    assert found == played(made(where.scenario))
    return where, found, [request[0] for request in line.asked]


def lost(number: int, *, pty: bool = False) -> bool:
    """Checks a case; whether its board is lost."""
    dice = random.Random(f"board {number} {pty}")
    where, same, asked = untroubled(number // PER_SERVER)
    drawn = troubles(dice, asked, BOOTING, PATIENCES, begun=asked.index(LoopType.START.code) + 1)
    with (at_a_pty if pty else boarded)(where.gpu, drawn, dice) as (firmware, line):
        run = made(where.scenario, firmware)
        seen = list[tuple[int, int]]()
        run.observations.listen(FirmwareLost, lambda told: seen.append((told.cycle, events(line.asked))))
        found = played(run)
    if not seen:
        assert found[1]["verdict"] == "pass", found[1]["failures"]
        assert found == same
        return False
    assert any(each.kind in LOSING for each in drawn)
    ((at, answered),) = seen

    def dying(until: int) -> Run:
        scenario = replace(where.scenario, until=until)
        return made(failing(scenario, where.gpu, "hang", at + 1), FallsSilent(where.gpu, answered).choice)

    assert found == played(dying(UNTIL))
    assert_done(dying, found)
    return True


def events(asked: list[bytes]) -> int:
    """How many have been answered, the last one not being answered."""
    return sum(request[0] in TIMED for request in asked[:-1])


@pytest.mark.slow(part="outside")
def test_some_boards_in_trouble() -> None:
    assert {lost(number) for number in SAMPLE} == {False, True}


@pytest.mark.parametrize("cases", SLICES, ids=str)
@pytest.mark.slow(part="outside")
def test_ten_thousand_boards_in_trouble(cases: range) -> None:
    for number in cases:
        lost(number)


@pytest.mark.parametrize("cases", PTYS, ids=str)
@pytest.mark.slow(part="outside")
def test_hundreds_of_boards_in_trouble_at_ptys(cases: range) -> None:
    for number in cases:
        lost(number, pty=True)
