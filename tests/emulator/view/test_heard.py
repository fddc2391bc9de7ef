"""What is kept of a card that is listened to for long is bounded, and right."""

import random
from typing import Any

import pytest

from ringhil.emulator.view import heard
from ringhil.emulator.view.heard import REGISTERS, HeardRows, registers_said
from ringhil.emulator.view.messages import CardAbout
from ringhil.protocol.registers import ControlBit, StatusBit

GPUS = [f"a.{gpu}" for gpu in range(5)]
CARD = CardAbout(name="a", gpus=GPUS, host=GPUS[:2])


def _events(draw: random.Random, number: int) -> list[tuple[int, int | None, str, dict[str, Any]]]:
    found, cycle = list[tuple[int, int | None, str, dict[str, Any]]](), 0
    for _ in range(number):
        cycle += draw.randrange(3)
        gpu = draw.randrange(len(GPUS))
        role = {"role": draw.choice(("entry", "boundary")), "epoch": draw.randrange(9)}
        status = draw.choice((StatusBit.HEALTHY, StatusBit.BYPASS_CW | StatusBit.BYPASS_CCW, StatusBit.LENT))
        found.append(
            draw.choice(
                (
                    (cycle, gpu, "Counted", {"count": draw.randrange(6), "members": [gpu], "epoch": 3}),
                    (cycle, gpu, draw.choice(("Elected", "Deposed")), role),
                    (cycle, None, "Struck", {draw.choice(("fault", "clear")): "dead", "gpu": GPUS[gpu]}),
                    (cycle, gpu, REGISTERS, registers_said(draw.choice((0, ControlBit.ENTRY)), status)),
                )
            )
        )
    return found


def test_what_is_kept_is_bounded_and_what_it_shows_is_what_all_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    events = _events(random.Random(3), 6_000)
    every = HeardRows(CARD)
    for event in events:
        every.event(*event)
    monkeypatch.setattr(heard, "KEPT", 1_500)
    monkeypatch.setattr(heard, "_SPARE", 100)
    some = HeardRows(CARD)
    for event in events:
        some.event(*event)
        assert some.reach[1] - some.reach[0] < 1_600
    first, last, cycle = some.reach
    assert (last, cycle) == every.reach[1:]
    assert some.all(1, last) == every.all(first, last)
    assert some.marks(50).buckets[-1].counts == every.marks(50).buckets[-1].counts
    from_here = some.all(first, first)[0].cycle
    for moment in range(from_here, cycle + 1, 17):
        assert some.picture(moment) == every.picture(moment)
    assert some.picture(0).row >= first


def test_a_row_that_comes_late_stands_where_it_came() -> None:
    rows = HeardRows(CARD)
    for cycle in (100, 40, 120):
        rows.event(cycle, None, "Struck", {"fault": "dead", "gpu": "a.1"})
    assert [(row.number, row.cycle) for row in rows.all(1, 3)] == [(1, 100), (2, 100), (3, 120)]
